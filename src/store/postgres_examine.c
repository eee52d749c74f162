/* store/postgres_examine.c - what is unsafe about this server, for `tenure doctor`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/postgres_engine.h"

typedef void finding_fn(void *arg, bool fine, const char *text);

static const char question[] =
    "SELECT current_setting('server_version'), current_setting('fsync'),"
    " current_setting('full_page_writes'), current_setting('synchronous_commit'),"
    " current_setting('synchronous_standby_names'),"
    " pg_is_in_recovery()::text, (SELECT count(*)::text FROM pg_stat_replication),"
    " current_setting('statement_timeout'), current_setting('server_version_num')";

static const char *field(const PGresult *r, int column)
{
    return pq.PQgetvalue(r, 0, column);
}

static void examine_durability(const PGresult *r, finding_fn *fn, void *arg)
{
    char text[240];
    bool fsync = strcmp(field(r, 1), "on") == 0 && strcmp(field(r, 2), "on") == 0;
    bool waits = strcmp(field(r, 3), "off") != 0;
    snprintf(text, sizeof text, "fsync is %s, full_page_writes is %s%s", field(r, 1), field(r, 2),
             fsync ? "" : ": a crash of the server's machine may lose or repeat grants");
    fn(arg, fsync, text);
    snprintf(text, sizeof text, "synchronous_commit is %s%s", field(r, 3),
             waits ? "" : ": a crash of the server may lose or repeat the last grants");
    fn(arg, waits, text);
    bool replicas = strcmp(field(r, 6), "0") != 0, none = *field(r, 4) == '\0';
    if (!replicas && none)
        return;
    snprintf(text, sizeof text, "replication is %s%s", none ? "asynchronous" : "synchronous",
             none ? ": a fail-over may lose the last grants; tokens stay ahead of them" : "");
    fn(arg, !none, text);
}

static void examine_rest(const struct pg_store *s, const PGresult *r, finding_fn *fn, void *arg)
{
    char text[240];
    bool new_enough = atoi(field(r, 8)) >= 130000;
    snprintf(text, sizeof text, "PostgreSQL %s%s", field(r, 0),
             new_enough ? "" : ": tenure is tested with version 13 and later");
    fn(arg, new_enough, text);
    if (strcmp(field(r, 7), "0") != 0) {
        snprintf(text, sizeof text, "statement_timeout is %s: a slower server looks unreachable",
                 field(r, 7));
        fn(arg, true, text);
    }
    bool remote = pq.PQhost(s->line.conn) && *pq.PQhost(s->line.conn) != '/';
    snprintf(text, sizeof text, "the connection is %s",
             pq.PQsslInUse(s->line.conn) ? "encrypted"
             : remote               ? "not encrypted (sslmode=verify-full makes it so)"
                                    : "local");
    fn(arg, pq.PQsslInUse(s->line.conn) || !remote, text);
    snprintf(text, sizeof text,
             "the server's clock was %lld ms off ours when last compared; steps of it are noticed, "
             "but leases (tenure lease) follow it",
             (long long)instant_diff(INSTANT(clock_wall_ms()), clock_guess(s)).ms);
    fn(arg, true, text);
}

/* What a role lacks that may be let in, and what stands in between. */
static void examine_way(const struct pg_store *s, finding_fn *fn, void *arg)
{
    char text[600];
    snprintf(text, sizeof text,
             "SELECT count(*)::text, current_user::text FROM pg_proc p JOIN pg_namespace n ON "
             "n.oid = p.pronamespace WHERE n.nspname = '%s' AND proname IN ('hello', 'apply', "
             "'apply_together', 'hold', 'scan', 'session_open', 'session_renew', 'session_close', "
             "'ring', 'poll') AND NOT has_function_privilege(p.oid, 'EXECUTE')", s->schema);
    PGresult *r = pq.PQexec(s->line.conn, text);
    if (pq.PQresultStatus(r) == PGRES_TUPLES_OK && strcmp(field(r, 0), "0") != 0) {
        snprintf(text, sizeof text, "%s may not execute %s of the store's functions: see the GRANT "
                                    "in docs/stores.md", field(r, 1), field(r, 0));
        fn(arg, false, text);
    }
    pq.PQclear(r);
    pg_revision_text(s, text, sizeof text);
    r = pq.PQexec(s->line.conn, text);
    if (pq.PQresultStatus(r) == PGRES_TUPLES_OK && atoi(field(r, 0)) < PG_REVISION) {
        snprintf(text, sizeof text, "the store's functions have revision %s, and this tenure knows "
                                    "%d: its owner should run `tenure store upgrade`", field(r, 0),
                 PG_REVISION);
        fn(arg, false, text);
    }
    pq.PQclear(r);
    if (s->pooled)
        fn(arg, true, "a pooler stands in between: bells are not heard through it, so waiters look "
                      "four times a second");
}

/* Waits, which only this call may, for at most `patience`. */
void pg_examine(struct store *store, void (*fn)(void *arg, bool fine, const char *text), void *arg)
{
    struct pg_store *s = pg_of(store);
    if (!s->greeted || s->line.busy) {
        fn(arg, false, s->greeted ? "the server has too much to do to be examined"
                                  : "the server cannot be reached");
        return;
    }
    pq.PQsetnonblocking(s->line.conn, 0);
    PGresult *r = pq.PQexec(s->line.conn, question);
    if (pq.PQresultStatus(r) == PGRES_TUPLES_OK && pq.PQntuples(r) == 1) {
        examine_durability(r, fn, arg);
        examine_rest(s, r, fn, arg);
        examine_way(s, fn, arg);
    } else {
        tenure_error err;
        pg_error(s, r, &err);
        fn(arg, false, err.text);
    }
    pq.PQclear(r);
    pq.PQsetnonblocking(s->line.conn, 1);
}
