-- guards/sqlite/schema.sql - the SQLite guard, in plain SQL.
--
-- A guard makes the database refuse a write of somebody who has been replaced, in the transaction
-- of the write itself (P10).  Nothing but SQL takes part: no extension and no library of ours, so
-- every program in every language is fenced, also one that was written before tenure.
--
-- A writer PRESENTS its token once for each connection, as the default value of a column of a
-- temporary table; the column has the name of the guard:
--
--     CREATE TEMP TABLE tenure_token ("billing/invoices" DEFAULT 42);
--
-- Why there?  A trigger of the main database can read neither a connection's variables (SQLite has
-- none) nor its temporary tables (names in a trigger stay within its own database).  But a pragma
-- function sees the temporary *schema* from everywhere, and a column's default is a part of the
-- schema.  So the token belongs to the connection alone: it is never written to the file, it ends
-- with the connection, and no other connection can see or change it.
--
-- The guard keeps a MARK for each name, the highest token it was told of or has seen.  Three
-- triggers on each guarded table (trigger.sql) compare the two for every row that is written.
-- With `PRAGMA trusted_schema = OFF` the pragma function cannot be used in a trigger, and every
-- guarded write fails: closed, not open.

-- The guards.  `strict`: only `tenure guard announce` raises the mark.
CREATE TABLE tenure_guard (
    name   TEXT PRIMARY KEY,
    mark   INTEGER NOT NULL DEFAULT 0,
    strict INTEGER NOT NULL
) WITHOUT ROWID;

-- A mark never goes down, whoever tries: an old holder would be let in again.
CREATE TRIGGER tenure_guard_mark BEFORE UPDATE OF mark ON tenure_guard
WHEN NEW.mark < OLD.mark OR typeof(NEW.mark) <> 'integer'
BEGIN
    SELECT RAISE(ABORT, 'tenure: the mark of a guard never goes down');
END;

-- Which table is under which guard.  A migration that replaces a table (new table, copy, drop,
-- rename) drops its triggers without a word; `tenure guard check` finds out by this list.
CREATE TABLE tenure_guarded (
    id         INTEGER PRIMARY KEY,
    guard      TEXT NOT NULL,
    table_name TEXT NOT NULL UNIQUE COLLATE NOCASE
);

-- What every guard says to a write of this connection, now.  The rule is that of src/core/guard.c,
-- and a test compares the two.  A token is a plain whole number from 1 to 2^63-1: what does not
-- survive the way to INTEGER and back ('042', '1e3', 2^63) is invalid.
CREATE VIEW tenure_verdict AS
SELECT name, mark, strict, token,
       CASE WHEN presented IS NULL THEN 'missing'
            WHEN token IS NULL     THEN 'invalid'
            WHEN token < mark      THEN 'stale'
            WHEN token = mark      THEN 'admit'
            WHEN strict            THEN 'newer'
            ELSE                        'raise'
       END AS verdict
FROM (SELECT g.name, g.mark, g.strict, p.dflt_value AS presented,
             CASE WHEN CAST(CAST(p.dflt_value AS INTEGER) AS TEXT) = p.dflt_value
                   AND CAST(p.dflt_value AS INTEGER) > 0
                  THEN CAST(p.dflt_value AS INTEGER)
             END AS token
      FROM tenure_guard AS g
      LEFT JOIN pragma_table_info('tenure_token', 'temp') AS p ON p.name = g.name);
