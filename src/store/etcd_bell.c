/* store/etcd_bell.c - what a commit rings, and what it says with it.
 *
 * Who is rung alone is as a rule the next holder.  It is told what the record is since that commit,
 * so it knows that it holds when it hears the bell, and on what to decide next: no request.  A
 * holder is told of who has queued behind it, too: else its release would be decided on a record
 * that is no more, and fail at first. */
#include <string.h>

#include "store/etcd_engine.h"

#define NEWS_RECORD_MAX 8192 /* a longer record is asked for by who was rung */

bool etcd_rings_at(const struct etcd_work *w, uint64_t session)
{
    for (size_t i = 0; i < w->rings; i++) {
        if (w->ring[i] == session)
            return true;
    }
    return false;
}

/* Whether it is short enough to be told. */
static bool is_short(const struct etcd_work *w)
{
    return w->count == 1 && w->out[0].what == STORE_PUT && w->out[0].len <= NEWS_RECORD_MAX &&
           strlen(w->key[0]) <= ETCD_NEWS_NAME_MAX;
}

/* Whether the one who is rung is told what the record is. */
static bool tells(const struct etcd_work *w)
{
    return is_short(w) && w->rings == 1;
}

/* Whether who decides is in line behind the one that it rings: it asked when it gave back. */
static bool has_queued(const struct etcd_work *w)
{
    return w->next_writer != 0 && etcd_rings_at(w, w->next_writer);
}

static uint8_t *news_of(struct etcd_store *s, const struct etcd_work *w, bool quiet,
                        size_t *ret_len)
{
    struct etcd_news news = {
        .quiet = quiet,
        .queued = has_queued(w),
        .name = text_of(w->key[0]),
        .record = w->out[0].bytes,
        .len = w->out[0].len,
    };
    *ret_len = etcd_news_bytes(&news);
    uint8_t *to = etcd_arena_take(&s->arena, *ret_len);
    if (to)
        etcd_news_encode(&news, to);
    return to;
}

static uint8_t *hashes_of(struct etcd_store *s, const struct etcd_batch *b, size_t from,
                          uint64_t session, size_t *ret_len)
{
    uint8_t *hashes = etcd_arena_take(&s->arena, 8 * b->count * STORE_KEYS_MAX);
    *ret_len = 0;
    for (size_t i = from; hashes && i < b->count; i++) {
        const struct etcd_work *w = b->work[i];
        for (int k = 0; k < w->count && etcd_rings_at(w, session); k++) {
            etcd_hash_encode(store_key_hash(w->key[k]), hashes + *ret_len);
            *ret_len += 8;
        }
    }
    return hashes;
}

size_t etcd_bells_bytes(const struct etcd_work *w)
{
    size_t news = (size_t)tells(w) + (is_short(w) && w->next_writer != 0);
    return news * (w->out[0].len + strlen(w->key[0]));
}

static void put_bell(struct etcd_store *s, struct etcd_txn *t, uint64_t session,
                     const uint8_t *value, size_t len)
{
    etcd_key key = etcd_key_number(&s->arena, s->prefix, "bell/", session, NULL);
    struct etcd_txn *ring = etcd_txn_new(&s->arena);
    etcd_txn_if_exists(ring, key);
    etcd_txn_ring(ring, key, value, len);
    etcd_txn_nest(t, ring);
}

/* Rings at a session on behalf of the works of the batch from `from` on. */
static void add_bell(struct etcd_store *s, struct etcd_txn *t, const struct etcd_batch *b,
                     size_t from, uint64_t session)
{
    size_t len;
    uint8_t *value = b->count == 1 && tells(b->work[0])
                         ? news_of(s, b->work[0], false, &len)
                         : hashes_of(s, b, from, session, &len);
    put_bell(s, t, session, value, len);
}

/* Who else in the batch rings there: the first, or b->count. */
static size_t other_ringer(const struct etcd_batch *b, size_t self, uint64_t session)
{
    for (size_t i = 0; i < b->count; i++) {
        if (i != self && etcd_rings_at(b->work[i], session))
            return i;
    }
    return b->count;
}

/* Whether the next writer hears of work n, and of none before it, and is not rung for any. */
static bool is_told(const struct etcd_store *s, const struct etcd_batch *b, size_t n)
{
    uint64_t session = b->work[n]->next_writer;
    for (size_t i = 0; i < n; i++) {
        if (b->work[i]->next_writer == session)
            return false;
    }
    return session != 0 && session != s->own.id && is_short(b->work[n]) &&
           other_ringer(b, b->count, session) == b->count;
}

/* A key may be put but once in a Txn.  A bell of one work depends on its commit; one of several is
 * rung for all of them: at worst somebody looks for nothing. */
void etcd_bells_add(struct etcd_store *s, struct etcd_txn *outer, struct etcd_txn *sub,
                    const struct etcd_batch *b, size_t n)
{
    const struct etcd_work *w = b->work[n];
    for (size_t i = 0; i < w->rings && i < ETCD_RINGS_MAX; i++) {
        size_t other = other_ringer(b, n, w->ring[i]);
        if (w->ring[i] == s->own.id)
            continue; /* told when it is done */
        if (other == b->count) {
            struct etcd_batch alone = {.count = 1, .work = {b->work[n]}};
            add_bell(s, sub, &alone, 0, w->ring[i]);
        } else if (other > n) {
            add_bell(s, outer, b, n, w->ring[i]);
        }
    }
    if (is_told(s, b, n)) {
        size_t len;
        uint8_t *value = news_of(s, w, true, &len);
        put_bell(s, sub, w->next_writer, value, len);
    }
}

static void rung(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                 const ProtobufCMessage *answer)
{
    (void)s;
    (void)c;
    (void)end; /* a hint may be lost */
    (void)answer;
}

void etcd_bells_ring_rest(struct etcd_store *s, struct etcd_work *w)
{
    const struct etcd_batch alone = {.count = 1, .work = {w}};
    for (size_t from = ETCD_RINGS_MAX; from < w->rings; from += ETCD_RINGS_MAX) {
        etcd_arena_clear(&s->arena);
        struct etcd_txn *t = etcd_txn_new(&s->arena);
        for (size_t i = from; i < w->rings && i < from + ETCD_RINGS_MAX; i++) {
            if (w->ring[i] != s->own.id)
                add_bell(s, t, &alone, 0, w->ring[i]);
        }
        if (!s->arena.failed)
            etcd_call_start(s, ETCD_KV_TXN, &t->m.base, &etcd__txn_response__descriptor, rung,
                            NULL);
    }
}
