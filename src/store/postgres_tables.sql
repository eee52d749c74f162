-- store/postgres_tables.sql - what a store in PostgreSQL is made of; postgres.sql explains it.

CREATE SCHEMA @schema@;

CREATE TABLE @schema@.meta (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL,       -- of this text
    floor bigint NOT NULL DEFAULT 0, -- at least every token of every name that was deleted
    home text NOT NULL DEFAULT '',  -- home() when tokens were last known to be the latest
    timeline text NOT NULL DEFAULT '',
    deletion bigint NOT NULL DEFAULT 0 -- the last transaction that deleted a record
);
INSERT INTO @schema@.meta (version) VALUES (3);

CREATE TABLE @schema@.record (
    key text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,        -- random, never 0; 1: not there yet
    floor bigint NOT NULL,          -- at least every token of this name
    sessions bigint[] NOT NULL,     -- whom the last decision asked about: the next one will, too
    bytes bytea NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE TABLE @schema@.session (
    id bigint PRIMARY KEY,
    ttl_ms bigint NOT NULL,
    beat bigint NOT NULL DEFAULT 1,
    expires bigint NOT NULL,        -- on clock(), at the last renewal
    noticed bigint,                 -- at which beat it was told to stop, until it has heard
    dead boolean NOT NULL DEFAULT false,
    died boolean NOT NULL DEFAULT false, -- it was closed at `expires`, and records name it
    suspected bigint                -- since when it has been seen silent for longer than its ttl
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE SEQUENCE @schema@.token CACHE 1;
CREATE SEQUENCE @schema@.change CACHE 1;
SELECT nextval('@schema@.change'); -- else the first change would look like none

-- What it is about, by kind:
--   0 the head     a clock, b floor
--   1 a token      a
--   2 done         op
--   3 not done     op; a version (0: no such record), b floor, c its index among the keys of op,
--                  bytes (NULL: as it was seen)
--   4 a session    op state (0 lives, 1 dead, 2 gone, 3 long silent, 4 gone at c); a id, b beat,
--                  c expires, d ttl
CREATE TYPE @schema@.answer AS (kind integer, op integer, a bigint, b bigint, c bigint, d bigint,
                                bytes bytea);
