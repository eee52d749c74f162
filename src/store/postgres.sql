-- store/postgres.sql - a store in PostgreSQL: all that ever touches its tables.
--
-- A store is one schema of a database (@schema@).  `tenure store init` runs postgres_tables.sql and
-- this text in one transaction, `tenure store upgrade` what has changed of the tables and this
-- text; the roles that use the store get USAGE on the schema and EXECUTE on the functions and
-- nothing else, because each function runs with the rights of the schema's owner.
--
-- ROUND TRIPS.  A client decides on what it remembers of records and sessions, and sends the
-- decision with all that it relied on: apply() makes it so when that still holds, else it says
-- what is there now, so that the next try is most likely right.  Many decisions of one process
-- ride in one call and one commit, and each succeeds or fails on its own.
--
-- VERSIONS are random numbers that the writer draws.  So no version ever comes again: not when a
-- name is deleted and made anew, and not when the database is put back from a backup.
--
-- TOKENS and ids of sessions come from one sequence, which no transaction waits for.  A process
-- draws some ahead, so a name may see tokens out of the sequence's order: the rules then go on
-- above the name's own last one.  What a deleted name gave out is covered by meta.floor, which only
-- a deletion raises and which everybody who makes a name anew must have heard of.
--
-- DEATH is written down, by one who is entitled to it (postgres_life.c): a session lives while its
-- row is there and not `dead`, whatever the clock says.  `beat` counts its renewals: who declares
-- it dead names the beat that it watched, so a renewal that comes in between wins.
--
-- CONTENTION.  Who loses four times in a row asks for the record first (hold()), decides, and
-- writes, in one transaction: then the server's queue of row locks is the order.  A name that is
-- not there is held by a row of version 1, which no other transaction ever sees.
--
-- LOCKS are taken in one order, always: sessions by id, then records by key, then meta.  None is
-- held longer than one call, or two and a commit after hold(), which the server cuts short when
-- the client stalls.  READ COMMITTED is enough: each write names the version that it
-- replaces, and who waited for a row sees it as it is after the wait.
--
-- PLANS.  A table that was small when a plan was made may be large when it is used, so sequential
-- scans are off.  That makes plans look dear, and dear plans are compiled (jit), for tenths of a
-- second: so that is off, too.  Plans for arrays look better when they are made anew for each,
-- which takes longer than what they do: so they are generic.  In a function a plain expression
-- costs a microsecond, a query ten and more; that is why what looks like a query in apply() is
-- none.
--
-- Nothing depends on the connection: no setting, no temporary object, no advisory lock, and no
-- named statement but where the server itself is at the other end, and not even there when its name
-- is not known any more.  So any pooler may stand in between.

-- What no logical copy of this store has, and every physical one: put back by pg_restore, or into
-- another cluster, it is not the store that it was.
CREATE OR REPLACE FUNCTION @schema@.home() RETURNS text LANGUAGE sql STABLE
AS $$ SELECT system_identifier || '/' || '@schema@.meta'::regclass::oid FROM pg_control_system() $$;

-- Another one after each recovery from an archive, and after each promotion of a standby.
CREATE OR REPLACE FUNCTION @schema@.timeline() RETURNS text LANGUAGE sql VOLATILE
AS $$ SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) $$;

-- The server's clock in milliseconds.  It may be stepped; who uses it compares it with its own.
CREATE OR REPLACE FUNCTION @schema@.clock() RETURNS bigint LANGUAGE sql VOLATILE
AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- Refuses to serve when the sequence is behind a token that the caller has seen: the database is
-- older than what it has promised.
CREATE OR REPLACE FUNCTION @schema@.refuse_past(high bigint) RETURNS void LANGUAGE plpgsql
AS $$
DECLARE last bigint;
BEGIN
    SELECT s.last_value INTO last FROM @schema@.token s;
    IF last < high THEN
        RAISE EXCEPTION 'the store went back in time: its last token is % and was %', last, high
            USING ERRCODE = 'TN001';
    END IF;
