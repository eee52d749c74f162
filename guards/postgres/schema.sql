-- guards/postgres/schema.sql - the PostgreSQL guard, in plain SQL and plpgsql.
--
-- A guard makes the database refuse a write of somebody who has been replaced, in the transaction
-- of the write itself (P10).  No extension, no superuser and no library of ours: PostgreSQL 13 or
-- later and a role that owns the tables, so it works on managed servers, and every program in every
-- language is fenced.  `tenure guard install` runs this text once in a database, in the transaction
-- that puts the first guard in; install(), announce() and remove() can be called by hand, too.
--
-- A writer PRESENTS its tokens by one setting, tenure.token, a list of NAME=TOKEN with a space in
-- between (names hold none).  It is set by PGOPTIONS, by the options of a connection, by SET, or
-- for one transaction by SET LOCAL, which is what a pooler in transaction mode needs:
--
--     SET LOCAL tenure.token = 'billing/invoices=42 billing/ledger=17';
--
-- Why one list, and not a setting for each name?  Names of settings ignore case and hold neither
-- slashes nor dashes, so each name would have to be spelt in a second way.
--
-- THE MARK of a guard, the highest token that it was told of or has seen, is the last value of a
-- sequence, because a sequence belongs to no transaction.  Everybody sees its present value, also
-- under REPEATABLE READ and SERIALIZABLE, whose snapshots may be older than an announcement; and a
-- roll-back does not take it back, which is right: who showed the higher token exists.  A row would
-- have to be locked by every writer, which costs a second write for each.
--
-- THE LOCK of a guard is an advisory one, (1952804469, id).  A writer holds it shared until its
-- transaction ends, so writers never wait for each other.  To raise the mark takes it exclusively,
-- and lets it go at once: so when an announcement returns, each transaction of an older token
-- has ended, or will be refused.  It survives PREPARE TRANSACTION, and goes with its savepoint.
--
-- WHAT WAS REFUSED is rolled back with its transaction; but it is counted, in sequences again.
--
-- SQLSTATE    TNG01 stale   TNG02 newer   TNG03 missing   TNG04 invalid   TNG05 broken
-- of calls    TNG10 cannot be done so     TNG11 something else stands in the way

CREATE SCHEMA tenure_guard;

-- What made this schema, and what its functions looked like then.
CREATE TABLE tenure_guard.made (
    version     integer NOT NULL,
    fingerprint text NOT NULL
);

-- The guards.  Strict: only an announcement raises the mark.
CREATE TABLE tenure_guard.guard (
    id        integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      text COLLATE "C" NOT NULL UNIQUE CHECK (name ~ '^[A-Za-z0-9._:@+=,~%/-]+$'),
    is_strict boolean NOT NULL
);

-- Which table is under which guard, and what it was called then.  A migration that replaces a
-- table (new table, copy, drop, rename) takes its triggers along; this list finds out.
CREATE TABLE tenure_guard.guarded (
    relation   regclass PRIMARY KEY,
    table_name text NOT NULL,
    guard      integer NOT NULL REFERENCES tenure_guard.guard
);

-- ---- the rule --------------------------------------------------------------------------------

-- The mark of a guard; NULL when its sequence is gone.
CREATE FUNCTION tenure_guard.mark(id integer) RETURNS bigint
LANGUAGE sql VOLATILE AS
$$ SELECT pg_catalog.pg_sequence_last_value(pg_catalog.to_regclass('tenure_guard.mark_' || id)) $$;

-- What the setting shows for a name, as text; NULL when it does not show it.  The last one counts.
-- A word belongs to the name in front of its last equals sign: names may hold some.
CREATE FUNCTION tenure_guard.shown(name text) RETURNS text
LANGUAGE plpgsql STABLE AS
$$
DECLARE
    head constant text := name || '=';
    words constant text[] := pg_catalog.string_to_array(
        coalesce(pg_catalog.current_setting('tenure.token', true), ''), ' ');
    word text;
    tail text;
    token text;
BEGIN
    FOREACH word IN ARRAY words LOOP
        IF pg_catalog.starts_with(word, head) THEN
            tail := pg_catalog.substr(word, pg_catalog.length(head) + 1);
            IF pg_catalog.strpos(tail, '=') = 0 THEN
                token := tail;
            END IF;
        END IF;
    END LOOP;
    RETURN token;
