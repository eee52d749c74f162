/* store/postgres_request.c - what the line is used for: one request at a time. */
#include <stdio.h>
#include <string.h>

#include "store/postgres_engine.h"

/* Behind "SELECT * FROM schema.", or alone when it begins with a capital. */
static const char *const statements[] = {
    [REQUEST_BEGIN] = "BEGIN",
    [REQUEST_HOLD] = "hold($1,$2)",
    [REQUEST_COMMIT] = "COMMIT",
    [REQUEST_ROLLBACK] = "ROLLBACK",
    [REQUEST_HELLO] = "hello($1)",
    [REQUEST_APPLY] = "apply($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15)",
    [REQUEST_TOGETHER] = "apply_together($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15)",
    [REQUEST_OPEN] = "session_open($1,$2)",
    [REQUEST_RENEW] = "session_renew($1,$2,$3)",
    [REQUEST_CLOSE] = "session_close($1,$2)",
    [REQUEST_SCAN] = "scan($1,$2,$3,$4)",
    [REQUEST_RING] = "ring($1,$2)",
    [REQUEST_POLL] = "poll($1)",
};

static void out_of_memory(struct pg_store *s)
{
    while (s->flight) {
        struct work *next = s->flight->next;
        work_finish(s, s->flight, TENURE_NO_MEMORY);
        s->flight = next;
    }
    s->request = REQUEST_NONE;
}

void request_text(const struct pg_store *s, enum request request, char *buf, size_t cap)
{
    const char *text = statements[request];
    if (text[0] >= 'A' && text[0] <= 'Z')
        snprintf(buf, cap, "%s", text);
    else
        snprintf(buf, cap, "SELECT * FROM %s.%s", s->schema, text);
}

void request_send(struct pg_store *s, enum request request, struct work *flight)
{
    s->request = request;
    s->flight = flight;
    if (params_failed(&s->params))
        out_of_memory(s);
    else
        link_send(s);
}

/* ---- choosing ------------------------------------------------------------------------------- */

static struct work *take_first(struct pg_store *s)
{
    struct work *w = s->queue;
    s->queue = w->next;
    if (!s->queue)
        s->queue_end = &s->queue;
    w->next = NULL;
    return w;
}

/* Puts it into the batch in the order of keys, which is the order of locks; false when one with the
 * same key is there. */
static bool batch_add(struct work **batch, struct work *w)
{
    const char *key = w->key[0];
    int order = 1;
    while (*batch && (order = strcmp((*batch)->key[0], key)) < 0)
        batch = &(*batch)->next;
    if (*batch && order == 0)
        return false;
    w->next = *batch;
    *batch = w;
    return true;
}

/* Takes updates of one key each, up to a batch of them. */
static struct work *take_batch(struct pg_store *s)
{
    struct work *batch = NULL, **at = &s->queue;
    int count = 0;
    while (*at && count < PG_BATCH_MAX) {
        struct work *w = *at;
        if (w->kind != WORK_UPDATE || !w->op || w->count != 1 ||
            w->lost >= PG_HOLD_AFTER) {
            at = &w->next;
            continue;
        }
        struct work *next = w->next;
        if (!batch_add(&batch, w)) {
            at = &w->next;
            continue;
        }
        *at = next;
        count++;
    }
    for (at = &s->queue; *at;)
        at = &(*at)->next;
    s->queue_end = at;
    return batch;
}

static void drop_abandoned(struct pg_store *s)
{
    while (s->queue && !s->queue->op && s->queue->kind != WORK_CLOSE)
        work_free(take_first(s));
}

static void next_work(struct pg_store *s)
{
    struct work *w = s->queue;
    if (w->kind == WORK_UPDATE && w->lost >= PG_HOLD_AFTER) {
        hold_begin(s, take_first(s));
        return;
    }
    if (w->kind == WORK_UPDATE && w->count == 1) {
        struct work *batch = take_batch(s);
        update_batch(s, batch);
        request_send(s, REQUEST_APPLY, batch);
        return;
    }
    w = take_first(s);
    switch (w->kind) {
    case WORK_UPDATE:
        update_batch(s, w);
        request_send(s, REQUEST_TOGETHER, w);
        break;
    case WORK_READ:
        read_request(s, w);
        request_send(s, REQUEST_SCAN, w);
        break;
    default:
        session_request(s, w);
        request_send(s, w->kind == WORK_OPEN    ? REQUEST_OPEN
                : w->kind == WORK_RENEW ? REQUEST_RENEW
                                        : REQUEST_CLOSE, w);
        break;
    }
}

void request_next(struct pg_store *s)
{
    link_start(s, &s->line);
    if (s->line.state != LINK_UP || s->line.busy)
        return;
    drop_abandoned(s);
    if (pq.PQtransactionStatus(s->line.conn) != PQTRANS_IDLE) {
        params_clear(&s->params);
        request_send(s, REQUEST_ROLLBACK, NULL);
    } else if (!s->greeted) {
        params_clear(&s->params);
        params_i64(&s->params, (int64_t)s->high);
        request_send(s, REQUEST_HELLO, NULL);
    } else if (s->queue && s->queue->kind == WORK_RENEW) {
        next_work(s);
    } else if (s->rings > 0) {
        ring_request(s);
        request_send(s, REQUEST_RING, NULL);
    } else if (s->queue) {
        next_work(s);
    } else if (instant_reached(clock_now(), poll_due(s))) {
        poll_request(s);
        request_send(s, REQUEST_POLL, NULL);
    }
}

