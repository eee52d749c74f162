/* store/etcd_session.c - sessions: opened, renewed, closed.
 *
 * A session lives exactly as long as its key does, which hangs on its etcd lease and on nothing
 * else.  When the lease runs out, etcd deletes the key by an entry of its log, so all see it
 * happen at one revision, and for good.
 *
 * A renewal is two questions, sent together: the lease is kept alive, and the key is read.  etcd's
 * leader keeps leases alive without asking a quorum, so one that was deposed, and does not know it,
 * says yes although its successor lets the lease run out.  The read is confirmed by a quorum; when
 * both answers come from the same term, no successor had begun to count when the renewal was sent,
 * and whoever begins later gives the lease all its time anew (P3).
 *
 * The key's version counts how often somebody was told to stop: a renewal whose read does not show
 * it was sent before that was committed, and its seat is counted from the commit. */
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"

#define TIDY_AFTER_MS 600000
#define TIDY_MAX 32

static void queue(struct etcd_store *s, struct etcd_work *w)
{
    etcd_work_queue(s, w);
    etcd_works_start(s);
    etcd_link_flush(s);
}

static etcd_key bell_key(struct etcd_store *s, uint64_t id)
{
    return etcd_key_number(&s->arena, s->prefix, "bell/", id, NULL);
}

static etcd_key left_key(struct etcd_store *s, uint64_t id)
{
    return etcd_key_number(&s->arena, s->prefix, "session/", id, "/left");
}

/* ---- closing --------------------------------------------------------------------------------- */

static void nothing(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                    const ProtobufCMessage *answer)
{
    (void)s;
    (void)c;
    (void)end;
    (void)answer;
}

void etcd_lease_revoke(struct etcd_store *s, int64_t lease)
{
    Etcd__LeaseRevokeRequest m;
    etcd__lease_revoke_request__init(&m);
    m.id = lease;
    if (lease != 0)
        etcd_call_start(s, ETCD_LEASE_REVOKE, &m.base, &etcd__lease_revoke_response__descriptor,
                        nothing, NULL);
}

/* What another process's session hung on; 0: it had ended before. */
static int64_t lease_of(const Etcd__RangeResponse *r)
{
    struct etcd_session value;
    bool found = r && r->n_kvs == 1 &&
                 etcd_session_decode(r->kvs[0]->value.data, r->kvs[0]->value.len, &value);
    return found ? value.lease : 0;
}

static void closed(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                   const ProtobufCMessage *answer)
{
    const Etcd__TxnResponse *r = (const void *)answer;
    struct etcd_work *w = c->arg;
    if (end != CALL_ANSWERED || !etcd_answer_note(s, c, r->header)) {
        etcd_work_missed(s, w, c, end == CALL_ANSWERED ? CALL_LOST : end, true);
        return;
    }
    etcd_session_note(s, w->session, SESSION_GONE, NULL, r->header->revision);
    etcd_lease_revoke(s, w->lease != 0 ? w->lease : lease_of(etcd_answer_range(r, 0)));
    etcd_work_land(s, w);
    etcd_work_finish(w, 0);
}

static void close_start(struct etcd_store *s, struct etcd_work *w)
{
    etcd_arena_clear(&s->arena);
    struct etcd_txn *t = etcd_txn_new(&s->arena);
    if (w->lease == 0)
        etcd_txn_range(t, etcd_session_key(s, w->session), (etcd_key){0}, 0, false);
    etcd_txn_delete(t, etcd_session_key(s, w->session));
    etcd_txn_delete(t, left_key(s, w->session));
    etcd_txn_delete(t, bell_key(s, w->session));
    if (!s->arena.failed && etcd_call_start(s, ETCD_KV_TXN, &t->m.base,
                                            &etcd__txn_response__descriptor, closed, w))
        etcd_work_fly(s, w);
}

static void close_session(struct etcd_store *s, uint64_t session, int64_t lease,
                          struct store_op *op)
{
    struct etcd_work *w = etcd_work_new(s, WORK_CLOSE, op);
    if (!w)
        return;
    w->session = session;
    w->lease = lease;
    queue(s, w);
}

