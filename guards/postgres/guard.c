#include "postgres/guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postgres/handle.h"
#include "store/postgres_libpq.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings" /* gcc and clang have no limit */
#include "postgres_schema_sql.h"
#pragma GCC diagnostic pop

static struct postgres_guard *guard_of(struct target *t)
{
    return (struct postgres_guard *)t; /* its first member */
}

static int no_guard(struct postgres_guard *g, const char *name, tenure_error *err)
{
    return fail(err, TENURE_INVALID, "no guard \"%s\" is installed in %s", name, g->database);
}

/* 1 when the first column of the only row is true, else 0 or a code. */
static int is_true(struct postgres_guard *g, const char *sql, tenure_error *err)
{
    PGresult *r;
    int code = postgres_ask(g, sql, NULL, 0, &r, "read the guard", err);
    if (code < 0)
        return code;
    code = pq.PQntuples(r) == 1 && strcmp(pq.PQgetvalue(r, 0, 0), "t") == 0;
    pq.PQclear(r);
    return code;
}

/* Whether the schema is there as this version makes it: 1, 0 when there is none, TENURE_FOREIGN
 * when there is another, or another code. */
static int schema_state(struct postgres_guard *g, tenure_error *err)
{
    int code = is_true(g, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = "
                          "'tenure_guard')", err);
    if (code <= 0)
        return code;
    code = is_true(g, "SELECT to_regclass('tenure_guard.made') IS NOT NULL AND "
                      "to_regprocedure('tenure_guard.fingerprint()') IS NOT NULL", err);
    if (code == 1)
        code = is_true(g, "SELECT version = 1 AND fingerprint = tenure_guard.fingerprint() "
                          "FROM tenure_guard.made", err);
    if (code == 0)
        return fail(err, TENURE_FOREIGN,
                    "the schema tenure_guard in %s is not the one that tenure " TENURE_VERSION
                    " makes", g->database);
    return code;
}

/* ---- installing and removing ----------------------------------------------------------------- */

/* One at a time changes the guards of a database. */
static int begin_change(struct postgres_guard *g, tenure_error *err)
{
    int code = postgres_begin(g, err);
    if (code == 0)
        code = postgres_ask(g, "SELECT pg_advisory_xact_lock(1952804469, 0)", NULL, 0, NULL,
                            "change the guards", err);
    return code < 0 ? code : schema_state(g, err);
}

static int install(struct target *t, const char *name, const char *const *tables,
                   size_t table_count, bool strict, tenure_error *err)
{
    struct postgres_guard *g = guard_of(t);
    int code = begin_change(g, err);
    if (code == 0)
        code = postgres_run(g, postgres_schema_sql, "install the guard", err);
    for (size_t i = 0; i < table_count && code >= 0; i++) {
        const char *text[] = {name, strict ? "true" : "false", tables[i]};
        code = postgres_ask(g, "SELECT tenure_guard.install($1, $2::boolean, $3)", text, 3, NULL,
                            "install the guard", err);
    }
    code = postgres_end(g, code, err);
    return code < 0 ? code : 0;
}

static int remove_guard(struct target *t, const char *name, tenure_error *err)
{
    struct postgres_guard *g = guard_of(t);
    int code = begin_change(g, err);
    if (code == 0)
        code = no_guard(g, name, err);
    if (code == 1)
        code = postgres_ask(g, "SELECT tenure_guard.remove($1)", &name, 1, NULL,
                            "remove the guard", err);
    if (code == 0)
        code = is_true(g, "SELECT NOT EXISTS (SELECT FROM tenure_guard.guard)", err);
    if (code == 1)
        code = postgres_run(g, "DROP SCHEMA tenure_guard CASCADE", "remove the guard", err);
    code = postgres_end(g, code, err);
    return code < 0 ? code : 0;
}

/* ---- announcing ------------------------------------------------------------------------------ */

/* Who kept the announcement waiting, for a message; "" when nobody does any more. */
static void find_writer(struct postgres_guard *g, char *buf, size_t bytes)
{
    PGresult *r;
    tenure_error ignored; /* the message goes without */
    buf[0] = '\0';
    if (postgres_ask(g,
                     "SELECT coalesce('process ' || pid || ' of the server', "
                     "'a prepared transaction') FROM pg_locks "
                     "WHERE locktype = 'advisory' AND classid = 1952804469 AND objsubid = 2 "
                     "AND objid <> 0 AND granted AND database = (SELECT oid FROM pg_database "
                     "WHERE datname = current_database()) LIMIT 1",
                     NULL, 0, &r, "look", &ignored) < 0)
        return;
    if (pq.PQntuples(r) == 1)
        (void)snprintf(buf, bytes, " (%s)", pq.PQgetvalue(r, 0, 0));
    pq.PQclear(r);
}