END
$$;

-- A token is a plain whole number from 1 to 2^63-1; anything else gives NULL.
CREATE FUNCTION tenure_guard.token(shown text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS
$$
SELECT CASE WHEN shown ~ '^[1-9][0-9]{0,18}$'
             AND (pg_catalog.length(shown) < 19 OR shown COLLATE "C" <= '9223372036854775807')
            THEN shown::bigint END
$$;

-- What becomes of a write.  The rule is that of src/core/guard.c, and a test compares the two.
CREATE FUNCTION tenure_guard.judge(mark bigint, shown text, is_strict boolean) RETURNS text
LANGUAGE sql IMMUTABLE AS
$$
SELECT CASE WHEN mark IS NULL                      THEN 'broken'
            WHEN shown IS NULL                     THEN 'missing'
            WHEN tenure_guard.token(shown) IS NULL THEN 'invalid'
            WHEN tenure_guard.token(shown) < mark  THEN 'stale'
            WHEN tenure_guard.token(shown) = mark  THEN 'admit'
            WHEN is_strict                         THEN 'newer'
            ELSE                                        'raise' END
$$;

-- What every guard would say to a write of this connection, now.
CREATE VIEW tenure_guard.verdict AS
SELECT name, mark, is_strict, tenure_guard.token(shown) AS token,
       tenure_guard.judge(mark, shown, is_strict) AS verdict
FROM (SELECT name, is_strict, tenure_guard.mark(id) AS mark, tenure_guard.shown(name) AS shown
      FROM tenure_guard.guard OFFSET 0) AS g;

-- ---- writing ---------------------------------------------------------------------------------

-- Raises the mark, once every transaction of an older token has ended.  The lock is taken within
-- a subtransaction that is rolled back on purpose: that lets it go, and leaves the sequence.
CREATE FUNCTION tenure_guard.raise_mark(id integer, token bigint) RETURNS void
LANGUAGE plpgsql AS
$$
BEGIN
    PERFORM pg_catalog.pg_advisory_xact_lock(1952804469, id);
    IF tenure_guard.mark(id) < token THEN
        PERFORM pg_catalog.setval(('tenure_guard.mark_' || id)::regclass, token);
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'TNG00', MESSAGE = 'lets the lock go';
EXCEPTION WHEN SQLSTATE 'TNG00' THEN
    NULL;
END
$$;

-- Refuses, and counts it.  One number says when and why: microseconds since 1970, times 8, plus
-- the last digit of the SQLSTATE.
CREATE FUNCTION tenure_guard.refuse(id integer, name text, verdict text, shown text)
RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
    verdicts constant text[] := '{stale,newer,missing,invalid,broken}';
    words constant text[] := ARRAY[
        'stale token for guard %s: the writer has been replaced',
        'newer token than guard %s knows: announce it first',
        'missing token for guard %s: this connection presented none',
        'invalid token for guard %s: not a whole number from 1 to 2^63-1',
        'broken guard %s: its mark is gone'];
    remedy constant text[] := ARRAY[
        'Stop: somebody else has taken over.',
        'Announce the token to the guard before the work starts.',
        'Set tenure.token to ''%s=TOKEN'' for this connection.',
        'Present the token as it was given, as ''%s=TOKEN''.',
        'Install the guard again.'];
    kind constant integer := pg_catalog.array_position(verdicts, verdict);
    now constant bigint := extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000;
BEGIN
    IF verdict <> 'broken' THEN
        PERFORM pg_catalog.nextval(('tenure_guard.refused_' || id)::regclass);
        PERFORM pg_catalog.setval(('tenure_guard.refused_at_' || id)::regclass, now * 8 + kind);
        PERFORM pg_catalog.setval(('tenure_guard.refused_token_' || id)::regclass,
                                  coalesce(tenure_guard.token(shown), 0));
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'TNG0' || kind,
        MESSAGE = 'tenure: ' || pg_catalog.format(words[kind], name),
        DETAIL = pg_catalog.format('Shown: %s. Mark: %s.', coalesce(shown, 'nothing'),
                                   coalesce(tenure_guard.mark(id)::text, 'none')),
        HINT = pg_catalog.format(remedy[kind], name);
END
$$;

-- Refuses, or raises the mark and admits.  The lock comes first and the mark is read again behind
-- it: no announcement can come in between.
CREATE FUNCTION tenure_guard.decide(id integer, name text, is_strict boolean, shown text)
RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
    verdict text := tenure_guard.judge(tenure_guard.mark(id), shown, is_strict);
BEGIN
    IF verdict = 'raise' THEN
        PERFORM tenure_guard.raise_mark(id, tenure_guard.token(shown));
    END IF;
    IF verdict IN ('admit', 'raise', 'newer') THEN
        PERFORM pg_catalog.pg_advisory_xact_lock_shared(1952804469, id);
        verdict := tenure_guard.judge(tenure_guard.mark(id), shown, is_strict);
    END IF;
    IF verdict <> 'admit' THEN
        PERFORM tenure_guard.refuse(id, name, verdict, shown);
    END IF;
END
$$;

-- What stands between a write and a guarded table.  It runs with the rights of who installed it:
-- writers need no rights on this schema.  A token that is the mark itself, which nearly all are, is
-- admitted by two looks at the sequence, before and behind the lock; all else is for decide().
CREATE FUNCTION tenure_guard.admit() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    id constant integer := TG_ARGV[1];
    shown constant text := tenure_guard.shown(TG_ARGV[0]);
    sequence constant regclass := to_regclass('tenure_guard.mark_' || id);
    mark bigint := pg_sequence_last_value(sequence);
BEGIN
    IF shown = mark::text THEN
        PERFORM pg_advisory_xact_lock_shared(1952804469, id);
        mark := pg_sequence_last_value(sequence);
    END IF;
    IF shown IS DISTINCT FROM mark::text OR mark IS NULL OR mark = 0 THEN
        PERFORM tenure_guard.decide(id, TG_ARGV[0], TG_ARGV[2]::boolean, shown);
    END IF;
    IF TG_LEVEL = 'STATEMENT' THEN
        RETURN NULL;
    ELSIF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
END
$$;

-- ---- announce --------------------------------------------------------------------------------

CREATE FUNCTION tenure_guard.find(name text) RETURNS tenure_guard.guard
LANGUAGE plpgsql AS
$$
DECLARE
    g tenure_guard.guard;
BEGIN
    SELECT * INTO g FROM tenure_guard.guard AS x WHERE x.name = find.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TNG10', MESSAGE = pg_catalog.format(
            'no guard "%s" is installed in %s', name, pg_catalog.current_database());
    END IF;
    RETURN g;
