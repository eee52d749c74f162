/* store/etcd_update.c - what is sent of a decision, and what comes back.
 *
 * Decisions that write and are ready at the same time ride in one Txn, each in a nested one of its
 * own: so each has its own conditions, and all cost one entry in etcd's log.  One batch is on its
 * way at a time; what is asked meanwhile goes with the next.  What changes nothing is confirmed by
 * a Txn without writes, which etcd does not log. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"

#define OTHERS_FIRST_MS 4 /* and twice as long as a commit of ours took of late; */
#define OTHERS_FIRST_MAX_MS 50

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

/* ---- keys ------------------------------------------------------------------------------------ */

static etcd_key name_key(struct etcd_store *s, const char *name)
{
    return etcd_key_of(&s->arena, s->prefix, "name/", name);
}

etcd_key etcd_session_key(struct etcd_store *s, uint64_t id)
{
    return etcd_key_number(&s->arena, s->prefix, "session/", id, NULL);
}

static unsigned gone_bucket(const char *name)
{
    return (unsigned)(store_key_hash(name) % ETCD_GONE_BUCKETS);
}

static etcd_key gone_key(struct etcd_store *s, const char *name)
{
    char digits[8];
    snprintf(digits, sizeof digits, "%02x", gone_bucket(name));
    return etcd_key_of(&s->arena, s->prefix, "gone/", digits);
}

/* ---- conditions, and what else --------------------------------------------------------------- */

struct etcd_txn *etcd_txn_sealed(struct etcd_store *s)
{
    struct etcd_txn *t = etcd_txn_new(&s->arena);
    etcd_txn_if_version(t, etcd_key_of(&s->arena, s->prefix, "seal", NULL), s->seal_version);
    return t;
}

/* That all is as it was when w was decided; else: what it is. */
static void add_conditions(struct etcd_store *s, struct etcd_txn *t, const struct etcd_work *w)
{
    for (int i = 0; i < w->count; i++) {
        etcd_key key = name_key(s, w->key[i]);
        const struct etcd_record *r = etcd_record_known(s, w->key[i]);
        etcd_txn_if_version(t, key, w->version[i]);
        if (w->version[i] == 0)
            etcd_txn_if_unchanged(t, gone_key(s, w->key[i]), r ? r->as_of : 0);
        etcd_txn_else_range(t, key, (etcd_key){0});
    }
    for (size_t i = 0; i < w->relies; i++) {
        etcd_key key = etcd_session_key(s, w->relied[i]);
        etcd_txn_if_exists(t, key);
        /* with what is below it: "session/ID" to "session/ID0", which is behind the slash */
        etcd_txn_else_range(t, key, etcd_key_number(&s->arena, s->prefix, "session/",
                                                    w->relied[i], "0"));
    }
}