/* In this call the mark moves at once, and not with the commit. */
static int announce(struct target *t, const char *name, uint64_t token, tenure_error *err)
{
    struct postgres_guard *g = guard_of(t);
    char number[24], writer[80];
    const char *text[] = {name, number};
    (void)snprintf(number, sizeof number, "%" PRIu64, token);
    int code = postgres_begin(g, err);
    if (code < 0)
        return code;
    g->may_have_happened = true;
    code = postgres_ask(g, "SELECT tenure_guard.announce($1, $2::bigint)", text, 2, NULL,
                        "announce the token", err);
    code = postgres_end(g, code, err);
    if (code == TENURE_FOREIGN) /* there is no such schema, or function */
        return no_guard(g, name, err);
    if (code == TENURE_BUSY) {
        find_writer(g, writer, sizeof writer);
        return fail(err, code,
                    "cannot announce the token: a transaction of a former holder%s has been open "
                    "in %s for longer than %" PRId64 " ms", writer, g->database, g->patience_ms);
    }
    return code;
}

/* ---- checking -------------------------------------------------------------------------------- */

enum column { GUARD, MARK, STRICT, TABLE, STATE, MOVED_TO, REFUSED, VERDICT, TOKEN, AT_MS };

static const char *text_at(const PGresult *r, int row, int column)
{
    return pq.PQgetisnull(r, row, column) ? NULL : pq.PQgetvalue(r, row, column);
}

static int64_t number_at(const PGresult *r, int row, int column)
{
    const char *text = text_at(r, row, column);
    return text ? strtoll(text, NULL, 10) : 0;
}

static enum target_state state_of(const char *text)
{
    enum target_state state = TARGET_INTACT;
    while (state < TARGET_MOVED && strcmp(target_state_text(state), text) != 0)
        state++;
    return state;
}

static void report_row(const PGresult *r, int row, target_finding_fn *fn, void *arg)
{
    struct target_refusals refusals = {
        .count = (uint64_t)number_at(r, row, REFUSED),
        .verdict = text_at(r, row, VERDICT),
        .token = (uint64_t)number_at(r, row, TOKEN),
        .at_ms = number_at(r, row, AT_MS),
    };
    struct target_finding f = {
        .guard = text_at(r, row, GUARD),
        .mark = (uint64_t)number_at(r, row, MARK),
        .strict = strcmp(text_at(r, row, STRICT), "t") == 0,
        .refusals = &refusals,
        .table = text_at(r, row, TABLE),
        .moved_to = text_at(r, row, MOVED_TO),
        .state = pq.PQgetisnull(r, row, MARK) ? TARGET_ALTERED : state_of(text_at(r, row, STATE)),
    };
    fn(arg, &f);
}

static int report_all(struct postgres_guard *g, const char *name, target_finding_fn *fn, void *arg,
                      tenure_error *err)
{
    PGresult *r;
    int code = schema_state(g, err);
    if (code == 0)
        return name ? no_guard(g, name, err) : 0;
    if (code < 0)
        return code;
    code = postgres_ask(g,
                        "SELECT guard, mark, is_strict, table_name, state, moved_to, refused, "
                        "refused_verdict, refused_token, "
                        "floor(extract(epoch FROM refused_at) * 1000)::bigint "
                        "FROM tenure_guard.state WHERE $1::text IS NULL OR guard = $1 "
                        "ORDER BY guard, table_name",
                        &name, 1, &r, "read the guards", err);
    if (code < 0)
        return code;
    int rows = pq.PQntuples(r);
    for (int row = 0; row < rows; row++)
        report_row(r, row, fn, arg);
    pq.PQclear(r);
    return rows == 0 && name ? no_guard(g, name, err) : 0;
}

static int check(struct target *t, const char *name, target_finding_fn *fn, void *arg,
                 tenure_error *err)
{
    struct postgres_guard *g = guard_of(t);
    int code = postgres_begin(g, err);
    if (code < 0)
        return code;
    return postgres_end(g, report_all(g, name, fn, arg, err), err);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void close_target(struct target *t)
{
    struct postgres_guard *g = guard_of(t);
    postgres_disconnect(g);
    free(g->database);
    free(g);
}

static int learn_name(struct postgres_guard *g, tenure_error *err)
{
    PGresult *r;
    int code = postgres_ask(g, "SELECT current_database()", NULL, 0, &r, "ask for the name", err);
    if (code < 0)
        return code;
    free(g->database);
    g->database = strdup(pq.PQgetvalue(r, 0, 0));
    pq.PQclear(r);
    return g->database ? 0 : fail(err, TENURE_NO_MEMORY, "out of memory");
}

int postgres_guard_open(const char *url, int64_t patience_ms, struct target **ret,
                        tenure_error *err)
{
    static const struct target_calls calls = {true, close_target, install, announce, check,
                                              remove_guard};
    struct postgres_guard *g = calloc(1, sizeof *g);
    if (g == NULL || (g->database = strdup("the database")) == NULL) {
        free(g);
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    }
    g->target.calls = &calls;
    g->patience_ms = patience_ms;
    int code = postgres_connect(g, url, err);
    if (code == 0)
        code = learn_name(g, err);
    if (code < 0)
        close_target(&g->target);
    else
        *ret = &g->target;
    return code;
}
