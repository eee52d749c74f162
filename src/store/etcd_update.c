/* store/etcd_update.c - updates: what is to be done next for each, and how it ends.
 *
 * A decision needs records that are known, so it may begin with a look at them.  One that writes
 * goes with the others that are ready (etcd_batch.c), one batch at a time; what is asked meanwhile
 * goes with the next.  What changes nothing is confirmed by a Txn without writes, which etcd does
 * not log. */
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"

void etcd_update(struct store *store, struct store_update *op)
{
    struct etcd_store *s = etcd_of(store);
    struct etcd_work *w = etcd_work_new(s, WORK_UPDATE, &op->op);
    if (!w)
        return;
    for (int i = 0; i < op->count; i++) {
        w->key[i] = strdup(op->key[i]);
        if (!w->key[i]) {
            etcd_work_finish(w, TENURE_NO_MEMORY);
            return;
        }
        w->hash[w->count++] = store_key_hash(op->key[i]);
    }
    etcd_work_queue(s, w);
    etcd_works_start(s);
    etcd_link_flush(s);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static void ring_ourselves(struct etcd_store *s, const struct etcd_work *w)
{
    for (int i = 0; i < w->count && etcd_rings_at(w, s->own.id); i++)
        hint_queue_add(&s->hints, store_key_hash(w->key[i]));
}

/* It was decided, and that stands. */
static void finish(struct etcd_store *s, struct etcd_work *w)
{
    struct store_update *op = (struct store_update *)(void *)w->op;
    if (w->verdict >= 0)
        op->verdict = w->verdict;
    if (w->verdict == TENURE_CORRUPT) {
        tenure_error err;
        fail(&err, TENURE_CORRUPT, "%sname/%s in etcd is not a record of tenure", s->prefix,
             w->key[0]);
        etcd_work_fail(w, &err);
    } else {
        etcd_work_finish(w, w->verdict < 0 ? w->verdict : 0);
    }
}

void etcd_update_settle(struct etcd_store *s, struct etcd_work *w, bool done)
{
    bool confirmed = done;
    etcd_work_land(s, w);
    if (!w->op) {
        etcd_work_free(w);
        return;
    }
    if (done) {
        ring_ourselves(s, w);
        etcd_bells_ring_rest(s, w);
    } else if (!etcd_decide(s, w, &confirmed))
        confirmed = false;
    if (confirmed)
        finish(s, w);
    else
        etcd_update_again(s, w);
}

void etcd_update_again(struct etcd_store *s, struct etcd_work *w)
{
    etcd_work_land(s, w);
    w->ready = false;
    if (w->op)
        etcd_work_queue(s, w);
    else
        etcd_work_free(w);
}

/* ---- looking --------------------------------------------------------------------------------- */

static void looked(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                   const ProtobufCMessage *answer)
{
    const Etcd__TxnResponse *r = (const void *)answer;
    struct etcd_work *w = c->arg;
    if (end != CALL_ANSWERED || !etcd_answer_note(s, c, r->header)) {
        etcd_work_missed(s, w, c, end == CALL_ANSWERED ? CALL_LOST : end, false);
        return;
    }
    if (!r->succeeded) {
        etcd_update_again(s, w);
        etcd_hello_again(s);
        return;
    }
    int64_t as_of = r->header->revision;
    for (int i = 0; i < w->count; i++)
        etcd_record_take(s, w->key[i], etcd_answer_range(r, (size_t)i), as_of);
    const Etcd__RangeResponse *census = etcd_answer_range(r, (size_t)w->count);
    if (census)
        etcd_census_take(s, census, as_of);
    etcd_update_settle(s, w, false);
}

static void look(struct etcd_store *s, struct etcd_work *w)
{
    etcd_arena_clear(&s->arena);
    struct etcd_txn *t = etcd_txn_sealed(s);
    for (int i = 0; i < w->count; i++)
        etcd_txn_range(t, etcd_name_key(s, w->key[i]), (etcd_key){0}, 0, false);
    if (w->census) {
        etcd_key all = etcd_key_of(&s->arena, s->prefix, "session/", NULL);
        etcd_txn_range(t, all, etcd_key_end(&s->arena, all), 0, true);
    }
    if (!s->arena.failed && etcd_call_start(s, ETCD_KV_TXN, &t->m.base,
                                            &etcd__txn_response__descriptor, looked, w))
        etcd_work_fly(s, w); /* else it stays in the queue */
    w->loss.stale = false;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool share_a_key(const struct etcd_work *a, const struct etcd_work *b)
{
    for (int i = 0; i < a->count; i++) {
        for (int k = 0; k < b->count; k++) {
            if (a->hash[i] == b->hash[k])
                return true;
        }
    }
    return false;
}

/* Whether one on the same name goes before it. */
static bool must_wait(const struct etcd_store *s, const struct etcd_work *w)
{
    for (const struct etcd_work *f = s->flight; f; f = f->next) {
        if (f->kind == WORK_UPDATE && share_a_key(f, w))
            return true;
    }
    for (const struct etcd_work *f = s->queue; f && f != w; f = f->next) {
        if (f->kind == WORK_UPDATE && share_a_key(f, w))
            return true;
    }
    return false;
}

/* Whether we have heard that it was granted (GRANTS in store/store.h). */
static bool is_granted(struct etcd_store *s, const struct etcd_work *w)
{
    const struct etcd_record *r = etcd_record_known(s, w->key[0]);
    return w->granted && !w->writes && w->count == 1 && w->relies == 1 &&
           w->relied[0] == s->own.id && r && r->as_of >= s->grants_since;
}

static void take_grant(struct etcd_store *s, struct etcd_work *w)
{
    etcd_work_land(s, w);
    finish(s, w);
}

void etcd_updates_start(struct etcd_store *s)
{
    s->held_back = INSTANT_NEVER;
    bool may_write = !s->writing && !s->gathering;
    struct etcd_batch *b = may_write ? etcd_batch_new() : NULL;
    for (struct etcd_work *w = s->queue, *next; w; w = next) {
        bool ignored;
        next = w->next;
        if (w->kind != WORK_UPDATE || (!may_write && w->ready) || must_wait(s, w))
            continue;
        bool known = etcd_decide(s, w, &ignored);
        if (!known || w->census)
            look(s, w);
        else if (is_granted(s, w))
            take_grant(s, w);
        else if (!w->writes)
            etcd_batch_confirm(s, w);
        else if (etcd_fight_waits(s, w))
            continue;
        else if (w->loss.stale)
            look(s, w);
        else if (!b || !etcd_batch_add(s, b, w))
            w->ready = true; /* for the next one, and then it is decided anew */
    }
    if (b)
        etcd_batch_start(s, b);
}
