/* store/postgres_schema.c - what a URL says, and the calls of operators: init and raise.
 *
 * postgres://USER@HOST:PORT/DATABASE?schema=NAME&listen=off&doorbell=off&...: `schema` (default:
 * tenure), `listen` and `doorbell` are ours, everything else is libpq's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/engines.h"
#include "store/postgres_engine.h"

/* C11 asks compilers for 4095 bytes of a string; ours take more. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "postgres_lock_sql.h"
#include "postgres_revision_sql.h"
#include "postgres_sessions_sql.h"
#include "postgres_sql.h"
#include "postgres_tables_sql.h"
#include "postgres_upgrade_sql.h"
#pragma GCC diagnostic pop

#define CONNECT_S "10"

/* ---- the URL -------------------------------------------------------------------------------- */

static int take_schema(struct pg_store *s, struct text value, tenure_error *err)
{
    bool fine = value.len > 0 && value.len < 32;
    for (size_t i = 0; fine && i < value.len; i++) {
        char c = value.at[i];
        fine = (c >= 'a' && c <= 'z') || c == '_' || (i > 0 && c >= '0' && c <= '9');
    }
    if (!fine || (value.len >= 3 && memcmp(value.at, "pg_", 3) == 0))
        return fail(err, TENURE_INVALID, "schema=%.*s: a schema is 1 to 31 lower-case letters, "
                                         "digits and \"_\", and does not begin with \"pg_\"",
                    (int)(value.len > 60 ? 60 : value.len), value.len ? value.at : "");
    memcpy(s->schema, value.at, value.len);
    s->schema[value.len] = '\0';
    return 0;
}

static int take_switch(struct text key, struct text value, bool *ret, tenure_error *err)
{
    *ret = text_equal(value, text_of("on"));
    if (*ret || text_equal(value, text_of("off")))
        return 0;
    return fail(err, TENURE_INVALID, "%.*s=%.*s: it is on or off", (int)key.len, key.at,
                (int)(value.len > 60 ? 60 : value.len), value.len ? value.at : "");
}

static int take_option(struct pg_store *s, struct text key, struct text value, char *rest,
                       tenure_error *err)
{
    bool on = false;
    if (text_equal(key, text_of("schema")))
        return take_schema(s, value, err);
    if (text_equal(key, text_of("listen"))) {
        int code = take_switch(key, value, &on, err);
        s->listen = on ? LISTEN_ON : LISTEN_OFF;
        return code;
    }
    if (text_equal(key, text_of("doorbell"))) {
        int code = take_switch(key, value, &on, err);
        s->neighbours.off = !on;
        return code;
    }
    size_t used = strlen(rest); /* has room for the whole query */
    rest[used] = used == 0 ? '?' : '&';
    used++;
    memcpy(rest + used, key.at, key.len);
    used += key.len;
    rest[used++] = '=';
    if (value.len > 0)
        memcpy(rest + used, value.at, value.len);
    rest[used + value.len] = '\0';
    return 0;
}

static int take_conninfo(struct pg_store *s, tenure_error *err)
{
    char *why = NULL;
    PQconninfoOption *parsed = pq.PQconninfoParse(s->conninfo, &why);
    if (!parsed) {
        char shown[200];
        url_show(text_of(s->url), shown, sizeof shown);
        if (!strstr(shown, "***")) /* what libpq says may quote a password */
            snprintf(shown, sizeof shown, "%s", why ? why : "out of memory");
        fail(err, TENURE_INVALID, "not a PostgreSQL URL: %.*s", (int)strcspn(shown, "\n"), shown);
        pq.PQfreemem(why);
        return TENURE_INVALID;
    }
    int rc = pg_hosts_take(&s->hosts, parsed);
    pq.PQconninfoFree(parsed);
    return rc < 0 ? fail(err, TENURE_NO_MEMORY, "out of memory") : 0;
}

int pg_parse(const struct url *url, struct pg_store *s, tenure_error *err)
{
    struct text query = url->query, key, value;
    char *rest = calloc(1, 2 * query.len + 8); /* an option that has no "=" gets one */
    int code = rest ? pq_load(err) : fail(err, TENURE_NO_MEMORY, "out of memory");
    memcpy(s->schema, "tenure", sizeof "tenure");
    if (code == 0 && (url->body.len < 2 || memcmp(url->body.at, "//", 2) != 0))
        code = fail(err, TENURE_INVALID, "write postgres://USER@HOST:PORT/DATABASE");
    while (code == 0 && url_option_next(&query, &key, &value))
        code = take_option(s, key, value, rest, err);
    if (code == 0) {
        int n = (int)url->body.len;
        if (asprintf(&s->conninfo, "postgresql:%.*s%s", n, url->body.at, rest) < 0)
            s->conninfo = NULL; /* asprintf() leaves it undefined */
        if (asprintf(&s->url, "postgres:%.*s%s%s%.*s", n, url->body.at,
                     url->query.len ? "?" : "", "", (int)url->query.len,
                     url->query.len ? url->query.at : "") < 0)
            s->url = NULL;
        if (asprintf(&s->end_channel, "%s_end", s->schema) < 0)
            s->end_channel = NULL;
        if (!s->conninfo || !s->url || !s->end_channel)
            code = fail(err, TENURE_NO_MEMORY, "out of memory");
    }
    free(rest);
    return code < 0 ? code : take_conninfo(s, err);
}