static void add_writes(struct etcd_store *s, struct etcd_txn *t, const struct etcd_work *w)
{
    for (int i = 0; i < w->count; i++) {
        etcd_key key = name_key(s, w->key[i]);
        if (w->out[i].what == STORE_PUT)
            etcd_txn_put(t, key, w->out[i].bytes, w->out[i].len, 0);
        if (w->out[i].what != STORE_DELETE)
            continue;
        if (w->version[i] != 0)
            etcd_txn_delete(t, key);
        etcd_txn_put(t, gone_key(s, w->key[i]), NULL, 0, 0);
    }
    if (w->notice != 0) {
        struct etcd_txn *tell = etcd_txn_new(&s->arena);
        etcd_txn_if_exists(tell, etcd_session_key(s, w->notice));
        etcd_txn_touch(tell, etcd_session_key(s, w->notice));
        etcd_txn_nest(t, tell);
    }
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static void session_alive(struct etcd_store *s, const struct etcd_work *w, int64_t as_of)
{
    for (size_t i = 0; i < w->relies; i++)
        etcd_session_note(s, w->relied[i], SESSION_ALIVE, NULL, as_of);
}

/* It happened: what was written is what is there. */
static void take_done(struct etcd_store *s, const struct etcd_work *w, int64_t revision)
{
    session_alive(s, w, revision);
    for (int i = 0; i < w->count; i++) {
        const struct store_write *out = &w->out[i];
        if (out->what == STORE_PUT)
            etcd_record_note(s, w->key[i], revision, revision, out->bytes, out->len);
        else if (out->what == STORE_DELETE)
            etcd_record_note(s, w->key[i], 0, revision, NULL, 0);
        else
            etcd_record_note(s, w->key[i], w->version[i], revision, NULL, 0); /* as it was */
        if (out->what != STORE_KEEP)
            fence_remove(&s->fences, w->key[i]);
    }
}

static void take_record(struct etcd_store *s, const char *name, const Etcd__RangeResponse *r,
                        int64_t as_of)
{
    if (!r)
        return;
    if (r->n_kvs == 0)
        etcd_record_note(s, name, 0, as_of, NULL, 0);
    else
        etcd_record_note(s, name, r->kvs[0]->mod_revision, as_of, r->kvs[0]->value.data,
                         r->kvs[0]->value.len);
}

void etcd_session_take(struct etcd_store *s, uint64_t id, const Etcd__RangeResponse *r,
                       int64_t as_of)
{
    struct etcd_session value;
    size_t shortest = r && r->n_kvs > 0 ? r->kvs[0]->key.len : 0;
    size_t live = strlen(s->prefix) + strlen("session/") + 16;
    if (!r)
        return;
    if (shortest == live && etcd_session_decode(r->kvs[0]->value.data, r->kvs[0]->value.len,
                                                &value))
        etcd_session_note(s, id, SESSION_ALIVE, &value.ttl, as_of);
    else if (shortest == live)
        etcd_session_note(s, id, SESSION_ALIVE, NULL, as_of);
    else
        etcd_session_note(s, id, r->n_kvs > 0 ? SESSION_EXPIRED : SESSION_GONE, NULL, as_of);
}

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

/* Ends a work that was answered, or sends it back to the queue. */
static void settle(struct etcd_store *s, struct etcd_work *w, bool done)
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
    if (!confirmed) {
        w->ready = false;
        etcd_work_queue(s, w);
        return;
    }
    finish(s, w);
}

/* ---- one work by itself: looking, and confirming --------------------------------------------- */

static void missed(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end, bool writes)
{
    etcd_work_missed(s, c->arg, c, end, writes);
}

/* The seal is another one: nothing happened, and everything is asked again after a new hello. */
static void unsealed(struct etcd_store *s, struct etcd_work *w)
{
    etcd_work_land(s, w);
    if (w->op)
        etcd_work_queue(s, w);
    else
        etcd_work_free(w);
    if (s->greeted)
        etcd_hello(s);
}

static void looked(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                   const ProtobufCMessage *answer)
{
    const Etcd__TxnResponse *r = (const void *)answer;
    struct etcd_work *w = c->arg;
    if (end != CALL_ANSWERED || !etcd_answer_note(s, c, r->header)) {
        missed(s, c, end == CALL_ANSWERED ? CALL_LOST : end, false);
        return;
    }
    if (!r->succeeded) {
        unsealed(s, w);
        return;
    }
    int64_t as_of = r->header->revision;
    for (int i = 0; i < w->count; i++)
        take_record(s, w->key[i], etcd_answer_range(r, (size_t)i), as_of);
    const Etcd__RangeResponse *census = etcd_answer_range(r, (size_t)w->count);
    if (census)
        etcd_census_take(s, census, as_of);
    settle(s, w, false);
}

static void start_call(struct etcd_store *s, struct etcd_work *w, struct etcd_txn *t,
                       etcd_done_fn *done)
{
    if (s->arena.failed || !etcd_call_start(s, ETCD_KV_TXN, &t->m.base,
                                            &etcd__txn_response__descriptor, done, w))
        return; /* it stays in the queue */
    etcd_work_fly(s, w);
}

static void look(struct etcd_store *s, struct etcd_work *w)
{
    etcd_arena_clear(&s->arena);
    struct etcd_txn *t = etcd_txn_sealed(s);
    for (int i = 0; i < w->count; i++)
        etcd_txn_range(t, name_key(s, w->key[i]), (etcd_key){0}, 0, false);
    if (w->census) {
        etcd_key all = etcd_key_of(&s->arena, s->prefix, "session/", NULL);
        etcd_txn_range(t, all, etcd_key_end(&s->arena, all), 0, true);
    }
    start_call(s, w, t, looked);
}

