-- store/postgres_upgrade.sql - from version 1 of the tables to version 2; postgres.sql follows.
--
-- Version 2 remembers when a session ended that a guardian closed.  Who might use the store before
-- may use it now: the call that gets another parameter is granted to those who had the old one.

UPDATE @schema@.meta SET version = 2;
ALTER TABLE @schema@.session ADD COLUMN IF NOT EXISTS died boolean NOT NULL DEFAULT false;

CREATE OR REPLACE FUNCTION @schema@.session_close(id bigint, claims_left boolean) RETURNS boolean
LANGUAGE sql AS 'SELECT false';

DO $$
DECLARE had oid; role text;
BEGIN
    SELECT p.oid INTO had FROM pg_proc p
        WHERE p.pronamespace = '@schema@'::regnamespace AND p.proname = 'session_close'
            AND p.pronargs = 1;
    FOR role IN SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
            FROM pg_proc p, aclexplode(p.proacl) a
            WHERE p.oid = had AND a.privilege_type = 'EXECUTE' AND a.grantee <> p.proowner LOOP
        EXECUTE 'GRANT EXECUTE ON FUNCTION @schema@.session_close(bigint, boolean) TO ' || role;
    END LOOP;
END $$;

DROP FUNCTION IF EXISTS @schema@.session_close(bigint);