void pg_parsed_free(struct pg_store *s)
{
    free(s->end_channel);
    free(s->conninfo);
    free(s->url);
    pg_hosts_free(&s->hosts);
}

/* ---- the schema ----------------------------------------------------------------------------- */

int pg_version_error(const struct pg_store *s, int64_t version, tenure_error *err)
{
    if (version >= 1 && version < PG_SCHEMA_VERSION)
        return fail(err, TENURE_FOREIGN, "the schema %s has version %lld; this tenure needs "
                                         "version %d: run `tenure store upgrade`",
                    s->schema, (long long)version, PG_SCHEMA_VERSION);
    return fail(err, TENURE_FOREIGN, "the schema %s has version %lld%s; this tenure knows version "
                                     "%d", s->schema, (long long)version,
                version > PG_SCHEMA_VERSION ? ", which a newer tenure made" : "",
                PG_SCHEMA_VERSION);
}

/* ---- the operators' calls, which may wait --------------------------------------------------- */

static int connect_wait(const struct pg_store *s, PGconn **ret, tenure_error *err)
{
    static const char *const keys[] = {"fallback_application_name", "connect_timeout",
                                       "target_session_attrs", "dbname", NULL};
    const char *const values[] = {"tenure", CONNECT_S, "read-write", s->conninfo, NULL};
    *ret = pq.PQconnectdbParams(keys, values, 1);
    if (pq.PQstatus(*ret) == CONNECTION_OK) {
        pq.PQsetNoticeReceiver(*ret, pg_no_notice, NULL);
        return 0;
    }
    postgres_connect_error(*ret, err);
    pq.PQfinish(*ret);
    return err->code;
}

static int run(const struct pg_store *s, PGconn *conn, const char *text, tenure_error *err)
{
    PGresult *r = pq.PQexec(conn, text);
    ExecStatusType status = pq.PQresultStatus(r);
    int code = 0;
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        pg_error(s, r, err);
        code = err->code;
    }
    pq.PQclear(r);
    return code;
}

/* The first column of the only row, or `none` when there is none. */
static int ask(const struct pg_store *s, PGconn *conn, const char *text, int64_t none, int64_t *ret,
               tenure_error *err)
{
    PGresult *r = pq.PQexec(conn, text);
    int code = 0;
    if (pq.PQresultStatus(r) != PGRES_TUPLES_OK) {
        pg_error(s, r, err);
        code = err->code;
    } else if (pq.PQntuples(r) == 1 && !pq.PQgetisnull(r, 0, 0)) {
        *ret = strtoll(pq.PQgetvalue(r, 0, 0), NULL, 10);
    } else {
        *ret = none;
    }
    pq.PQclear(r);
    return code;
}

/* Adds a text for this schema and revision. */
static void put_text(struct bytes *out, const struct pg_store *s, const char *text)
{
    static const char schema[] = "@schema@", revision[] = "@revision@";
    char number[12];
    const char *next;
    int digits = snprintf(number, sizeof number, "%d", PG_REVISION);
    for (; (next = strchr(text, '@')) != NULL;) {
        bytes_put(out, text, (size_t)(next - text));
        if (strncmp(next, schema, sizeof schema - 1) == 0) {
            bytes_put(out, s->schema, strlen(s->schema));
            text = next + sizeof schema - 1;
        } else if (strncmp(next, revision, sizeof revision - 1) == 0) {
            bytes_put(out, number, (size_t)digits);
            text = next + sizeof revision - 1;
        } else {
            bytes_put(out, next, 1);
            text = next + 1;
        }
    }
    bytes_put(out, text, strlen(text));
}

/* Makes the calls in one transaction, between what is to be done to the tables and a last text. */
static int make_calls(const struct pg_store *s, PGconn *conn, const char *lock,
                      const char *tables, const char *last, tenure_error *err)
{
    struct bytes whole = {0};
    put_text(&whole, s, "BEGIN;");
    put_text(&whole, s, lock);
    put_text(&whole, s, tables);
    put_text(&whole, s, postgres_revision_sql);
    put_text(&whole, s, postgres_sessions_sql);
    put_text(&whole, s, postgres_sql);
    put_text(&whole, s, last);
    bytes_put(&whole, "COMMIT", sizeof "COMMIT");
    int code = whole.failed ? fail(err, TENURE_NO_MEMORY, "out of memory")
                            : run(s, conn, whole.at, err);
    bytes_free(&whole);
    return code;
}

