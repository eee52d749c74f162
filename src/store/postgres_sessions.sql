-- store/postgres_sessions.sql - a store in PostgreSQL: who is alive.  postgres.sql, which follows,
-- explains the schema, and says when a session is dead.

-- Sessions as they are now.  Those that are silent for longer than their ttl are noted; after one
-- more ttl of silence everybody may declare them dead.
CREATE OR REPLACE FUNCTION @schema@.report(ids bigint[], now bigint) RETURNS SETOF @schema@.answer
LANGUAGE plpgsql
AS $$
DECLARE silent bigint[];
BEGIN
    SELECT array_agg(s.id) INTO silent FROM @schema@.session s
        WHERE s.id = ANY (ids) AND s.expires <= now AND NOT s.dead AND s.suspected IS NULL;
    IF silent IS NOT NULL THEN
        UPDATE @schema@.session s SET suspected = now FROM (
            SELECT x.id FROM @schema@.session x WHERE x.id = ANY (silent)
                AND NOT x.dead AND x.suspected IS NULL AND x.expires <= now
                ORDER BY x.id FOR NO KEY UPDATE SKIP LOCKED) y WHERE s.id = y.id;
    END IF;
    RETURN QUERY SELECT 4, CASE WHEN s.id IS NULL THEN 2 WHEN s.died THEN 4 WHEN s.dead THEN 1
                                WHEN s.suspected + s.ttl_ms <= now THEN 3 ELSE 0 END,
                        u.id, s.beat, s.expires, s.ttl_ms, NULL::bytea
        FROM (SELECT DISTINCT i.id FROM unnest(ids) i(id)) u
        LEFT JOIN @schema@.session s ON s.id = u.id;
END $$;

-- Locks what a call relies on of sessions, declares who is to be declared, and returns the
-- positions in `ids` that are not as expected.  Modes: 0 it lives, 1 declare it dead, 2 it was only
-- asked for, 3 it lives and was not renewed since (it is to be told to stop), 4 it lives, and is
-- neither the one that asks nor one that is granted something.  Those of mode 4 are not locked:
-- when one of them ends before the commit, the next decision sees it.
CREATE OR REPLACE FUNCTION @schema@.rely(
    ids bigint[], modes integer[], beats bigint[], notices bigint[], writes boolean)
    RETURNS bigint[]
LANGUAGE plpgsql
AS $$
DECLARE wrong bigint[]; d boolean;
BEGIN
    IF notices IS NULL AND cardinality(ids) = 1 AND modes[1] = 0 AND writes THEN
        SELECT s.dead INTO d FROM @schema@.session s WHERE s.id = ids[1] FOR SHARE;
        RETURN CASE WHEN d IS NULL OR d THEN '{1}'::bigint[] END;
    ELSIF notices IS NOT NULL OR 1 = ANY (modes) THEN
        PERFORM 1 FROM @schema@.session s WHERE s.id = ANY (ids || notices)
            ORDER BY s.id FOR NO KEY UPDATE;
        UPDATE @schema@.session s SET dead = true FROM unnest(ids, modes, beats) u(id, mode, beat)
            WHERE u.mode = 1 AND s.id = u.id AND s.beat = u.beat AND NOT s.dead;
    ELSIF writes AND 0 = ANY (modes) THEN
        PERFORM 1 FROM @schema@.session s
            WHERE s.id IN (SELECT u.id FROM unnest(ids, modes) u(id, mode) WHERE u.mode = 0)
            ORDER BY s.id FOR SHARE;
    END IF;
    SELECT array_agg(u.n) INTO wrong
        FROM unnest(ids, modes, beats) WITH ORDINALITY u(id, mode, beat, n)
        LEFT JOIN @schema@.session s ON s.id = u.id
        WHERE CASE u.mode WHEN 0 THEN s.id IS NULL OR s.dead
                          WHEN 4 THEN s.id IS NULL OR s.dead
                          WHEN 3 THEN s.id IS NULL OR s.dead OR s.beat <> u.beat
                          WHEN 1 THEN s.id IS NOT NULL AND NOT s.dead ELSE true END;
    RETURN wrong;
END $$;

-- Opens a session.  Every now and then it also forgets sessions whose death nobody can ask about
-- any more, a day after it was written down or suspected.
CREATE OR REPLACE FUNCTION @schema@.session_open(
    ttl bigint, high bigint, OUT session bigint, OUT now bigint, OUT expires bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM @schema@.refuse_past(high);
    now := @schema@.clock();
    session := nextval('@schema@.token');
    expires := now + ttl;
    INSERT INTO @schema@.session (id, ttl_ms, expires) VALUES (session, ttl, session_open.expires);
    IF random() < 0.05 THEN
        UPDATE @schema@.session s SET suspected = session_open.now FROM (
            SELECT x.id FROM @schema@.session x
                WHERE x.suspected IS NULL AND x.expires <= session_open.now
                ORDER BY x.id FOR NO KEY UPDATE SKIP LOCKED) y WHERE s.id = y.id;
        DELETE FROM @schema@.session s USING (
            SELECT x.id FROM @schema@.session x
                WHERE x.suspected < session_open.now - 86400000
                  AND x.expires < session_open.now - 86400000
                ORDER BY x.id FOR UPDATE SKIP LOCKED) y WHERE s.id = y.id;
    END IF;
END $$;

-- Renews a session: state 0 renewed, 1 dead, 2 gone.  `heard` is the last beat whose answer reached
-- the holder: a notice is repeated until one has.  While `deletion` stays the same, no record that
-- the holder saw was taken away, so it need not look.
CREATE OR REPLACE FUNCTION @schema@.session_renew(
    id bigint, heard bigint, high bigint, OUT state integer, OUT now bigint, OUT expires bigint,
    OUT beat bigint, OUT noticed boolean, OUT deletion bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE row @schema@.session;
BEGIN
    PERFORM @schema@.refuse_past(high);
    SELECT * INTO row FROM @schema@.session s WHERE s.id = session_renew.id FOR NO KEY UPDATE;
    state := CASE WHEN NOT FOUND OR row.died THEN 2 WHEN row.dead THEN 1 ELSE 0 END;
    now := @schema@.clock();
    noticed := coalesce(row.noticed >= heard, false);
    expires := row.expires;
    IF state = 0 THEN
        expires := now + row.ttl_ms;
        beat := row.beat + 1;
        UPDATE @schema@.session s SET beat = row.beat + 1, expires = session_renew.expires,
            noticed = CASE WHEN row.noticed >= heard THEN row.noticed END, suspected = NULL
            WHERE s.id = session_renew.id;
        SELECT m.deletion INTO session_renew.deletion FROM @schema@.meta m;
    END IF;
END $$;

-- Ends a session, and tells those who watch one.  When records still name it, its row stays for
-- the time of its end, as that of a session that expired does.
CREATE OR REPLACE FUNCTION @schema@.session_close(id bigint, claims_left boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF claims_left THEN
        UPDATE @schema@.session s SET dead = true, died = true,
            expires = least(s.expires, @schema@.clock())
            WHERE s.id = session_close.id AND NOT s.dead;
    ELSE
        DELETE FROM @schema@.session s WHERE s.id = session_close.id;
    END IF;
    IF FOUND THEN
        PERFORM nextval('@schema@.change'), pg_notify('@schema@_end', session_close.id::text);
        RETURN true;
    END IF;
    RETURN false;
END $$;
