/* store/postgres_work.c - operations on their way. */
#include <stdlib.h>
#include <string.h>

#include "store/postgres_engine.h"

struct work *work_new(struct pg_store *s, enum work_kind kind, struct store_op *op)
{
    struct work *w = calloc(1, sizeof *w);
    if (!w) {
        if (op)
            store_op_finish(op, TENURE_NO_MEMORY);
        return NULL;
    }
    w->kind = kind;
    w->op = op;
    w->give_up = instant_add(clock_now(), s->patience);
    return w;
}

struct store_update *update_of(const struct work *w)
{
    return (struct store_update *)(void *)w->op; /* the first member */
}

void work_free(struct work *w)
{
    for (int i = 0; i < STORE_KEYS_MAX; i++)
        bytes_free(&w->data[i]);
    for (int i = 0; i < w->count; i++)
        free(w->key[i]);
    free(w->ring);
    free(w->after);
    free(w);
}

/* Renewals go before everything else: a holder's life hangs on them. */
void work_queue(struct pg_store *s, struct work *w)
{
    if (w->kind == WORK_RENEW) {
        w->next = s->queue;
        s->queue = w;
        if (!w->next)
            s->queue_end = &w->next;
        return;
    }
    w->next = NULL;
    *s->queue_end = w;
    s->queue_end = &w->next;
}

void work_finish(struct pg_store *s, struct work *w, int code)
{
    (void)s;
    if (w->op)
        store_op_finish(w->op, code);
    work_free(w);
}

void work_fail(struct pg_store *s, struct work *w, const tenure_error *err)
{
    (void)s;
    if (w->op) {
        w->op->error = *err;
        w->op->code = err->code;
        w->op->done = true;
    }
    work_free(w);
}

/* Works that waited for too long end: nothing of them has happened. */
void works_expire(struct pg_store *s)
{
    struct work **at = &s->queue;
    struct instant now = clock_now();
    while (*at) {
        struct work *w = *at;
        bool over = !w->op ? w->kind != WORK_CLOSE : instant_reached(now, w->give_up);
        if (!over) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        tenure_error err = s->line.trouble;
        if (err.code == 0)
            fail(&err, s->greeted ? TENURE_BUSY : TENURE_UNREACHABLE, "%s",
                 s->greeted ? "the server has too much to do" : "the server does not answer");
        work_fail(s, w, &err);
    }
    s->queue_end = at;
}