void etcd_session_close(struct store *store, struct store_session_close *op)
{
    struct etcd_store *s = etcd_of(store);
    bool is_own = op->session == s->own.id;
    if (is_own)
        s->own.id = 0;
    close_session(s, op->session, is_own ? s->own.lease : 0, &op->op);
}

void etcd_sessions_tidy(struct etcd_store *s)
{
    struct instant long_ago = instant_add(clock_now(), SPAN(-TIDY_AFTER_MS));
    int left = TIDY_MAX;
    etcd_arena_clear(&s->arena);
    struct etcd_txn *t = etcd_txn_new(&s->arena);
    for (size_t i = 0; i < CACHE_BUCKETS; i++) {
        const struct cached *x = s->sessions.bucket[i];
        for (; x && left > 0; x = x->chain) {
            const struct etcd_known_session *k = (const void *)x;
            if (k->state != SESSION_EXPIRED || x->stamp != s->answer ||
                k->ended.ms > long_ago.ms)
                continue;
            etcd_txn_delete(t, left_key(s, x->id));
            left--;
        }
    }
    if (left < TIDY_MAX && !s->arena.failed)
        etcd_call_start(s, ETCD_KV_TXN, &t->m.base, &etcd__txn_response__descriptor, nothing,
                        NULL);
}

/* ---- opening --------------------------------------------------------------------------------- */

void etcd_session_open(struct store *store, struct store_session_open *op)
{
    struct etcd_store *s = etcd_of(store);
    struct etcd_work *w = etcd_work_new(s, WORK_OPEN, &op->op);
    if (!w)
        return;
    w->ttl = op->ttl;
    queue(s, w);
}

static void opened(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                   const ProtobufCMessage *answer)
{
    const Etcd__TxnResponse *r = (const void *)answer;
    struct etcd_work *w = c->arg;
    if (end != CALL_ANSWERED || !etcd_answer_note(s, c, r->header)) {
        etcd_work_missed(s, w, c, end == CALL_ANSWERED ? CALL_LOST : end, true);
        return;
    }
    etcd_work_land(s, w);
    if (!r->succeeded) {
        etcd_lease_revoke(s, w->lease);
        w->lease = 0;
        etcd_work_queue(s, w); /* another seal: from the beginning */
        etcd_hello(s);
        return;
    }
    int64_t revision = r->header->revision;
    etcd_session_note(s, w->session, SESSION_ALIVE, &w->ttl, revision);
    etcd_grants_since(s, revision);
    if (!w->op) { /* nobody wants it any more */
        close_session(s, w->session, w->lease, NULL);
        etcd_work_free(w);
        return;
    }
    s->own = (struct etcd_own_session){
        .id = w->session,
        .lease = w->lease,
        .ttl = w->ttl,
        .told = 1,
        .revision = revision,
        .certain = true,
    };
    ((struct store_session_open *)(void *)w->op)->session = w->session;
    etcd_work_finish(w, 0);
}

/* The lease and the number are there, or one of them is not to be had. */
static void open_finish(struct etcd_store *s, struct etcd_work *w)
{
    uint8_t value[ETCD_SESSION_BYTES];
    struct etcd_session session = {w->lease, w->ttl};
    if (--w->parts > 0)
        return;
    if (!w->again && w->trouble.code == 0 && w->op) {
        etcd_arena_clear(&s->arena);
        struct etcd_txn *t = etcd_txn_sealed(s);
        etcd_session_encode(&session, value);
        etcd_txn_put(t, etcd_session_key(s, w->session), value, sizeof value, w->lease);
        etcd_txn_put(t, bell_key(s, w->session), NULL, 0, w->lease);
        etcd_txn_put(t, left_key(s, w->session), NULL, 0, 0);
        if (!s->arena.failed && etcd_call_start(s, ETCD_KV_TXN, &t->m.base,
                                                &etcd__txn_response__descriptor, opened, w))
            return;
        w->again = true;
    }
    etcd_lease_revoke(s, w->lease);
    w->lease = 0;
    etcd_work_land(s, w);
    if (w->trouble.code != 0)
        etcd_work_fail(w, &w->trouble);
    else if (w->op)
        etcd_work_queue(s, w);
    else
        etcd_work_free(w);
}

