-- store/postgres_upgrade.sql - from versions 1 and 2 of the tables to 3; postgres.sql follows.
--
-- Version 2 remembers when a session ended that a guardian closed; version 3 notes deletions of
-- records, and says so with each renewal.  Who might use the store before may use it now: a call
-- that gets another shape is granted to those who had the old one.

UPDATE @schema@.meta SET version = 3;
ALTER TABLE @schema@.session ADD COLUMN IF NOT EXISTS died boolean NOT NULL DEFAULT false;
ALTER TABLE @schema@.meta ADD COLUMN IF NOT EXISTS deletion bigint NOT NULL DEFAULT 0;

DO $$
DECLARE old record; role text; grants text[] := '{}'; text text;
BEGIN
    FOR old IN SELECT p.oid, p.proname, p.proacl, p.proowner FROM pg_proc p
            WHERE p.pronamespace = '@schema@'::regnamespace
                AND (p.proname IN ('hello', 'session_renew')
                     OR (p.proname = 'session_close' AND p.pronargs = 1)) LOOP
        FOR role IN SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
                FROM aclexplode(old.proacl) a
                WHERE a.privilege_type = 'EXECUTE' AND a.grantee <> old.proowner LOOP
            grants := grants || format('GRANT EXECUTE ON FUNCTION @schema@.%s TO %s',
                                       old.proname, role);
        END LOOP;
        EXECUTE 'DROP FUNCTION ' || old.oid::regprocedure;
    END LOOP;
    CREATE OR REPLACE FUNCTION @schema@.session_close(id bigint, claims_left boolean)
        RETURNS boolean LANGUAGE sql AS 'SELECT false';
    CREATE FUNCTION @schema@.hello(
        high bigint, OUT version integer, OUT now bigint, OUT floor bigint, OUT last bigint,
        OUT changes bigint, OUT backend integer, OUT deletion bigint)
        LANGUAGE sql AS 'SELECT 0, $1, $1, $1, $1, 0, $1';
    CREATE FUNCTION @schema@.session_renew(
        id bigint, heard bigint, high bigint, OUT state integer, OUT now bigint,
        OUT expires bigint, OUT beat bigint, OUT noticed boolean, OUT deletion bigint)
        LANGUAGE sql AS 'SELECT 0, $1, $1, $1, false, $1';
    FOREACH text IN ARRAY grants LOOP
        EXECUTE text;
    END LOOP;
END $$;