static void confirmed(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                      const ProtobufCMessage *answer)
{
    const Etcd__TxnResponse *r = (const void *)answer;
    struct etcd_work *w = c->arg;
    if (end != CALL_ANSWERED || !etcd_answer_note(s, c, r->header)) {
        missed(s, c, end == CALL_ANSWERED ? CALL_LOST : end, false);
        return;
    }
    int64_t as_of = r->header->revision;
    if (r->succeeded) {
        take_done(s, w, as_of);
        settle(s, w, true);
        return;
    }
    const Etcd__RangeResponse *seal = etcd_answer_range(r, (size_t)w->count + w->relies);
    if (!seal || seal->n_kvs != 1 || seal->kvs[0]->mod_revision != s->seal_version) {
        unsealed(s, w);
        return;
    }
    for (int i = 0; i < w->count; i++)
        take_record(s, w->key[i], etcd_answer_range(r, (size_t)i), as_of);
    for (size_t i = 0; i < w->relies; i++)
        etcd_session_take(s, w->relied[i], etcd_answer_range(r, (size_t)w->count + i), as_of);
    settle(s, w, false);
}

static void confirm(struct etcd_store *s, struct etcd_work *w)
{
    etcd_arena_clear(&s->arena);
    struct etcd_txn *t = etcd_txn_sealed(s);
    add_conditions(s, t, w);
    etcd_txn_else_range(t, etcd_key_of(&s->arena, s->prefix, "seal", NULL), (etcd_key){0});
    start_call(s, w, t, confirmed);
}

/* ---- works together: writing ----------------------------------------------------------------- */

static void batch_missed(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end)
{
    struct etcd_batch *b = c->arg;
    for (size_t i = 0; i < b->count; i++)
        etcd_work_missed(s, b->work[i], c, end, true);
    free(b);
}

static void take_sub(struct etcd_store *s, const struct etcd_work *w,
                     const Etcd__SubTxnResponse *r, int64_t as_of)
{
    if (r->succeeded) {
        take_done(s, w, as_of);
        return;
    }
    for (int i = 0; i < w->count; i++)
        take_record(s, w->key[i], etcd_sub_range(r, (size_t)i), as_of);
    for (size_t i = 0; i < w->relies; i++)
        etcd_session_take(s, w->relied[i], etcd_sub_range(r, (size_t)w->count + i), as_of);
}

/* Whether the answer has an outcome for each work of the batch. */
static bool is_whole(const struct etcd_batch *b, const Etcd__TxnResponse *r)
{
    if (r->n_responses < b->count)
        return false;
    for (size_t i = 0; i < b->count; i++) {
        if (r->responses[i]->response_case != ETCD__RESPONSE_OP__RESPONSE_RESPONSE_TXN)
            return false;
    }
    return true;
}

/* An attempt that was lost: others write these records, too. */
static void settle_write(struct etcd_store *s, struct etcd_work *w, bool done)
{
    w->lost = w->lost || !done;
    for (int i = 0; i < w->count; i++) {
        struct etcd_record *r = etcd_record_known(s, w->key[i]);
        if (r && !done)
            r->hot = true;
        if (r && done && w->next_writer != 0)
            r->crowded = w->lost;
    }
    settle(s, w, done);
}

static void written(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                    const ProtobufCMessage *answer)
{
    const Etcd__TxnResponse *r = (const void *)answer;
    struct etcd_batch *b = c->arg;
    s->writing = NULL;
    if (end != CALL_ANSWERED || !etcd_answer_note(s, c, r->header) ||
        (r->succeeded && !is_whole(b, r))) {
        batch_missed(s, c, end == CALL_ANSWERED ? CALL_LOST : end);
        return;
    }
    s->commit.ms = (3 * s->commit.ms + instant_diff(c->sent, clock_now()).ms) / 4;
    int64_t as_of = r->header->revision;
    for (size_t i = 0; r->succeeded && i < b->count; i++)
        take_sub(s, b->work[i], r->responses[i]->response_txn, as_of);
    for (size_t i = 0; i < b->count; i++) {
        if (r->succeeded)
            settle_write(s, b->work[i], r->responses[i]->response_txn->succeeded);
        else
            unsealed(s, b->work[i]);
    }
    free(b);
}

/* How many operations etcd would count in it. */
static size_t width_of(const struct etcd_work *w)
{
    size_t keys = (size_t)w->count;
    size_t rings = w->rings < ETCD_RINGS_MAX ? w->rings : ETCD_RINGS_MAX;
    size_t conditions = 2 * keys + w->relies, writes = 2 * keys + rings + 2;
    return conditions > writes ? conditions : writes;
}

