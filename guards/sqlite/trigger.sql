-- guards/sqlite/trigger.sql - what stands between a write and a guarded table.
--
-- A template: for each table three triggers, {operation} being INSERT, UPDATE and DELETE; {id} is
-- the table's number in tenure_guarded, {table} its quoted name, {name} the name of the guard,
-- which can hold no quote (docs/names.md).  An INSERT OR REPLACE fires the INSERT trigger before
-- it deletes anything, and deletions by a foreign key fire the DELETE trigger of their own table.
--
-- What fires no trigger, a BLOB that is written in pieces, is refused by an index on an expression
-- (schema.c), which never has an entry.
--
-- The WHEN clause is the fast way: a write under the mark itself costs one look at the view.
-- ABORT takes back the statement and leaves the rest of the transaction to the program.  Each text
-- starts with "tenure: " and the verdict, for programs; the numbers are in tenure_verdict.

CREATE TRIGGER "tenure_guard_{id}_{operation}" BEFORE {operation} ON {table}
WHEN coalesce((SELECT verdict FROM tenure_verdict WHERE name = '{name}'), 'gone') <> 'admit'
BEGIN
    SELECT CASE coalesce((SELECT verdict FROM tenure_verdict WHERE name = '{name}'), 'gone')
        WHEN 'raise' THEN NULL
        WHEN 'stale' THEN RAISE(ABORT,
            'tenure: stale token for guard {name}: the writer has been replaced')
        WHEN 'newer' THEN RAISE(ABORT,
            'tenure: newer token than guard {name} knows: announce it first')
        WHEN 'missing' THEN RAISE(ABORT,
            'tenure: missing token for guard {name}: this connection presented none')
        WHEN 'invalid' THEN RAISE(ABORT,
            'tenure: invalid token for guard {name}: not a whole number from 1 to 2^63-1')
        ELSE RAISE(ABORT, 'tenure: broken guard {name}: it is not in tenure_guard')
    END;
    UPDATE tenure_guard
    SET mark = (SELECT token FROM tenure_verdict WHERE name = '{name}')
    WHERE name = '{name}';
END;
