/* store/etcd_batch.c - decisions on their way in one Txn, and what comes back.
 *
 * All cost one entry in etcd's log.  As a rule nobody else writes the same names at that moment: so
 * their conditions stand side by side, and either all of it happens or nothing, which is what etcd
 * does for the least.  Who has lost an attempt in this way, though it may have been another one's
 * fault, and who writes what others write, too, has a nested Txn with conditions of its own; and
 * so has everybody for a while after that, since others may write many names, each now and then. */
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"

#define APART_BATCHES 16
#define KEY_BYTES 64 /* of a request, for each key: what follows the prefix, and all around it */

/* ---- how large it gets ----------------------------------------------------------------------- */

static size_t rings_of(const struct etcd_work *w)
{
    return w->rings < ETCD_RINGS_MAX ? w->rings : ETCD_RINGS_MAX;
}

static size_t conditions_of(const struct etcd_store *s, const struct etcd_work *w, bool nested)
{
    size_t n = (size_t)w->count + w->relies;
    for (int i = 0; i < w->count; i++)
        n += w->version[i] == 0;
    return !nested && etcd_relies_on(w, s->own.id) ? n - 1 : n;
}

/* Each a Txn of its own: bells, that of the next writer, and who is told to stop. */
static size_t told_by(const struct etcd_work *w)
{
    return rings_of(w) + (w->next_writer != 0) + (w->notice != 0);
}

static size_t writes_of(const struct etcd_work *w)
{
    return 2 * (size_t)w->count + told_by(w);
}

/* Keys are in conditions, in what is written and in what is asked else: a name five times, a
 * session that was relied on three times, and one that is told twice. */