/* One of the two was not answered.  Nothing hangs on either: a lease without a session runs out. */
static void open_missed(struct etcd_store *s, struct etcd_work *w, const struct etcd_call *c,
                        enum etcd_call_end end)
{
    tenure_error err;
    if (etcd_error(s, c, end, &err) == ETCD_ERROR_REFUSED) {
        w->trouble = err;
        return;
    }
    w->again = true;
    if (s->link.state == LINK_UP && !s->link.leaves)
        etcd_link_drop(s, err.code, err.text);
}

static void granted(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                    const ProtobufCMessage *answer)
{
    const Etcd__LeaseGrantResponse *r = (const void *)answer;
    struct etcd_work *w = c->arg;
    if (end != CALL_ANSWERED)
        open_missed(s, w, c, end);
    else if (r->ttl * 1000 < w->ttl.ms)
        fail(&w->trouble, TENURE_FOREIGN, "etcd grants a lease of %lld s only",
             (long long)r->ttl);
    else
        w->lease = r->id;
    open_finish(s, w);
}

static void drawn(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                  const ProtobufCMessage *answer)
{
    const Etcd__TxnResponse *r = (const void *)answer;
    struct etcd_work *w = c->arg;
    if (end != CALL_ANSWERED)
        open_missed(s, w, c, end);
    else if (!etcd_answer_note(s, c, r->header) || !r->succeeded)
        fail(&w->trouble, TENURE_UNREACHABLE, "the store was put in place anew");
    else
        w->session = etcd_floor_at(s, r->header->revision); /* nobody else has this revision */
    open_finish(s, w);
}

static void open_start(struct etcd_store *s, struct etcd_work *w)
{
    Etcd__LeaseGrantRequest m;
    etcd__lease_grant_request__init(&m);
    m.ttl = (w->ttl.ms + 999) / 1000;
    etcd_arena_clear(&s->arena);
    struct etcd_txn *t = etcd_txn_sealed(s);
    etcd_txn_put(t, etcd_key_of(&s->arena, s->prefix, "serial", NULL), NULL, 0, 0);
    if (s->arena.failed || !etcd_call_start(s, ETCD_LEASE_GRANT, &m.base,
                                            &etcd__lease_grant_response__descriptor, granted, w))
        return;
    w->parts = 2;
    w->again = false;
    etcd_work_fly(s, w);
    if (!etcd_call_start(s, ETCD_KV_TXN, &t->m.base, &etcd__txn_response__descriptor, drawn, w)) {
        fail(&w->trouble, TENURE_NO_MEMORY, "out of memory");
        w->parts = 1;
    }
}

/* ---- renewing -------------------------------------------------------------------------------- */

void etcd_session_renew(struct store *store, struct store_session_renew *op)
{
    struct etcd_store *s = etcd_of(store);
    if (op->session != s->own.id || op->session == 0) {
        store_op_finish(&op->op, TENURE_LOST);
        return;
    }
    struct etcd_work *w = etcd_work_new(s, WORK_RENEW, &op->op);
    if (!w)
        return;
    w->session = op->session;
    queue(s, w);
}

/* Both answers are there. */
static void renew_finish(struct etcd_store *s, struct etcd_work *w)
{
    struct store_session_renew *op = (struct store_session_renew *)(void *)w->op;
    etcd_work_land(s, w);
    if (!op) {
        etcd_work_free(w);
    } else if (!w->is_there) {
        if (s->own.id == w->session)
            s->own.id = 0;
        etcd_work_finish(w, TENURE_LOST);
    } else if (w->kept && w->term_kept == w->term_seen) {
        op->noticed = w->told != s->own.told;
        s->own.told = w->told;
        etcd_work_finish(w, 0);
    } else {
        etcd_work_queue(s, w); /* a leader is just changing, or the lease running out */
    }
}

