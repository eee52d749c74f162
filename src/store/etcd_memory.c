/* store/etcd_memory.c - what we remember, so that a decision needs no look. */
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"

/* ---- records --------------------------------------------------------------------------------- */

static struct etcd_record **record_bucket(struct etcd_store *s, const char *key)
{
    return &s->memory.record[store_key_hash(key) % ETCD_BUCKETS];
}

struct etcd_record *etcd_record_known(struct etcd_store *s, const char *key)
{
    struct etcd_record *r = *record_bucket(s, key);
    while (r && strcmp(r->key, key) != 0)
        r = r->chain;
    return r;
}

static void records_forget(struct etcd_store *s)
{
    struct etcd_memory *m = &s->memory;
    for (size_t i = 0; i < ETCD_BUCKETS; i++) {
        while (m->record[i]) {
            struct etcd_record *r = m->record[i];
            m->record[i] = r->chain;
            free(r->key);
            free(r->bytes);
            free(r);
        }
    }
    m->records = m->bytes = 0;
}

static struct etcd_record *record_add(struct etcd_store *s, const char *key)
{
    if (s->memory.records >= ETCD_KNOWN_MAX || s->memory.bytes > ETCD_KNOWN_BYTES)
        records_forget(s); /* what is needed is asked for again */
    struct etcd_record *r = calloc(1, sizeof *r);
    char *copy = strdup(key);
    if (!r || !copy) {
        free(r);
        free(copy);
        return NULL;
    }
    struct etcd_record **at = record_bucket(s, key);
    *r = (struct etcd_record){.chain = *at, .key = copy, .version = -1};
    *at = r;
    s->memory.records++;
    return r;
}

/* Takes a copy of the bytes behind the stamp.  Without memory the record is not known. */
static void record_take(struct etcd_store *s, struct etcd_record *r, const uint8_t *bytes,
                        size_t len)
{
    s->memory.bytes -= r->len;
    free(r->bytes);
    r->bytes = NULL;
    r->len = 0;
    r->foreign = false;
    r->stamp = (struct etcd_stamp){0};
    r->seen = clock_now();
    if (r->version == 0)
        return;
    if (!etcd_stamp_decode(bytes, len, &r->stamp) || len == ETCD_STAMP_BYTES) {
        r->foreign = true;
        return;
    }
    r->bytes = malloc(len - ETCD_STAMP_BYTES);
    if (!r->bytes) {
        r->version = -1;
        return;
    }
    r->len = len - ETCD_STAMP_BYTES;
    memcpy(r->bytes, bytes + ETCD_STAMP_BYTES, r->len);
    s->memory.bytes += r->len;
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
    if (!same)
        record_take(s, r, bytes, len);
    r->as_of = as_of;
    r->answer = s->answer;
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

static struct etcd_known_session **session_bucket(struct etcd_store *s, uint64_t id)
{
    return &s->memory.session[(id >> ETCD_TOKENS_SHIFT) % ETCD_BUCKETS];
}

struct etcd_known_session *etcd_session_known(struct etcd_store *s, uint64_t id)
{
    struct etcd_known_session *k = *session_bucket(s, id);
    while (k && k->id != id)
        k = k->chain;
    return k;
}

static void sessions_forget(struct etcd_store *s)
{
    for (size_t i = 0; i < ETCD_BUCKETS; i++) {
        while (s->memory.session[i]) {
            struct etcd_known_session *k = s->memory.session[i];
            s->memory.session[i] = k->chain;
            free(k);
        }
    }
    s->memory.sessions = 0;
}

void etcd_session_note(struct etcd_store *s, uint64_t id, enum etcd_session_state state,
                       const struct span *ttl, int64_t as_of)
{
    struct etcd_known_session *k = etcd_session_known(s, id);
    if (!k) {
        if (s->memory.sessions >= ETCD_KNOWN_MAX)
            sessions_forget(s);
        k = calloc(1, sizeof *k);
        if (!k)
            return;
        struct etcd_known_session **at = session_bucket(s, id);
        *k = (struct etcd_known_session){
            .chain = *at, .id = id, .ttl = SPAN(TIMING_TTL_DEFAULT_MS)};
        *at = k;
        s->memory.sessions++;
    }
    k->answer = s->answer;
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
    records_forget(s);
    sessions_forget(s);
}