/* ---- answers -------------------------------------------------------------------------------- */

static void greeted(struct pg_store *s, const PGresult *r)
{
    int32_t version = answer_i32(r, 0, 0);
    tenure_error err;
    if (version != PG_SCHEMA_VERSION) {
        pg_version_error(s, version, &err);
        link_drop(s, &s->line, TENURE_FOREIGN, err.text);
        return;
    }
    clock_heard(s, INSTANT(answer_i64(r, 0, 1)), s->line.since);
    if (answer_u64(r, 0, 2) > s->floor)
        s->floor = answer_u64(r, 0, 2);
    if (s->high == 0)
        s->high = answer_u64(r, 0, 3);
    if (s->changes != answer_u64(r, 0, 4)) {
        s->changes = answer_u64(r, 0, 4);
        s->hints.all = true; /* what was missed while there was no connection */
    }
    s->pooled = answer_i32(r, 0, 5) != pq.PQbackendPID(s->line.conn);
    doorbell_place(s);
    s->vigil = 0; /* another server may be the one that answers now, and lack what we saw */
    pg_keep_vigil(s, answer_u64(r, 0, 6));
    s->greeted = true;
    s->line.failures = 0;
    s->line.silent = 0;
    s->line.trouble.code = 0;
}

static void requeue(struct pg_store *s, struct work *flight)
{
    while (flight) {
        struct work *next = flight->next;
        if (!flight->op && flight->kind != WORK_CLOSE)
            work_free(flight);
        else
            work_queue(s, flight);
        flight = next;
    }
}

static void refused(struct pg_store *s, struct work *flight, const PGresult *r)
{
    tenure_error err;
    enum error_kind kind = pg_error(s, r, &err);
    if (kind == ERROR_REFUSED) {
        while (flight) {
            struct work *next = flight->next;
            work_fail(s, flight, &err);
            flight = next;
        }
    } else {
        requeue(s, flight);
    }
    if (!s->greeted && s->existing && err.code == TENURE_FOREIGN)
        err.code = TENURE_ABSENT; /* no schema; another version of it answers the greeting */
    s->line.trouble = err;
    if (!s->greeted || err.code == TENURE_READ_ONLY)
        link_drop(s, &s->line, err.code, err.text);
}

void request_answered(struct pg_store *s, PGresult *r)
{
    enum request request = s->request;
    struct work *flight = s->flight;
    s->request = REQUEST_NONE;
    s->flight = NULL;
    s->line.busy = false;
    if (pq.PQresultStatus(r) != PGRES_TUPLES_OK && pq.PQresultStatus(r) != PGRES_COMMAND_OK) {
        s->holding = false;
        refused(s, flight, r);
        return;
    }
    if (s->holding) {
        hold_answered(s, request, flight, r);
        return;
    }
    if (request != REQUEST_HELLO)
        s->line.trouble.code = 0;
    switch (request) {
    case REQUEST_NONE:
    case REQUEST_RING:
    case REQUEST_BEGIN:
    case REQUEST_HOLD:
    case REQUEST_COMMIT:
    case REQUEST_ROLLBACK:
    case REQUESTS:
        break;
    case REQUEST_HELLO:
        greeted(s, r);
        break;
    case REQUEST_APPLY:
    case REQUEST_TOGETHER:
        update_answered(s, flight, r);
        break;
    case REQUEST_OPEN:
    case REQUEST_RENEW:
    case REQUEST_CLOSE:
        session_answered(s, flight, r);
        break;
    case REQUEST_SCAN:
        read_answered(s, flight, r);
        break;
    case REQUEST_POLL:
        poll_answered(s, r);
        break;
    }
}

/* Whether it may have happened although no answer came. */
static bool may_have_happened(const struct work *w)
{
    return w->kind == WORK_UPDATE ? w->writes : w->kind != WORK_READ;
}

void request_lost(struct pg_store *s)
{
    struct work *flight = s->flight;
    bool nothing = s->holding && s->request != REQUEST_COMMIT;
    s->holding = false;
    s->request = REQUEST_NONE;
    s->flight = NULL;
    s->line.busy = false;
    s->greeted = false;
    /* Closing is as good the second time, and a renewal is worth the try. */
    while (flight) {
        struct work *next = flight->next;
        flight->next = NULL;
        if (flight->kind == WORK_UPDATE && flight->writes && !nothing)
            fence_raise(&s->fences, flight->key, flight->count);
        bool again = flight->kind == WORK_CLOSE || flight->kind == WORK_RENEW;
        if (flight->op && may_have_happened(flight) && !again && !nothing) {
            store_op_fail(flight->op, TENURE_UNSURE, "the connection was lost before the answer: "
                                                     "it may have happened (%s)",
                          s->line.trouble.text);
            work_free(flight);
        } else {
            requeue(s, flight);
        }
        flight = next;
    }
}