static size_t bytes_of(const struct etcd_store *s, const struct etcd_work *w)
{
    size_t keys = 5 * (size_t)w->count + 3 * w->relies + 2 * told_by(w);
    size_t names = 0;
    for (int i = 0; i < w->count; i++)
        names += strlen(w->key[i]);
    return w->bytes + etcd_bells_bytes(w) + keys * (strlen(s->prefix) + KEY_BYTES) + 5 * names;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* etcd counts the longest list of a Txn, and of one in it. */
static bool is_too_large(const struct etcd_size *z)
{
    size_t outer = larger(z->conditions, z->writes);
    return outer + larger(z->deepest, 1) > ETCD_OPS_MAX || z->bytes > ETCD_BATCH_BYTES;
}

/* ---- who rides together ---------------------------------------------------------------------- */

struct etcd_batch *etcd_batch_new(void)
{
    struct etcd_batch *b = calloc(1, sizeof *b);
    if (b)
        b->size.conditions = 2; /* the seal, and our own session */
    return b;
}

static bool quarrel(const struct etcd_work *a, const struct etcd_work *b)
{
    if (a->notice != 0 && a->notice == b->notice)
        return true;
    for (int i = 0; i < a->count; i++) {
        for (int k = 0; k < b->count && a->out[i].what == STORE_DELETE; k++) {
            if (b->out[k].what == STORE_DELETE &&
                etcd_bucket(a->key[i]) == etcd_bucket(b->key[k]))
                return true; /* both would put the same key */
        }
    }
    return false;
}

static bool stands_apart(struct etcd_store *s, const struct etcd_work *w)
{
    bool apart = w->apart || s->apart > 0;
    for (int i = 0; i < w->count; i++) {
        const struct etcd_record *r = etcd_record_known(s, w->key[i]);
        apart = apart || (r && r->hot);
    }
    return apart;
}

bool etcd_batch_add(struct etcd_store *s, struct etcd_batch *b, struct etcd_work *w)
{
    struct etcd_size with = b->size;
    bool apart = stands_apart(s, w);
    if (apart) {
        size_t deep = larger(conditions_of(s, w, true), writes_of(w)) + (told_by(w) > 0);
        with.deepest = larger(with.deepest, deep);
        with.writes += 1 + rings_of(w); /* that may be shared */
    } else {
        with.conditions += conditions_of(s, w, false);
        with.writes += writes_of(w);
    }
    with.bytes += bytes_of(s, w);
    if (b->count == ETCD_BATCH_MAX || (b->count > 0 && is_too_large(&with)))
        return false;
    for (size_t i = 0; i < b->count; i++) {
        if (quarrel(b->work[i], w))
            return false;
    }
    b->work[b->count] = w;
    b->nested[b->count++] = apart;
    b->size = with;
    return true;
}

/* ---- what comes back ------------------------------------------------------------------------- */

/* The nested Txn of work n; NULL when the answer has none. */
static const Etcd__SubTxnResponse *nested_of(const struct etcd_batch *b, size_t n,
                                             const Etcd__TxnResponse *r)
{
    size_t at = b->at[n];
    if (at >= r->n_responses ||
        r->responses[at]->response_case != ETCD__RESPONSE_OP__RESPONSE_RESPONSE_TXN)
        return NULL;
    return r->responses[at]->response_txn;
}

static bool is_whole(const struct etcd_batch *b, const Etcd__TxnResponse *r)
{
    for (size_t i = 0; i < b->count && r->succeeded; i++) {
        if (b->nested[i] && !nested_of(b, i, r))
            return false;
    }
    return true;
}

/* The conditions of the Txn were met: of those that are nested, each tells for itself. */
static void succeeded(struct etcd_store *s, struct etcd_batch *b, const Etcd__TxnResponse *r)
{
    bool done[ETCD_BATCH_MAX];
    int64_t as_of = r->header->revision;
    for (size_t i = 0; i < b->count; i++) {
        const Etcd__SubTxnResponse *nested = b->nested[i] ? nested_of(b, i, r) : NULL;
        done[i] = !nested || nested->succeeded;
        if (done[i])
            etcd_commit_done(s, b->work[i], as_of);
        else
            etcd_commit_failed(s, b->work[i], NULL, nested, as_of);
    }
    for (size_t i = 0; i < b->count; i++) {
        if (done[i])
            etcd_fight_won(s, b->work[i]);
        else
            etcd_fight_lost(s, b->work[i], b->took, NULL);
        etcd_update_settle(s, b->work[i], done[i]);
    }
}

/* Nothing happened.  Whose fault it was is known of one that was alone; the others find out. */
static void failed(struct etcd_store *s, struct etcd_batch *b, const Etcd__TxnResponse *r)
{
    bool alone = b->count == 1;
    size_t at = alone ? (size_t)b->work[0]->count + b->work[0]->relies : 0;
    const Etcd__RangeResponse *seal = etcd_answer_range(r, at);
    bool is_sealed = seal && seal->n_kvs == 1 && seal->kvs[0]->mod_revision == s->seal_version;
    if (is_sealed && alone) {
        etcd_commit_failed(s, b->work[0], r, NULL, r->header->revision);
        etcd_fight_lost(s, b->work[0], b->took, etcd_answer_range(r, at + 1));
        etcd_update_settle(s, b->work[0], false);
        return;
    }
    if (is_sealed)
        s->apart = APART_BATCHES;
    for (size_t i = 0; i < b->count; i++) {
        b->work[i]->apart = b->work[i]->apart || is_sealed;
        etcd_update_again(s, b->work[i]);
    }
    if (!is_sealed) /* by us: everything is asked again after a new greeting */
        etcd_hello_again(s);
}

static void answered(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                     const ProtobufCMessage *answer)
{
    const Etcd__TxnResponse *r = (const void *)answer;
    struct etcd_batch *b = c->arg;
    if (c == s->writing)
        s->writing = NULL;
    if (end != CALL_ANSWERED || !etcd_answer_note(s, c, r->header) || !is_whole(b, r)) {
        for (size_t i = 0; i < b->count; i++)
            etcd_work_missed(s, b->work[i], c, end == CALL_ANSWERED ? CALL_LOST : end,
                             b->work[i]->writes);
        free(b);
        return;
    }
    b->took = instant_diff(c->sent, clock_now());
    if (b->work[0]->writes)
        s->commit.ms = (3 * s->commit.ms + b->took.ms) / 4;
    s->gathering = s->gathering || b->count > 1;
    if (r->succeeded)
        succeeded(s, b, r);
    else
        failed(s, b, r);
    free(b);
}

/* ---- on its way ------------------------------------------------------------------------------ */

static struct etcd_txn *put_together(struct etcd_store *s, struct etcd_batch *b)
{
    struct etcd_txn *outer = etcd_txn_sealed(s), *txn[ETCD_BATCH_MAX];
    bool alone = b->count == 1;
    uint64_t compared = 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct etcd_work *w = b->work[i];
        b->nested[i] = b->nested[i] && !alone;
        txn[i] = b->nested[i] ? etcd_txn_new(&s->arena) : outer;
        etcd_commit_if(s, txn[i], w, b->nested[i] ? 0 : compared);
        etcd_commit_writes(s, txn[i], w);
        if (b->nested[i] || alone)
            etcd_commit_else(s, txn[i], w);
        if (b->nested[i]) {
            b->at[i] = outer->m.n_success;
            etcd_txn_nest(outer, txn[i]);
        } else if (etcd_relies_on(w, s->own.id)) {
            compared = s->own.id; /* once is enough */
        }
    }
    etcd_txn_else_range(outer, etcd_key_of(&s->arena, s->prefix, "seal", NULL), (etcd_key){0});
    if (alone && b->work[0]->writes)
        etcd_fight_else(s, outer, b->work[0]);
    for (size_t i = 0; i < b->count; i++)
        etcd_bells_add(s, outer, txn[i], b, i);
    return outer;
}

static struct etcd_call *start(struct etcd_store *s, struct etcd_batch *b)
{
    struct etcd_call *c = NULL;
    etcd_arena_clear(&s->arena);
    struct etcd_txn *t = put_together(s, b);
    if (!s->arena.failed)
        c = etcd_call_start(s, ETCD_KV_TXN, &t->m.base, &etcd__txn_response__descriptor, answered,
                            b);
    for (size_t i = 0; i < b->count && c; i++)
        etcd_work_fly(s, b->work[i]);
    if (!c)
        free(b); /* they stay in the queue */
    return c;
}

void etcd_batch_start(struct etcd_store *s, struct etcd_batch *b)
{
    if (b->count == 0) {
        free(b);
        return;
    }
    if (s->apart > 0 && b->count > 1)
        s->apart--;
    s->writing = start(s, b);
}

void etcd_batch_confirm(struct etcd_store *s, struct etcd_work *w)
{
    struct etcd_batch *b = etcd_batch_new();
    if (!b)
        return; /* it stays in the queue */
    b->count = 1;
    b->work[0] = w;
    start(s, b);
}