static void seen(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                 const ProtobufCMessage *answer)
{
    const Etcd__RangeResponse *r = (const void *)answer;
    struct etcd_work *w = c->arg;
    if (end != CALL_ANSWERED || !etcd_answer_note(s, c, r->header)) {
        etcd_work_missed(s, w, c, end == CALL_ANSWERED ? CALL_LOST : end, false);
        return;
    }
    w->is_there = r->n_kvs == 1;
    w->told = w->is_there ? r->kvs[0]->version : 0;
    w->term_seen = r->header->raft_term;
    etcd_grants_since(s, r->header->revision);
    if (w->is_there)
        etcd_session_note(s, w->session, SESSION_ALIVE, NULL, r->header->revision);
    if (--w->parts == 0 || !w->is_there)
        renew_finish(s, w);
    etcd_clock_ask(s);
}

static struct etcd_work *find_renewal(struct etcd_store *s, uint64_t number)
{
    for (struct etcd_work *w = s->flight; w; w = w->next) {
        if (w->kind == WORK_RENEW && w->keepalive == number)
            return w;
    }
    return NULL;
}

/* Answers come in the order of the questions: so a late one is not taken for that of the next. */
static void kept(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                 const ProtobufCMessage *answer)
{
    const Etcd__LeaseKeepAliveResponse *r = (const void *)answer;
    if (end != CALL_ANSWERED) {
        tenure_error err;
        s->keepalives = NULL;
        etcd_error(s, c, end, &err);
        if (s->link.state == LINK_UP)
            etcd_link_drop(s, err.code, err.text);
        return;
    }
    struct etcd_work *w = find_renewal(s, ++s->keepalives_heard);
    if (!w)
        return;
    w->kept = r->ttl > 0;
    w->term_kept = r->header ? r->header->raft_term : 0;
    if (--w->parts == 0)
        renew_finish(s, w);
}

/* Of those that only wait for the stream; the others are told by their own call. */
void etcd_keepalives_lost(struct etcd_store *s)
{
    s->keepalives = NULL;
    s->keepalives_sent = s->keepalives_heard = 0;
    for (struct etcd_work *w = s->flight, *next; w; w = next) {
        next = w->next;
        if (w->kind != WORK_RENEW)
            continue;
        etcd_work_land(s, w);
        if (w->op)
            etcd_work_queue(s, w);
        else
            etcd_work_free(w);
    }
}

static void renew_start(struct etcd_store *s, struct etcd_work *w)
{
    Etcd__LeaseKeepAliveRequest keep;
    Etcd__RangeRequest look;
    etcd__lease_keep_alive_request__init(&keep);
    etcd__range_request__init(&look);
    keep.id = s->own.lease;
    etcd_arena_clear(&s->arena);
    look.key = etcd_session_key(s, w->session);
    if (w->session != s->own.id) {
        etcd_work_land(s, w);
        etcd_work_finish(w, TENURE_LOST);
        return;
    }
    if (!s->keepalives)
        s->keepalives = etcd_stream_start(s, ETCD_LEASE_KEEP_ALIVE,
                                          &etcd__lease_keep_alive_response__descriptor, kept);
    if (s->arena.failed || !s->keepalives || !etcd_stream_send(s, s->keepalives, &keep.base))
        return;
    w->keepalive = ++s->keepalives_sent;
    w->kept = false;
    w->parts = 2;
    if (etcd_call_start(s, ETCD_KV_RANGE, &look.base, &etcd__range_response__descriptor, seen, w))
        etcd_work_fly(s, w);
}

void etcd_session_start(struct etcd_store *s, struct etcd_work *w)
{
    switch (w->kind) {
    case WORK_OPEN:
        open_start(s, w);
        break;
    case WORK_RENEW:
        renew_start(s, w);
        break;
    default:
        close_start(s, w);
    }
}