END
$$;

-- Returns when no transaction of a lower token can write any more.  Who owns the guard may let
-- others announce: GRANT USAGE ON SCHEMA tenure_guard TO them.
CREATE FUNCTION tenure_guard.announce(name text, token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    g constant tenure_guard.guard := tenure_guard.find(name);
BEGIN
    IF token IS NULL OR token < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'TNG10', MESSAGE = 'a token is 1 to 2^63-1';
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN -- the new holder relies on it
        PERFORM set_config('synchronous_commit', 'local', true);
    END IF;
    IF tenure_guard.mark(g.id) < token THEN
        PERFORM tenure_guard.raise_mark(g.id, token);
    END IF;
    IF tenure_guard.mark(g.id) IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TNG05', MESSAGE = pg_catalog.format(
            'the mark of guard "%s" in %s is gone: install it again', name, current_database());
    ELSIF tenure_guard.mark(g.id) > token THEN
        RAISE EXCEPTION USING ERRCODE = 'TNG01', MESSAGE = pg_catalog.format(
            '--token %s: stale, the mark of guard "%s" in %s is %s', token, name,
            current_database(), tenure_guard.mark(g.id));
    END IF;
END
$$;

-- ---- install, remove -------------------------------------------------------------------------

-- A table, as people write it: as in SQL, or exactly as it is called.
CREATE FUNCTION tenure_guard.resolve(table_name text) RETURNS regclass
LANGUAGE plpgsql AS
$$
DECLARE
    kinds constant json := '{"v": "a view", "m": "a materialized view", "f": "a foreign table",
                             "S": "a sequence", "i": "an index", "I": "an index"}';
    table_ regclass;
    c record;