static int create(const struct pg_store *s, PGconn *conn, tenure_error *err)
{
    return make_calls(s, conn, "", postgres_tables_sql,
                      "UPDATE @schema@.meta SET home = @schema@.home(),"
                      " timeline = @schema@.timeline();", err);
}

static int check_version(const struct pg_store *s, PGconn *conn, int64_t *ret, tenure_error *err)
{
    char text[120];
    snprintf(text, sizeof text, "SELECT version FROM %s.meta", s->schema);
    int code = ask(s, conn, text, 0, ret, err);
    if (code == TENURE_FOREIGN)
        return fail(err, code,
                    "the schema %s is there, but is no store: give another one with ?schema=NAME",
                    s->schema);
    if (code < 0)
        return code; /* as for a role without rights on it */
    return *ret == PG_SCHEMA_VERSION ? 0 : pg_version_error(s, *ret, err);
}

void pg_revision_text(const struct pg_store *s, char *buf, size_t cap)
{
    snprintf(buf, cap, "SELECT coalesce(max(substring(obj_description(p.oid, 'pg_proc') "
                       "FROM 'revision ([0-9]+)')::integer), 1)::text "
                       "FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace "
                       "WHERE n.nspname = '%s' AND p.proname = 'apply'", s->schema);
}

/* Brings it forward, or says why not. */
static int upgrade(const struct pg_store *s, PGconn *conn, tenure_error *err)
{
    char text[400];
    int64_t version = 0, revision = 0;
    pg_revision_text(s, text, sizeof text);
    int code = ask(s, conn, text, 0, &revision, err);
    if (code < 0)
        return code;
    code = check_version(s, conn, &version, err);
    if (code == 0 && revision < PG_REVISION)
        return make_calls(s, conn, postgres_lock_sql, "", "", err);
    if (code == TENURE_DENIED && revision >= PG_REVISION)
        return 0; /* who may use it and not read its tables: it has all that we could bring */
    if (version < 1 || version >= PG_SCHEMA_VERSION)
        return code;
    return make_calls(s, conn, postgres_lock_sql, postgres_upgrade_sql, "", err);
}

/* Whether the schema is there. */
static int exists(const struct pg_store *s, PGconn *conn, bool *ret, tenure_error *err)
{
    char text[120];
    int64_t n = 0;
    snprintf(text, sizeof text, "SELECT count(*) FROM pg_namespace WHERE nspname = '%s'",
             s->schema);
    int code = ask(s, conn, text, 0, &n, err);
    *ret = n > 0;
    return code;
}

int postgres_store_init(const struct url *url, tenure_error *err)
{
    struct pg_store s = {0};
    PGconn *conn = NULL;
    bool there = false;
    int code = pg_parse(url, &s, err);
    if (code == 0)
        code = connect_wait(&s, &conn, err);
    if (code == 0) {
        code = exists(&s, conn, &there, err);
        if (code == 0)
            code = there ? upgrade(&s, conn, err) : create(&s, conn, err);
        pq.PQfinish(conn);
    }
    pg_parsed_free(&s);
    return code;
}

static int raise_inside(const struct pg_store *s, PGconn *conn, uint64_t above, tenure_error *err)
{
    char text[200];
    int64_t alive = 0, version = 0;
    int code = check_version(s, conn, &version, err);
    if (code < 0)
        return code;
    snprintf(text, sizeof text, "SELECT count(*) FROM %s.session WHERE NOT dead AND expires > "
                                "%s.clock()", s->schema, s->schema);
    code = ask(s, conn, text, 0, &alive, err);
    if (code == 0 && alive > 0)
        code = fail(err, TENURE_BUSY, "%lld sessions of this store run: stop what uses it first",
                    (long long)alive);
    snprintf(text, sizeof text, "SELECT %s.raise_tokens(%llu)", s->schema,
             (unsigned long long)above);
    return code < 0 ? code : run(s, conn, text, err);
}

int postgres_store_raise(const struct url *url, uint64_t above, tenure_error *err)
{
    struct pg_store s = {0};
    PGconn *conn = NULL;
    int code = pg_parse(url, &s, err);
    if (code == 0)
        code = connect_wait(&s, &conn, err);
    if (code == 0) {
        code = raise_inside(&s, conn, above, err);
        pq.PQfinish(conn);
    }
    pg_parsed_free(&s);
    return code;
}
