-- store/postgres_lock.sql - before a store that is there is changed: whoever asks it waits.
--
-- Calls open the tables in orders of their own, those of older revisions too: so nobody waits here
-- for one table, with another one in hand, for longer than a call may have to.

DO $$
BEGIN
    SET LOCAL lock_timeout = '100ms';
    FOR i IN 1 .. 64 LOOP -- some eight seconds
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
