#include "postgres/handle.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "os/clock.h"
#include "store/postgres_code.h"
#include "store/postgres_libpq.h"

#define ANSWER_MS 500 /* for the way of the server's answer, on top of the patience */

/* ---- errors --------------------------------------------------------------------------------- */

/* What our own SQLSTATEs mean, and those that mean something else here than in the store. */
static const struct {
    const char *state;
    int code;
} meanings[] = {
    {"TNG01", TENURE_NOT_OWNED}, {"TNG05", TENURE_CORRUPT}, {"TNG10", TENURE_INVALID},
    {"TNG11", TENURE_CONFLICT},  {"42P06", TENURE_CONFLICT},
};

static int code_of_state(const char *state)
{
    int code;
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (strcmp(state, meanings[i].state) == 0)
            return meanings[i].code;
    }
    (void)postgres_code(state, &code); /* how a store goes on is not asked here */
    return code;
}

/* The connection is gone, or the server silent. */
static int fail_silent(struct postgres_guard *g, const char *doing, const char *why,
                       tenure_error *err)
{
    char text[160];
    postgres_first_line(why, text, sizeof text);
    return fail(err, g->may_have_happened ? TENURE_UNSURE : TENURE_UNREACHABLE,
                "cannot %s in %s: %s", doing, g->database,
                text[0] ? text : "the connection was lost");
}

static int fail_result(struct postgres_guard *g, const PGresult *r, const char *doing,
                       tenure_error *err)
{
    const char *state = pq.PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *text = pq.PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    if (state == NULL || text == NULL)
        return fail_silent(g, doing, pq.PQresultErrorMessage(r), err);
    int code = code_of_state(state);
    if (strncmp(state, "TNG", 3) == 0) /* our own words */
        return fail(err, code, "%s", text);
    if (strcmp(state, "55P03") == 0)
        return fail(err, code,
                    "cannot %s: another connection kept its transaction on %s open for longer "
                    "than %" PRId64 " ms", doing, g->database, g->patience_ms);
    return fail(err, code, "cannot %s in %s: %s (%s)%s", doing, g->database, text, state,
                postgres_is_rights(state) ? "; guard-postgres.md says what a role needs" : "");
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Waits for the socket: 1, or 0 when the limit is reached. */
static int wait_socket(struct postgres_guard *g, short events, struct instant limit)
{
    for (;;) {
        struct pollfd p = {.fd = pq.PQsocket(g->pq), .events = events};
        int64_t left = instant_diff(clock_now(), limit).ms;
        if (left <= 0)
            return 0;
        int n = poll(&p, 1, left > 3600000 ? 3600000 : (int)left);
        if (n > 0)
            return 1;
        if (n < 0 && errno != EINTR && errno != EAGAIN && errno != ENOMEM)
            return 0;
    }
}

static void no_notice(void *arg, const PGresult *r)
{
    (void)arg; /* "trigger does not exist, skipping" is nobody's business */
    (void)r;
}

static int fail_connect(const struct postgres_guard *g, tenure_error *err)
{
    postgres_connect_error(g->pq, err);
    return err->code;
}

/* A URL that libpq cannot read never will do. */
static int check_url(const char *url, tenure_error *err)
{
    char *why = NULL, text[160];
    PQconninfoOption *options = pq.PQconninfoParse(url, &why);
    if (options != NULL) {
        pq.PQconninfoFree(options);
        return 0;
    }
    postgres_first_line(why ? why : "out of memory", text, sizeof text);
    pq.PQfreemem(why);
    return fail(err, TENURE_INVALID, "PostgreSQL: %s", text);
}

int postgres_connect(struct postgres_guard *g, const char *url, tenure_error *err)
{
    static const char *const keys[] = {"fallback_application_name", "target_session_attrs",
                                       "dbname", NULL};
    const char *const values[] = {"tenure guard", "read-write", url, NULL};
    int code = pq_load(err);
    if (code == 0)
        code = check_url(url, err);
    if (code < 0)
        return code;
    struct instant limit = instant_add(clock_now(), SPAN(g->patience_ms));
    g->pq = pq.PQconnectStartParams(keys, values, 1);
    if (g->pq == NULL || pq.PQstatus(g->pq) == CONNECTION_BAD)
        return fail_connect(g, err);
    pq.PQsetNoticeReceiver(g->pq, no_notice, NULL);
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next == PGRES_POLLING_WRITING || next == PGRES_POLLING_READING) {
        short events = next == PGRES_POLLING_WRITING ? POLLOUT : POLLIN;
        if (wait_socket(g, events, limit) == 0)
            return fail(err, TENURE_UNREACHABLE,
                        "cannot connect: the server did not let us in within %" PRId64 " ms",
                        g->patience_ms);
        next = pq.PQconnectPoll(g->pq);
    }
    return next == PGRES_POLLING_OK ? 0 : fail_connect(g, err);
}