BEGIN
    BEGIN
        table_ := pg_catalog.to_regclass(table_name);
    EXCEPTION WHEN invalid_name OR syntax_error OR invalid_parameter_value
                   OR feature_not_supported THEN
        NULL;
    END;
    table_ := coalesce(table_, pg_catalog.to_regclass(pg_catalog.quote_ident(table_name)));
    SELECT r.relkind, r.relpersistence, r.relnamespace, n.nspname INTO c
        FROM pg_catalog.pg_class AS r JOIN pg_catalog.pg_namespace AS n ON n.oid = r.relnamespace
        WHERE r.oid = table_;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TNG10', MESSAGE = pg_catalog.format(
            '--table %s: there is no such table in %s', table_name,
            pg_catalog.current_database());
    END IF;
    IF c.relkind NOT IN ('r', 'p') OR c.relpersistence = 't' THEN
        RAISE EXCEPTION USING ERRCODE = 'TNG10', MESSAGE = pg_catalog.format(
            '--table %s: it is %s, and a guard needs a real table: '
            'guard what is written below it',
            table_name, CASE WHEN c.relpersistence = 't' THEN 'a temporary table'
                             ELSE coalesce(kinds ->> c.relkind::text, 'a type') END);
    END IF;
    IF c.nspname IN ('pg_catalog', 'information_schema', 'tenure_guard') OR EXISTS (
        SELECT FROM pg_catalog.pg_proc
        WHERE pronamespace = c.relnamespace AND proname = 'apply_together') THEN
        RAISE EXCEPTION USING ERRCODE = 'TNG10', MESSAGE = pg_catalog.format(
            '--table %s: the tables of PostgreSQL and of tenure cannot be guarded', table_name);
    END IF;
    RETURN table_;
END
$$;

-- A table and, of a partitioned one, all that is below it.  None when it was dropped.
CREATE FUNCTION tenure_guard.parts(relation regclass) RETURNS SETOF regclass
LANGUAGE sql STABLE AS
$$
SELECT oid::regclass FROM pg_catalog.pg_class
WHERE relkind IN ('r', 'p') AND (oid = relation OR oid IN (
    SELECT relid FROM pg_catalog.pg_partition_tree(relation)))
$$;

CREATE FUNCTION tenure_guard.is_partitioned(relation regclass) RETURNS boolean
LANGUAGE sql STABLE AS
$$ SELECT EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = relation AND relkind = 'p') $$;

CREATE FUNCTION tenure_guard.unprotect(relation regclass) RETURNS void
LANGUAGE plpgsql AS
$$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT tenure_guard.parts(relation) LOOP
        EXECUTE pg_catalog.format('DROP TRIGGER IF EXISTS tenure_guard ON %s', part);
    END LOOP;
    IF tenure_guard.is_partitioned(relation) THEN
        EXECUTE pg_catalog.format('DROP TRIGGER IF EXISTS tenure_guard_row ON %s', relation);
    END IF;
END
$$;

-- One trigger looks at each statement.  What is written to a partition directly is a statement on
-- another table: there one looks at each row, which PostgreSQL hands on to partitions that come
-- later.
CREATE FUNCTION tenure_guard.protect(relation regclass, g tenure_guard.guard) RETURNS void
LANGUAGE plpgsql AS
$$
DECLARE
    part regclass;
    body constant text := pg_catalog.format('EXECUTE FUNCTION tenure_guard.admit(%L, %L, %L)',
                                            g.name, g.id, g.is_strict);
BEGIN
    PERFORM tenure_guard.unprotect(relation);
    FOR part IN SELECT tenure_guard.parts(relation) LOOP
        EXECUTE pg_catalog.format('CREATE TRIGGER tenure_guard '
            'BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s FOR EACH STATEMENT %s',
            part, body);
    END LOOP;
    IF tenure_guard.is_partitioned(relation) THEN
        EXECUTE pg_catalog.format('CREATE TRIGGER tenure_guard_row '
            'BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW %s', relation, body);
    END IF;
