-- store/postgres_revision.sql - what a store of version 3 has got since; postgres.sql follows.
--
-- Programs work with any revision of the version that they know, so nobody is refused for it: what
-- is missing is missed by those who know of it.  apply() has the number in its comment, which every
-- role may read.  Whoever asks the store waits for this.

-- Calls open the tables in orders of their own, those of older revisions too: so nobody waits here
-- for one table, with another one in hand, for longer than a call may have to.
DO $$
BEGIN
    SET LOCAL lock_timeout = '100ms';
    FOR i IN 1 .. 100 LOOP
        BEGIN
            LOCK TABLE @schema@.session, @schema@.record, @schema@.meta IN ACCESS EXCLUSIVE MODE;
            SET LOCAL lock_timeout = 0;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.05 * random());
        END;
    END LOOP;
    RAISE EXCEPTION 'somebody uses its tables all the time' USING ERRCODE = 'lock_not_available';
END $$;

-- Nobody takes back what a newer tenure has made meanwhile.
DO $$
BEGIN
    IF @revision@ < (SELECT max(substring(obj_description(p.oid, 'pg_proc')
                                          FROM 'revision ([0-9]+)')::integer) FROM pg_proc p
                     WHERE p.pronamespace = '@schema@'::regnamespace AND p.proname = 'apply') THEN
        RAISE EXCEPTION 'a newer tenure has upgraded the store meanwhile'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
END $$;

-- 2: a key that all who may use the store are told with each answer of apply(), and nobody else;
-- what they tell each other on one host is sealed with it (postgres_news.c).
ALTER TABLE @schema@.meta ADD COLUMN IF NOT EXISTS bell bytea NOT NULL
    DEFAULT decode(replace(gen_random_uuid()::text, '-', ''), 'hex');
