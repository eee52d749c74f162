/* store/etcd_work.c - operations of the caller's, from their queue to their end. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"

struct etcd_work *etcd_work_new(struct etcd_store *s, enum etcd_work_kind kind,
                                struct store_op *op)
{
    struct etcd_work *w = calloc(1, sizeof *w);
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

void etcd_work_free(struct etcd_work *w)
{
    for (int i = 0; i < STORE_KEYS_MAX; i++) {
        free(w->key[i]);
        free(w->out[i].bytes);
    }
    free(w->relied);
    free(w->ring);
    free(w->after);
    free(w);
}

/* ---- lists ----------------------------------------------------------------------------------- */

void etcd_work_queue(struct etcd_store *s, struct etcd_work *w)
{
    w->next = NULL;
    *s->queue_end = w;
    s->queue_end = &w->next;
}

static bool take_out(struct etcd_work **list, struct etcd_work *w)
{
    while (*list && *list != w)
        list = &(*list)->next;
    if (!*list)
        return false;
    *list = w->next;
    w->next = NULL;
    return true;
}

static void find_end(struct etcd_store *s)
{
    s->queue_end = &s->queue;
    while (*s->queue_end)
        s->queue_end = &(*s->queue_end)->next;
}

void etcd_work_fly(struct etcd_store *s, struct etcd_work *w)
{
    bool found = take_out(&s->queue, w);
    assert(found);
    find_end(s);
    w->next = s->flight;
    s->flight = w;
}

void etcd_work_land(struct etcd_store *s, struct etcd_work *w)
{
    if (!take_out(&s->flight, w) && take_out(&s->queue, w))
        find_end(s);
}

/* ---- ends ------------------------------------------------------------------------------------ */

void etcd_work_finish(struct etcd_work *w, int code)
{
    if (w->op)
        store_op_finish(w->op, code);
    etcd_work_free(w);
}

void etcd_work_fail(struct etcd_work *w, const tenure_error *err)
{
    if (w->op)
        store_op_fail(w->op, err->code, "%s", err->text);
    etcd_work_free(w);
}

/* Whether another attempt has a point. */
static bool may_wait(const struct etcd_work *w)
{
    return (w->op || w->kind == WORK_CLOSE) && !instant_reached(clock_now(), w->give_up);
}

void etcd_work_missed(struct etcd_store *s, struct etcd_work *w, const struct etcd_call *c,
                      enum etcd_call_end end, bool writes)
{
    tenure_error err;
    enum etcd_error_kind kind = etcd_error(s, c, end, &err);
    etcd_work_land(s, w);
    /* A session that nobody knows of runs out by itself, and one can be closed twice. */
    bool unsure = kind == ETCD_ERROR_UNSURE && writes && w->kind == WORK_UPDATE;
    if (unsure)
        fence_raise(&s->fences, w->key, w->count);
    if (unsure && w->op) {
        store_op_fail(w->op, TENURE_UNSURE, "it may have happened: %.200s", err.text);
        etcd_work_free(w);
    } else if (kind == ETCD_ERROR_REFUSED || !may_wait(w)) {
        etcd_work_fail(w, &err);
    } else {
        etcd_work_queue(s, w);
    }
    if (kind != ETCD_ERROR_REFUSED && s->link.state == LINK_UP && !s->link.leaves)
        etcd_link_drop(s, err.code, err.text); /* another member may be better off */
}

/* A refusal of the connection as a whole is everybody's answer; else there is time. */
void etcd_works_expire(struct etcd_store *s)
{
    struct instant now = clock_now();
    const tenure_error *trouble = &s->link.trouble;
    bool denied = !s->greeted && s->link.failures >= (unsigned)s->place.endpoints &&
                  trouble->code < 0 &&
                  tenure_class(trouble->code) != TENURE_CLASS_UNREACHABLE;
    for (struct etcd_work *w = s->queue, *next; w; w = next) {
        next = w->next;
        if (!denied && !instant_reached(now, w->give_up))
            continue;
        tenure_error err;
        fail(&err, trouble->code < 0 ? trouble->code : TENURE_BUSY, "%s",
             trouble->code < 0 ? trouble->text : "etcd had too much to do for the time allowed");
        etcd_work_land(s, w);
        etcd_work_fail(w, &err);
    }
}

/* ---- starting -------------------------------------------------------------------------------- */

void etcd_works_start(struct etcd_store *s)
{
    bool wanted = s->queue || s->own.id != 0 || s->watches > 0 || s->all;
    if (wanted)
        etcd_link_start(s);
    if (!s->greeted || s->link.leaves) /* who leaves takes nothing new: the next one does */
        return;
    for (struct etcd_work *w = s->queue, *next; w && s->greeted; w = next) {
        next = w->next;
        if (!w->op && w->kind != WORK_CLOSE) {
            etcd_work_land(s, w);
            etcd_work_free(w);
        } else if (w->kind == WORK_READ) {
            etcd_read_start(s, w);
        } else if (w->kind != WORK_UPDATE) {
            etcd_session_start(s, w);
        }
    }
    if (s->greeted)
        etcd_updates_start(s);
    if (s->greeted)
        etcd_ears_step(s);
}