END
$$;

-- Whether the triggers are there as protect() makes them: 'intact', 'unprotected', 'altered' or
-- 'table gone'.  The kind of a trigger in pg_trigger is a sum: 1 row, 2 before, 4 insert, 8 delete,
-- 16 update, 32 truncate.
CREATE FUNCTION tenure_guard.inspect(relation regclass, table_name text, g tenure_guard.guard)
RETURNS text LANGUAGE sql STABLE AS
$$
WITH wanted AS (
    SELECT part, 'tenure_guard' AS name, 62 AS kind FROM tenure_guard.parts(relation) AS part
    UNION ALL
    SELECT part, 'tenure_guard_row', 31 FROM tenure_guard.parts(relation) AS part
    WHERE tenure_guard.is_partitioned(relation)
), present AS (
    SELECT t.tgname IS NOT NULL AND t.tgenabled IN ('O', 'A') AS there,
           t.tgtype = w.kind AND t.tgqual IS NULL AND t.tgattr::text = ''
               AND t.tgfoid = pg_catalog.to_regprocedure('tenure_guard.admit()')
               AND t.tgargs = pg_catalog.convert_to(g.name, 'UTF8') || '\x00'::bytea
                   || pg_catalog.convert_to(g.id::text, 'UTF8') || '\x00'::bytea
                   || pg_catalog.convert_to(CASE WHEN g.is_strict THEN 't' ELSE 'f' END, 'UTF8')
                   || '\x00'::bytea AS ours
    FROM wanted AS w
    LEFT JOIN pg_catalog.pg_trigger AS t ON t.tgrelid = w.part AND t.tgname = w.name
)
SELECT CASE WHEN NOT EXISTS (SELECT FROM present)
            THEN CASE WHEN pg_catalog.to_regclass(table_name) IS NULL THEN 'table gone'
                      ELSE 'unprotected' END
            WHEN EXISTS (SELECT FROM present WHERE NOT there) THEN 'unprotected'
            WHEN EXISTS (SELECT FROM present WHERE ours IS NOT TRUE) THEN 'altered'
            ELSE 'intact' END
$$;

-- Makes the sequences of a guard that are not there.
CREATE FUNCTION tenure_guard.make_sequences(id integer) RETURNS void
LANGUAGE plpgsql AS
$$
DECLARE
    kind text;
    sequence text;
BEGIN
    FOREACH kind IN ARRAY '{mark,refused,refused_at,refused_token}'::text[] LOOP
        sequence := pg_catalog.format('tenure_guard.%s_%s', kind, id);
        IF pg_catalog.to_regclass(sequence) IS NULL THEN
            EXECUTE pg_catalog.format('CREATE SEQUENCE %s MINVALUE 0', sequence);
            PERFORM pg_catalog.setval(sequence::regclass, 0);
        END IF;
    END LOOP;
END
$$;

-- Puts one table under a guard, and what is missing back.
CREATE FUNCTION tenure_guard.add_table(g tenure_guard.guard, asked text) RETURNS void
LANGUAGE plpgsql AS
$$
DECLARE
    table_ constant regclass := tenure_guard.resolve(asked);
    other text;
BEGIN
    SELECT x.name INTO other
        FROM tenure_guard.guarded AS d JOIN tenure_guard.guard AS x ON x.id = d.guard
        WHERE (d.relation = table_ AND d.guard <> g.id)
           OR (d.relation <> table_ AND (
               d.relation IN (SELECT relid FROM pg_catalog.pg_partition_ancestors(table_))
               OR d.relation IN (SELECT relid FROM pg_catalog.pg_partition_tree(table_))));
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TNG11', MESSAGE = pg_catalog.format(
            '--table %s: it is under guard "%s" already', asked, other);
    END IF;
    DELETE FROM tenure_guard.guarded AS d WHERE d.table_name = table_::text
        AND NOT EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = d.relation);
    INSERT INTO tenure_guard.guarded VALUES (table_, table_::text, g.id)
        ON CONFLICT (relation) DO UPDATE SET table_name = EXCLUDED.table_name;
    IF tenure_guard.inspect(table_, table_::text, g) <> 'intact' THEN
        PERFORM tenure_guard.protect(table_, g);
    END IF;
