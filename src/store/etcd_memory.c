/* store/etcd_memory.c - what we remember, so that a decision needs no look. */
#include "store/etcd_engine.h"

/* ---- records --------------------------------------------------------------------------------- */

struct etcd_record *etcd_record_known(struct etcd_store *s, const char *key)
{
    return cache_find_key(&s->records, key);
}

static struct etcd_record *record_add(struct etcd_store *s, const char *key)
{
    struct etcd_record *r = cache_add(&s->records, store_key_hash(key), key, sizeof *r, s->answer);
    if (r)
        r->version = -1;
    return r;
}

/* Takes a copy of the bytes behind the stamp.  Without memory the record is not known. */
static void record_take(struct etcd_store *s, struct etcd_record *r, const uint8_t *bytes,
                        size_t len)
{
    cache_put(&s->records, &r->head, NULL, 0);
    r->foreign = false;
    r->stamp = (struct etcd_stamp){0};
    r->seen = clock_now();
    if (r->version == 0)
        return;
    if (!etcd_stamp_decode(bytes, len, &r->stamp) || len == ETCD_STAMP_BYTES) {
        r->foreign = true;
        return;
    }
    if (!cache_put(&s->records, &r->head, bytes + ETCD_STAMP_BYTES, len - ETCD_STAMP_BYTES))
        r->version = -1;
}

void etcd_record_note(struct etcd_store *s, const char *key, int64_t version, int64_t as_of,
                      const uint8_t *bytes, size_t len)
{
    struct etcd_record *r = etcd_record_known(s, key);
    if (r && r->version >= 0 && as_of < r->as_of)
        return; /* an older answer that came later */
    if (version != 0 && !bytes && (!r || r->version != version))
        return; /* it is as it was, but what that was is forgotten */
    if (!r && !(r = record_add(s, key)))
        return;
    bool same = r->version == version;
    r->version = version;
    r->written = version == 0 ? 0 : r->written + !same;
    if (!same)
        record_take(s, r, bytes, len);
    r->as_of = as_of;
    r->head.stamp = s->answer;
}

struct instant etcd_record_now(const struct etcd_store *s, const struct etcd_record *r,
                               struct instant now, struct span *ret_behind)
{
    *ret_behind = SPAN(0);
    if (r->version == 0)
        return now; /* it begins with the first stamp, and nothing hangs on where */
    struct span low = etcd_clock_age_low(&s->clock, &r->stamp.tick, r->seen, now);
    struct span high = etcd_clock_age_high(&s->clock, r->version, now);
    if (high.ms > low.ms)
        *ret_behind = SPAN(high.ms - low.ms);
    return instant_add(r->stamp.now, low);
}

/* ---- sessions -------------------------------------------------------------------------------- */

struct etcd_known_session *etcd_session_known(struct etcd_store *s, uint64_t id)
{
    return cache_find(&s->sessions, id, NULL);
}

void etcd_session_note(struct etcd_store *s, uint64_t id, enum etcd_session_state state,
                       const struct span *ttl, int64_t as_of)
{
    struct etcd_known_session *k = etcd_session_known(s, id);
    if (!k) {
        k = cache_add(&s->sessions, id, NULL, sizeof *k, s->answer);
        if (!k)
            return;
        k->ttl = SPAN(TIMING_TTL_DEFAULT_MS);
    }
    k->head.stamp = s->answer;
    if (k->state != SESSION_ALIVE)
        return; /* final */
    k->state = state;
    if (ttl)
        k->ttl = *ttl;
    if (as_of > k->as_of)
        k->as_of = as_of;
    if (state == SESSION_ALIVE)
        return;
    k->ended = clock_now();
    etcd_hint_ended(s, id);
}

void etcd_memory_forget(struct etcd_store *s)
{
    cache_forget(&s->records);
    cache_forget(&s->sessions);
}
