-- store/postgres_revision.sql - what a store of version 3 has got since; postgres.sql follows.
--
-- Programs work with any revision of the version that they know, so nobody is refused for it: what
-- is missing is missed by those who know of it.  apply() has the number in its comment, which every
-- role may read.

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