END
$$;

-- Puts tables under a guard; again with the same arguments it puts back what is missing.
CREATE FUNCTION tenure_guard.install(name text, is_strict boolean, VARIADIC tables text[])
RETURNS void LANGUAGE plpgsql AS
$$
DECLARE
    g tenure_guard.guard;
    asked text;
BEGIN
    SELECT * INTO g FROM tenure_guard.guard AS x WHERE x.name = install.name;
    IF NOT FOUND THEN
        INSERT INTO tenure_guard.guard(name, is_strict) VALUES (install.name, install.is_strict)
            RETURNING * INTO g;
    ELSIF g.is_strict <> install.is_strict THEN
        RAISE EXCEPTION USING ERRCODE = 'TNG11', MESSAGE = pg_catalog.format(
            'guard "%s" is installed in %s %s --strict: say the same again, or remove it first',
            g.name, pg_catalog.current_database(),
            CASE WHEN g.is_strict THEN 'with' ELSE 'without' END);
    END IF;
    PERFORM tenure_guard.make_sequences(g.id);
    FOREACH asked IN ARRAY tables LOOP
        PERFORM tenure_guard.add_table(g, asked);
    END LOOP;
END
$$;

-- Takes a guard out.  The schema stays; DROP SCHEMA tenure_guard CASCADE takes out all of them.
CREATE FUNCTION tenure_guard.remove(name text) RETURNS void
LANGUAGE plpgsql AS
$$
DECLARE
    g constant tenure_guard.guard := tenure_guard.find(name);
BEGIN
    PERFORM tenure_guard.unprotect(d.relation) FROM tenure_guard.guarded AS d WHERE d.guard = g.id;
    DELETE FROM tenure_guard.guarded AS d WHERE d.guard = g.id;
    DELETE FROM tenure_guard.guard AS x WHERE x.id = g.id;
    EXECUTE pg_catalog.format('DROP SEQUENCE IF EXISTS tenure_guard.mark_%1$s, '
        'tenure_guard.refused_%1$s, tenure_guard.refused_at_%1$s, tenure_guard.refused_token_%1$s',
        g.id);
END
$$;

-- ---- looking ---------------------------------------------------------------------------------

-- Every guarded table, whether its guard is whole, and what the guard last refused.
CREATE VIEW tenure_guard.state AS
SELECT g.name AS guard, tenure_guard.mark(g.id) AS mark, g.is_strict, d.table_name,
       CASE WHEN i.state = 'intact' AND d.table_name <> d.relation::text THEN 'moved'
            ELSE i.state END AS state,
       CASE WHEN i.state = 'intact' AND d.table_name <> d.relation::text
            THEN d.relation::text END AS moved_to,
       r.refused, ('{stale,newer,missing,invalid}'::text[])[(r.at % 8)::integer] AS refused_verdict,
       r.token AS refused_token, to_timestamp(r.at / 8 / 1000000.0) AS refused_at
FROM tenure_guard.guard AS g
JOIN tenure_guard.guarded AS d ON d.guard = g.id
CROSS JOIN LATERAL (SELECT tenure_guard.inspect(d.relation, d.table_name, g)) AS i(state)
CROSS JOIN LATERAL (
    SELECT pg_sequence_last_value(to_regclass('tenure_guard.refused_' || g.id)),
           pg_sequence_last_value(to_regclass('tenure_guard.refused_at_' || g.id)),
           pg_sequence_last_value(to_regclass('tenure_guard.refused_token_' || g.id))
) AS r(refused, at, token);

-- What the functions look like now; another schema, or one that was edited, has another one.
CREATE FUNCTION tenure_guard.fingerprint() RETURNS text
LANGUAGE sql STABLE AS
$$
SELECT pg_catalog.md5(pg_catalog.string_agg(proname || prosrc, '' ORDER BY proname))
FROM pg_catalog.pg_proc WHERE pronamespace = 'tenure_guard'::regnamespace
$$;

INSERT INTO tenure_guard.made VALUES (1, tenure_guard.fingerprint());