static bool quarrel(const struct etcd_work *a, const struct etcd_work *b)
{
    if (a->notice != 0 && a->notice == b->notice)
        return true;
    for (int i = 0; i < a->count; i++) {
        for (int k = 0; k < b->count && a->out[i].what == STORE_DELETE; k++) {
            if (b->out[k].what == STORE_DELETE && gone_bucket(a->key[i]) == gone_bucket(b->key[k]))
                return true; /* both would put the same key */
        }
    }
    return false;
}

static bool batch_add(struct etcd_batch *b, struct etcd_work *w)
{
    size_t width = width_of(w) > b->width ? width_of(w) : b->width;
    size_t rings = b->count > 0 ? b->rings + w->rings : 0; /* that may be shared */
    size_t bytes = w->bytes + etcd_bells_bytes(w);
    if (b->count == ETCD_BATCH_MAX)
        return false;
    if (b->count > 0 && (b->count + 1 + rings + width + 1 > ETCD_OPS_MAX ||
                         b->bytes + bytes > ETCD_BATCH_BYTES))
        return false;
    for (size_t i = 0; i < b->count; i++) {
        if (quarrel(b->work[i], w))
            return false;
    }
    b->work[b->count++] = w;
    b->width = width;
    b->rings += w->rings;
    b->bytes += bytes;
    return true;
}

static void batch_start(struct etcd_store *s, struct etcd_batch *b)
{
    etcd_arena_clear(&s->arena);
    struct etcd_txn *outer = etcd_txn_sealed(s), *sub[ETCD_BATCH_MAX];
    for (size_t i = 0; i < b->count; i++) {
        sub[i] = etcd_txn_new(&s->arena);
        add_conditions(s, sub[i], b->work[i]);
        add_writes(s, sub[i], b->work[i]);
        etcd_txn_nest(outer, sub[i]);
    }
    for (size_t i = 0; i < b->count; i++)
        etcd_bells_add(s, outer, sub[i], b, i);
    if (!s->arena.failed)
        s->writing = etcd_call_start(s, ETCD_KV_TXN, &outer->m.base,
                                     &etcd__txn_response__descriptor, written, b);
    if (!s->writing) {
        free(b);
        return;
    }
    for (size_t i = 0; i < b->count; i++)
        etcd_work_fly(s, b->work[i]);
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

/* Who was just granted a name that many fight for got it from somebody who asks again at once; of
 * the two writes on the same version one fails, and costs etcd as much as one that does not.  So it
 * lets the other go first, of which it is told (etcd_bell.c), and a second one when its own turn to
 * ask has shown that there are more: else that one would lose to each release.  But only as long as
 * that proves right, and not for longer than some commits take. */
static struct instant others_until(const struct etcd_store *s, const struct etcd_record *r)
{
    int64_t first = 2 * s->commit.ms + OTHERS_FIRST_MS;
    if (r->version == r->rung)
        return instant_add(r->heard,
                           SPAN(first < OTHERS_FIRST_MAX_MS ? first : OTHERS_FIRST_MAX_MS));
    if (r->version == r->told && r->crowded)
        return instant_add(r->seen, SPAN(1 + s->commit.ms / 4));
    return INSTANT(0);
}

static bool is_held_back(struct etcd_store *s, const struct etcd_work *w)
{
    struct etcd_record *r = etcd_record_known(s, w->key[0]);
    if (w->count != 1 || !r || !r->hot)
        return false;
    struct instant until = others_until(s, r);
    bool waits = !instant_reached(clock_now(), until);
    if (waits)
        s->held_back = instant_min(s->held_back, until);
    else if (r->version == r->rung)
        r->hot = false; /* nobody came */
    return waits;
}

void etcd_updates_start(struct etcd_store *s)
{
    s->held_back = INSTANT_NEVER;
    struct etcd_batch *b = s->writing ? NULL : calloc(1, sizeof *b);
    for (struct etcd_work *w = s->queue, *next; w; w = next) {
        bool ignored;
        next = w->next;
        if (w->kind != WORK_UPDATE || (s->writing && w->ready) || must_wait(s, w))
            continue;
        bool known = etcd_decide(s, w, &ignored);
        if (!known || w->census)
            look(s, w);
        else if (is_granted(s, w))
            take_grant(s, w);
        else if (!w->writes)
            confirm(s, w);
        else if (is_held_back(s, w))
            continue;
        else if (!b || !batch_add(b, w))
            w->ready = true; /* for the next one, and then it is decided anew */
    }
    if (b && b->count > 0)
        batch_start(s, b);
    else
        free(b);
}