void postgres_disconnect(struct postgres_guard *g)
{
    if (g->pq != NULL)
        pq.PQfinish(g->pq);
    g->pq = NULL;
}

/* ---- statements ----------------------------------------------------------------------------- */

/* Takes all results of what was sent; *ret is the first that failed, else the last. */
static int take_results(struct postgres_guard *g, PGresult **ret, const char *doing,
                        tenure_error *err)
{
    struct instant limit = instant_add(clock_now(), SPAN(g->patience_ms + ANSWER_MS));
    PGresult *kept = NULL, *r;
    bool failed = false;
    do {
        while (pq.PQisBusy(g->pq)) {
            if (wait_socket(g, POLLIN, limit) == 0) {
                pq.PQclear(kept);
                return fail_silent(g, doing, "the server did not answer in time", err);
            }
            if (!pq.PQconsumeInput(g->pq)) {
                pq.PQclear(kept);
                return fail_silent(g, doing, pq.PQerrorMessage(g->pq), err);
            }
        }
        r = pq.PQgetResult(g->pq);
        if (r != NULL && failed) {
            pq.PQclear(r);
        } else if (r != NULL) {
            pq.PQclear(kept);
            kept = r;
            ExecStatusType status = pq.PQresultStatus(r);
            failed = status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK;
        }
    } while (r != NULL);
    if (kept == NULL)
        return fail_silent(g, doing, pq.PQerrorMessage(g->pq), err);
    if (failed) {
        int code = fail_result(g, kept, doing, err);
        pq.PQclear(kept);
        return code;
    }
    *ret = kept;
    return 0;
}

int postgres_ask(struct postgres_guard *g, const char *sql, const char *const *text, int count,
                 PGresult **ret, const char *doing, tenure_error *err)
{
    PGresult *r = NULL;
    if (!pq.PQsendQueryParams(g->pq, sql, count, NULL, text, NULL, NULL, 0))
        return fail_silent(g, doing, pq.PQerrorMessage(g->pq), err);
    int code = take_results(g, &r, doing, err);
    if (code == 0 && ret != NULL)
        *ret = r;
    else
        pq.PQclear(r); /* NULL is fine */
    return code;
}

int postgres_run(struct postgres_guard *g, const char *script, const char *doing,
                 tenure_error *err)
{
    PGresult *r = NULL;
    if (!pq.PQsendQuery(g->pq, script))
        return fail_silent(g, doing, pq.PQerrorMessage(g->pq), err);
    int code = take_results(g, &r, doing, err);
    pq.PQclear(r); /* NULL is fine */
    return code;
}

int postgres_begin(struct postgres_guard *g, tenure_error *err)
{
    char script[80];
    g->may_have_happened = false;
    (void)snprintf(script, sizeof script, "BEGIN; SET LOCAL lock_timeout = %" PRId64,
                   g->patience_ms);
    return postgres_run(g, script, "begin", err);
}

int postgres_end(struct postgres_guard *g, int code, tenure_error *err)
{
    tenure_error ignored; /* what was not committed is rolled back, at the latest when we close */
    if (code < 0) {
        if (pq.PQstatus(g->pq) == CONNECTION_OK &&
            pq.PQtransactionStatus(g->pq) != PQTRANS_ACTIVE)
            (void)postgres_run(g, "ROLLBACK", "roll back", &ignored);
        return code;
    }
    g->may_have_happened = true;
    int end = postgres_run(g, "COMMIT", "commit", err);
    return end < 0 ? end : code;
}