END $$;

-- Refuses to serve a logical copy.  A promoted standby or a recovered archive may lack the last
-- grants: there tokens go on above all that can have been given out since.
CREATE OR REPLACE FUNCTION @schema@.settle_in() RETURNS void LANGUAGE plpgsql
AS $$
DECLARE m @schema@.meta; now_on text := @schema@.timeline(); lifted bigint;
BEGIN
    SELECT * INTO m FROM @schema@.meta;
    IF m.home <> @schema@.home() THEN
        RAISE EXCEPTION 'the store was put back from a copy, or is one' USING ERRCODE = 'TN001';
    ELSIF m.timeline <> now_on THEN
        SELECT * INTO m FROM @schema@.meta FOR UPDATE;
        IF m.timeline <> now_on THEN
            SELECT s.last_value + 4294967296 INTO lifted FROM @schema@.token s;
            PERFORM setval('@schema@.token', lifted);
            UPDATE @schema@.meta SET floor = lifted, timeline = now_on;
        END IF;
    END IF;
END $$;

-- What a new connection asks first: schema version, clock, floor, last token, changes, which
-- process of the server answers (another one than said so at the beginning means a pooler), and the
-- last deletion, as with renewals.
CREATE OR REPLACE FUNCTION @schema@.hello(
    high bigint, OUT version integer, OUT now bigint, OUT floor bigint, OUT last bigint,
    OUT changes bigint, OUT backend integer, OUT deletion bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM @schema@.refuse_past(high);
    PERFORM @schema@.settle_in();
    SELECT m.version, m.floor, m.deletion INTO hello.version, hello.floor, hello.deletion
        FROM @schema@.meta m;
    SELECT s.last_value INTO hello.last FROM @schema@.token s;
    SELECT s.last_value INTO hello.changes FROM @schema@.change s;
    now := @schema@.clock();
    backend := pg_backend_pid();
END $$;

-- Decisions on one record each, in the order of their keys.  For the i-th:
--   keys, seen      the record, and the version that was decided on (0: none; -1: not known)
--   fresh           the version to be written; 0: nothing changes; -1: it is to be deleted
--   data            what is written; NULL with a version: nothing but the version, as a fence
--                   against a write of ours that may still be under way
--   floors          the token floor that was decided on, and the one after it
--   notices         whom to tell with its next renewal, or 0
--   froms           ids[froms[i] + 1 .. froms[i + 1]] are the sessions that were asked for
-- The clock that was decided on is `guess`; nothing is written when it is off by more than `slack`.
CREATE OR REPLACE FUNCTION @schema@.apply(
    keys text[], seen bigint[], fresh bigint[], data bytea[], floors bigint[],
    floors_after bigint[], notices bigint[], froms integer[], ids bigint[], modes integer[],
    beats bigint[], guess bigint, slack bigint, high bigint, draw integer)
    RETURNS SETOF @schema@.answer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    t bigint := floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint;
    r @schema@.answer; writes boolean; in_time boolean; replaced boolean; rows integer;
    told bigint[]; wrong bigint[]; mine bigint[]; others bigint[]; tail integer;
    asked bigint[] := ARRAY[]::bigint[];
    good boolean; changed boolean := false; deleted bigint := 0; f bigint; v bigint; last bigint;
    bell bytea;
BEGIN
    -- Who was rung looks at one record, and finds another one than it knew: most likely it is
    -- granted something now, and that needs no session but its own, which is in front.  Who sets
    -- none apart was told so much before, and needs those of the record as it is now, too.
    tail := coalesce(array_position(modes, 4), cardinality(modes) + 1);
    IF cardinality(keys) = 1 AND fresh[1] = 0 AND seen[1] > 0 AND tail <= cardinality(modes)
            AND NOT 1 = ANY (modes) AND notices[1] = 0 THEN
        RETURN QUERY WITH x AS MATERIALIZED (
                SELECT x.version, x.floor, x.bytes FROM @schema@.record x
                    WHERE x.key = keys[1] AND x.version <> seen[1] AND x.version <> 1
                        AND high <= (SELECT s.last_value FROM @schema@.token s))
            SELECT 3, 1, x.version, x.floor, 0::bigint, NULL::bigint, x.bytes FROM x
            UNION ALL SELECT 0, 0, t, m.floor, NULL, NULL, m.bell FROM @schema@.meta m
            UNION ALL SELECT y.* FROM x, @schema@.report(ids[: tail - 1], t) y
            UNION ALL SELECT 1, 0, nextval('@schema@.token'), NULL, NULL, NULL, NULL
                FROM x, generate_series(1, draw);
        GET DIAGNOSTICS rows = ROW_COUNT;
        IF rows > 1 THEN
            RETURN;
        END IF;
    END IF;
    -- Nearly always each decision replaces a record, and relies on one session that lives, or a
    -- single one on several, with those that are to be locked in front.  That can be said in a
    -- query or two, which is worth it, since each expression costs its preparation.  Tokens are
    -- drawn when all of it was done: so none is before `high` was compared with the last one.
    IF 0 < ALL (fresh) AND 0 < ALL (seen) AND 0 = ALL (notices) AND abs(t - guess) <= slack
            AND (cardinality(keys) = 1 OR tail > cardinality(ids) AND ids[1] = ALL (ids))
            AND 0 = ALL (modes[: tail - 1]) AND 4 = ALL (modes[tail :]) THEN
        IF tail > cardinality(ids) AND ids[1] = ALL (ids) THEN
            SELECT NOT s.dead INTO replaced FROM @schema@.session s WHERE s.id = ids[1] FOR SHARE;
        ELSE
            SELECT count(*) = tail - 1 AND (
                    SELECT count(*) FROM @schema@.session s
                        WHERE s.id = ANY (ids[tail :]) AND NOT s.dead) = cardinality(ids) - tail + 1
                INTO replaced FROM (
                    SELECT 1 FROM @schema@.session s
                        WHERE s.id = ANY (ids[: tail - 1]) AND NOT s.dead
                        ORDER BY s.id FOR SHARE) y;
        END IF;
        IF replaced AND cardinality(keys) = 1 THEN
            RETURN QUERY WITH w AS (
                UPDATE @schema@.record x SET version = fresh[1], sessions = ids,
                    bytes = coalesce(data[1], x.bytes), floor = greatest(x.floor, floors_after[1])
                    WHERE x.key = keys[1] AND x.version = seen[1]
                        AND high <= (SELECT s.last_value FROM @schema@.token s) RETURNING 1)
                SELECT 2, 1, nextval('@schema@.change'), NULL::bigint, NULL::bigint, NULL::bigint,
                       NULL::bytea FROM w
                UNION ALL SELECT 0, 0, t, m.floor, NULL, NULL, m.bell FROM @schema@.meta m
                UNION ALL SELECT 1, 0, nextval('@schema@.token'), NULL, NULL, NULL, NULL
                    FROM w, generate_series(1, draw);
            GET DIAGNOSTICS rows = ROW_COUNT;
        ELSIF replaced THEN
            RETURN QUERY WITH w AS (
                UPDATE @schema@.record x SET version = u.fresh, sessions = ids[u.a + 1 : u.b],
                    bytes = coalesce(u.data, x.bytes), floor = greatest(x.floor, u.floor)
                    FROM unnest(keys, seen, fresh, data, floors_after, froms, froms[2:])
                        WITH ORDINALITY u(key, seen, fresh, data, floor, a, b, n)
                    WHERE x.key = u.key AND x.version = u.seen
                        AND high <= (SELECT s.last_value FROM @schema@.token s) RETURNING u.n)
                SELECT 2, w.n::integer, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
                       NULL::bytea FROM w
                UNION ALL SELECT 0, 0, t, m.floor, nextval('@schema@.change'), NULL, m.bell
                    FROM @schema@.meta m
                UNION ALL SELECT 1, 0, nextval('@schema@.token'), NULL, NULL, NULL, NULL
                    FROM generate_series(1, draw)
                    WHERE cardinality(keys) = (SELECT count(*) FROM w);
            GET DIAGNOSTICS rows = ROW_COUNT;
        END IF;
        IF rows > cardinality(keys) + draw THEN
            RETURN;
        END IF;
    END IF;
    writes := NOT 0 = ALL (fresh);
    in_time := replaced IS NOT TRUE AND abs(t - guess) <= slack;
    IF writes AND NOT 0 = ALL (notices) THEN
        SELECT array_agg(n) INTO told FROM unnest(notices) n WHERE n <> 0;
    END IF;
    IF replaced IS NOT TRUE AND (cardinality(ids) > 0 OR told IS NOT NULL) THEN
        wrong := @schema@.rely(ids, modes, beats, told, writes);
    END IF;
    FOR i IN 1 .. cardinality(keys) LOOP
        mine := ids[froms[i] + 1 : froms[i + 1]];
        good := seen[i] >= 0 AND (fresh[i] = 0 OR in_time);
        IF wrong IS NOT NULL THEN
            good := good AND NOT EXISTS (
                SELECT 1 FROM unnest(wrong) w WHERE w > froms[i] AND w <= froms[i + 1]);
        END IF;
        IF NOT good THEN
            NULL;
        ELSIF fresh[i] = 0 OR (fresh[i] = -1 AND seen[i] = 0) THEN
            SELECT x.version INTO v FROM @schema@.record x WHERE x.key = keys[i] AND x.version <> 1;
            good := coalesce(v, 0) = seen[i];
            asked := asked || mine;
        ELSIF fresh[i] = -1 THEN
            DELETE FROM @schema@.record x WHERE x.key = keys[i] AND x.version = seen[i]
                RETURNING x.floor INTO f;
            good := FOUND;
            IF good THEN
                deleted := greatest(deleted, f, floors_after[i]);
            END IF;
        ELSIF seen[i] = 0 AND data[i] IS NULL THEN
            INSERT INTO @schema@.record VALUES (keys[i], 1, 0, '{}', '') ON CONFLICT DO NOTHING;
            good := FOUND;
            IF good THEN
                DELETE FROM @schema@.record x WHERE x.key = keys[i];
                deleted := greatest(deleted, floors_after[i]);
            END IF;
        ELSIF seen[i] = 0 THEN
            INSERT INTO @schema@.record AS x
                VALUES (keys[i], fresh[i], floors_after[i], mine, data[i])
                ON CONFLICT (key) DO UPDATE SET version = excluded.version,
                    floor = excluded.floor, sessions = excluded.sessions, bytes = excluded.bytes
                    WHERE x.version = 1;
            good := FOUND;
            IF good THEN
                SELECT m.floor INTO f FROM @schema@.meta m;
                IF greatest(f, deleted) > floors[i] THEN
                    DELETE FROM @schema@.record x WHERE x.key = keys[i];
                    good := false;
                END IF;
            END IF;
        ELSE
            UPDATE @schema@.record x SET version = fresh[i], sessions = mine,
                    bytes = coalesce(data[i], x.bytes),
                    floor = greatest(x.floor, floors_after[i])
                WHERE x.key = keys[i] AND x.version = seen[i];
            good := FOUND;
        END IF;
        IF good THEN
            changed := changed OR fresh[i] <> 0;
            IF notices[i] <> 0 THEN
                UPDATE @schema@.session s SET noticed = s.beat WHERE s.id = notices[i];
            END IF;
            r := ROW (2, i, NULL, NULL, NULL, NULL, NULL);
        ELSE
            r := ROW (3, i, 0, 0, 0, NULL, NULL);
            SELECT x.version, x.floor, x.sessions, CASE WHEN x.version <> seen[i] THEN x.bytes END
                INTO r.a, r.b, others, r.bytes FROM @schema@.record x WHERE x.key = keys[i];
            r.a := coalesce(r.a, 0);
            CONTINUE WHEN replaced AND r.a = fresh[i]; -- done above
            r.c := 0;
            asked := asked || mine || others;
        END IF;
        RETURN NEXT r;
    END LOOP;
    IF deleted > 0 THEN
        UPDATE @schema@.meta m SET floor = deleted WHERE m.floor < deleted;
    END IF;
    IF changed THEN
        v := nextval('@schema@.change');
    END IF;
    SELECT m.floor, s.last_value, m.bell INTO f, last, bell FROM @schema@.meta m, @schema@.token s;
    IF last < high THEN
        PERFORM @schema@.refuse_past(high);
    END IF;
    r := ROW (0, 0, t, f, NULL, NULL, bell);
    RETURN NEXT r;
    FOR i IN 1 .. draw LOOP
        r := ROW (1, 0, nextval('@schema@.token'), NULL, NULL, NULL, NULL);
        RETURN NEXT r;
    END LOOP;
    IF cardinality(asked) > 0 THEN
        RETURN QUERY SELECT * FROM @schema@.report(asked, t);
    END IF;
END $$;

-- One decision on several records, which are in the order of their keys; else like apply().  Names
-- that are not there are held by a row of their own until the end of the call.
CREATE OR REPLACE FUNCTION @schema@.apply_together(
    keys text[], seen bigint[], fresh bigint[], data bytea[], floors bigint[],
    floors_after bigint[], notices bigint[], froms integer[], ids bigint[], modes integer[],
    beats bigint[], guess bigint, slack bigint, high bigint, draw integer)
    RETURNS SETOF @schema@.answer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    t bigint := @schema@.clock();
    writes boolean := EXISTS (SELECT 1 FROM unnest(fresh) f WHERE f <> 0);
    good boolean := -1 <> ALL (seen) AND (NOT writes OR abs(t - guess) <= slack);
    made integer[] := '{}'; told bigint[]; f bigint; v bigint; others bigint[]; p integer;
BEGIN
    PERFORM @schema@.refuse_past(high);
    SELECT array_agg(n) INTO told FROM unnest(notices) n WHERE n <> 0 AND writes;
    IF good AND (cardinality(ids) > 0 OR told IS NOT NULL) THEN
        good := @schema@.rely(ids, modes, beats, told, writes) IS NULL;
    END IF;
    IF good AND writes THEN
        FOR i IN 1 .. cardinality(keys) LOOP
            IF seen[i] = 0 THEN
                INSERT INTO @schema@.record AS x VALUES (keys[i], 1, 0, '{}', '')
                    ON CONFLICT (key) DO UPDATE SET version = 1 WHERE x.version = 1;
                good := good AND FOUND;
                IF FOUND THEN
                    made := made || i;
                END IF;
            ELSE
                PERFORM 1 FROM @schema@.record x WHERE x.key = keys[i] AND x.version = seen[i]
                    FOR UPDATE;
                good := good AND FOUND;
            END IF;
        END LOOP;
        SELECT m.floor INTO f FROM @schema@.meta m;
        good := good AND (cardinality(made) = 0 OR f <= floors[1]);
    ELSIF good THEN
        SELECT count(*) = cardinality(keys) INTO good FROM unnest(keys, seen) u(key, seen)
            LEFT JOIN @schema@.record x ON x.key = u.key WHERE coalesce(x.version, 0) = u.seen;
    END IF;
    FOR i IN 1 .. cardinality(keys) LOOP
        IF good AND fresh[i] > 0 AND data[i] IS NULL AND seen[i] = 0 THEN
            DELETE FROM @schema@.record x WHERE x.key = keys[i];
            UPDATE @schema@.meta m SET floor = greatest(m.floor, floors_after[i]);
        ELSIF good AND fresh[i] > 0 THEN
            UPDATE @schema@.record x SET version = fresh[i], sessions = ids,
                bytes = coalesce(data[i], x.bytes),
                floor = greatest(x.floor, floors_after[i]) WHERE x.key = keys[i];
        ELSIF good AND fresh[i] = -1 THEN
            DELETE FROM @schema@.record x WHERE x.key = keys[i] RETURNING x.floor INTO f;
            UPDATE @schema@.meta m SET floor = greatest(m.floor, f, floors_after[i]);
        ELSIF i = ANY (made) THEN
            DELETE FROM @schema@.record x WHERE x.key = keys[i];
        END IF;
    END LOOP;
    IF good AND writes THEN
        UPDATE @schema@.session s SET noticed = s.beat WHERE s.id = ANY (told);
        PERFORM nextval('@schema@.change');
    END IF;
    SELECT m.floor INTO f FROM @schema@.meta m;
    RETURN NEXT ROW (0, 0, t, f, NULL, NULL, NULL)::@schema@.answer;
    IF good THEN
        RETURN NEXT ROW (2, 1, NULL, NULL, NULL, NULL, NULL)::@schema@.answer;
    ELSE
        RETURN QUERY SELECT 3, 1, coalesce(x.version, 0), coalesce(x.floor, 0), u.n - 1,
                NULL::bigint, CASE WHEN x.version <> u.seen THEN x.bytes END
            FROM unnest(keys, seen) WITH ORDINALITY u(key, seen, n)
            LEFT JOIN @schema@.record x ON x.key = u.key;
    END IF;
    RETURN QUERY SELECT 1, 0, nextval('@schema@.token'), NULL::bigint, NULL::bigint, NULL::bigint,
        NULL::bytea FROM generate_series(1, draw);
    SELECT array_agg(o) INTO others
        FROM @schema@.record x, unnest(x.sessions) o WHERE x.key = ANY (keys) AND NOT good;
    IF NOT good OR NOT writes THEN
        RETURN QUERY SELECT * FROM @schema@.report(ids || others, t);
    END IF;
END $$;

-- Waits for records, in the order of their keys, and holds them until the end of the transaction.
CREATE OR REPLACE FUNCTION @schema@.hold(keys text[], high bigint) RETURNS SETOF @schema@.answer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE t bigint; f bigint; asked bigint[];
BEGIN
    PERFORM @schema@.refuse_past(high);
    PERFORM set_config('idle_in_transaction_session_timeout', '3000', true);
    FOR i IN 1 .. cardinality(keys) LOOP
        LOOP
            PERFORM 1 FROM @schema@.record x WHERE x.key = keys[i] FOR UPDATE;
            EXIT WHEN FOUND;
            INSERT INTO @schema@.record VALUES (keys[i], 1, 0, '{}', '') ON CONFLICT DO NOTHING;
            EXIT WHEN FOUND;
        END LOOP;
    END LOOP;
    t := @schema@.clock();
    SELECT m.floor INTO f FROM @schema@.meta m;
    RETURN NEXT ROW (0, 0, t, f, NULL, NULL, NULL)::@schema@.answer;
    RETURN QUERY SELECT 3, 1, CASE x.version WHEN 1 THEN 0 ELSE x.version END, x.floor, u.n - 1,
            NULL::bigint, CASE WHEN x.version <> 1 THEN x.bytes END
        FROM unnest(keys) WITH ORDINALITY u(key, n) JOIN @schema@.record x ON x.key = u.key;
    SELECT array_agg(o) INTO asked
        FROM @schema@.record x, unnest(x.sessions) o WHERE x.key = ANY (keys);
    IF asked IS NOT NULL THEN
        RETURN QUERY SELECT * FROM @schema@.report(asked, t);
    END IF;
END $$;

-- Looks at records in the order of their keys, a page at a time, and at all sessions as they were
-- at the same moment.
CREATE OR REPLACE FUNCTION @schema@.scan(low text, high text, past text, page integer)
RETURNS TABLE (kind integer, op integer, a bigint, b bigint, c bigint, d bigint, bytes bytea,
               key text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 0, 0, @schema@.clock(), m.floor, NULL::bigint, NULL::bigint, NULL::bytea, NULL::text
        FROM @schema@.meta m
    UNION ALL
    SELECT 4, CASE WHEN s.died THEN 4 WHEN s.dead THEN 1
                   WHEN s.suspected + s.ttl_ms <= @schema@.clock() THEN 3 ELSE 0 END,
           s.id, s.beat, s.expires, s.ttl_ms, NULL::bytea, NULL::text
        FROM @schema@.session s
    UNION ALL
    SELECT * FROM (
        SELECT 5, 0, x.version, x.floor, NULL::bigint, NULL::bigint, x.bytes, x.key
            FROM @schema@.record x
            WHERE x.key >= low AND x.key < scan.high AND x.key > past
            ORDER BY x.key LIMIT page) y
$$;

-- Rings: wakes up sessions about names.  Never in the transaction of a grant, because commits that
-- notify wait for each other in the whole cluster; and nothing is lost when a bell is.
CREATE OR REPLACE FUNCTION @schema@.ring(sessions bigint[], names bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_notify('@schema@_' || r.session, r.name::text)
        FROM unnest(ring.sessions, names) r(session, name);
END $$;

-- The safety net under the bells: how often anything changed, and how these sessions are.
CREATE OR REPLACE FUNCTION @schema@.poll(ids bigint[]) RETURNS SETOF @schema@.answer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE t bigint := @schema@.clock(); n bigint;
BEGIN
    SELECT s.last_value INTO n FROM @schema@.change s;
    RETURN NEXT ROW (0, 0, t, 0, n, NULL, NULL)::@schema@.answer;
    IF cardinality(ids) > 0 THEN
        RETURN QUERY SELECT * FROM @schema@.report(ids, t);
    END IF;
END $$;

-- Notes each transaction that deletes records, also by hand: at its end, because meta is locked
-- last, and once.  A name that is held by a row of version 1 was never there.
CREATE OR REPLACE FUNCTION @schema@.note_deletion() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE this bigint := pg_current_xact_id()::text::bigint;
BEGIN
    UPDATE @schema@.meta m SET deletion = this WHERE m.deletion <> this;
    RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS deleted ON @schema@.record;
DROP TRIGGER IF EXISTS truncated ON @schema@.record;
CREATE CONSTRAINT TRIGGER deleted AFTER DELETE ON @schema@.record DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.version <> 1) EXECUTE FUNCTION @schema@.note_deletion();
CREATE TRIGGER truncated AFTER TRUNCATE ON @schema@.record
    FOR EACH STATEMENT EXECUTE FUNCTION @schema@.note_deletion();

-- Accepts the store as it is, with tokens above `above`.  Only the owner may.
CREATE OR REPLACE FUNCTION @schema@.raise_tokens(above bigint) RETURNS bigint LANGUAGE plpgsql
AS $$
DECLARE lifted bigint;
BEGIN
    SELECT s.last_value INTO lifted FROM @schema@.token s;
    IF above < lifted THEN
        RAISE EXCEPTION 'the store itself has given out token %', lifted
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    lifted := above + 1;
    PERFORM setval('@schema@.token', lifted);
    UPDATE @schema@.meta m SET floor = greatest(m.floor, lifted), home = @schema@.home(),
        timeline = @schema@.timeline();
    DELETE FROM @schema@.session;
    RETURN lifted;
END $$;

COMMENT ON FUNCTION @schema@.apply IS 'tenure, revision @revision@';
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA @schema@ FROM PUBLIC;
