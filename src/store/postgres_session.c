/* store/postgres_session.c - opening, renewing and closing sessions. */
#include <stdio.h>

#include "store/postgres_engine.h"

static void start(struct pg_store *s, struct work *w)
{
    work_queue(s, w);
    request_next(s);
}

void pg_session_open(struct store *store, struct store_session_open *op)
{
    struct pg_store *s = pg_of(store);
    struct work *w = work_new(s, WORK_OPEN, &op->op);
    if (w)
        start(s, w);
}

void pg_session_renew(struct store *store, struct store_session_renew *op)
{
    struct pg_store *s = pg_of(store);
    struct work *w = work_new(s, WORK_RENEW, &op->op);
    if (!w)
        return;
    w->session = op->session;
    start(s, w);
}

void pg_session_close(struct store *store, struct store_session_close *op)
{
    struct pg_store *s = pg_of(store);
    struct work *w = work_new(s, WORK_CLOSE, &op->op);
    if (!w)
        return;
    w->session = op->session;
    w->claims_left = op->claims_left;
    start(s, w);
}

void session_request(struct pg_store *s, struct work *w)
{
    struct pg_params *p = &s->params;
    params_clear(p);
    if (w->kind == WORK_OPEN)
        params_i64(p, ((struct store_session_open *)(void *)w->op)->ttl.ms);
    else
        params_i64(p, (int64_t)w->session);
    if (w->kind == WORK_RENEW)
        params_i64(p, w->session == s->session ? (int64_t)s->heard_beat : 0);
    if (w->kind == WORK_CLOSE)
        params_bool(p, w->claims_left);
    else
        params_i64(p, (int64_t)s->high);
}

/* A session that nobody waits for any more is closed again. */
static void undo(struct pg_store *s, uint64_t session)
{
    struct work *w = work_new(s, WORK_CLOSE, NULL);
    if (!w)
        return; /* then it expires */
    w->session = session;
    work_queue(s, w);
}

static void opened(struct pg_store *s, struct work *w, const PGresult *r)
{
    uint64_t id = answer_u64(r, 0, 0);
    if (!w->op) {
        undo(s, id);
        work_free(w);
        return;
    }
    struct store_session_open *op = (struct store_session_open *)(void *)w->op;
    struct known_session own = {
        .head.id = id,
        .beat = 1,
        .ttl_ms = op->ttl.ms,
        .expires = INSTANT(answer_i64(r, 0, 2)),
    };
    clock_heard(s, INSTANT(answer_i64(r, 0, 1)), s->line.since);
    known_session_set(s, &own);
    if (id > s->high)
        s->high = id;
    s->session = id;
    s->session_since = clock_now();
    s->heard_beat = 1;
    op->session = id;
    work_finish(s, w, 0);
}

void pg_keep_vigil(struct pg_store *s, uint64_t deletion)
{
    if (s->pooled || s->nameless)
        s->vigil = 0;
    else if (s->vigil == 0 || s->deletion != deletion)
        s->vigil = ++s->vigils;
    s->deletion = deletion;
}

uint64_t pg_vigil(struct store *store)
{
    return pg_of(store)->vigil;
}

static void renewed(struct pg_store *s, struct work *w, const PGresult *r)
{
    int state = answer_i32(r, 0, 0);
    struct known_session own = {
        .head.id = w->session,
        .state = state == 1 ? KNOWN_DEAD : state == 2 ? KNOWN_GONE : KNOWN_ALIVE,
        .expires = INSTANT(answer_i64(r, 0, 2)),
        .beat = answer_u64(r, 0, 3),
    };
    const struct known_session *before = known_session(s, w->session);
    own.ttl_ms = before && before->ttl_ms > 0 ? before->ttl_ms
                                              : own.expires.ms - answer_i64(r, 0, 1);
    clock_heard(s, INSTANT(answer_i64(r, 0, 1)), s->line.since);
    known_session_set(s, &own);
    if (state != 0 && w->session == s->session)
        s->session = 0;
    if (state != 0 && w->op) {
        store_op_fail(w->op, TENURE_LOST, "session %llu is dead: %s",
                      (unsigned long long)w->session,
                      state == 1 ? "it had expired" : "it was closed");
        work_free(w);
        return;
    }
    if (state == 0)
        pg_keep_vigil(s, answer_u64(r, 0, 5));
    if (w->session == s->session && w->op)
        s->heard_beat = own.beat; /* an answer that nobody waited for has told nobody */
    if (w->op)
        ((struct store_session_renew *)(void *)w->op)->noticed = *pq.PQgetvalue(r, 0, 4) != 0;
    work_finish(s, w, 0);
}

void session_answered(struct pg_store *s, struct work *w, const PGresult *r)
{
    s->stamp++;
    if (w->kind == WORK_OPEN) {
        opened(s, w, r);
    } else if (w->kind == WORK_RENEW) {
        renewed(s, w, r);
    } else {
        hint_ended(s, w->session);
        if (w->session == s->session)
            s->session = 0;
        work_finish(s, w, 0);
    }
}
