#include "wire/etcd_value.h"

#include <string.h>

static const uint8_t stamp_mark[4] = {'t', 'n', 'R', 1};
static const uint8_t session_mark[4] = {'t', 'n', 'S', 1};
static const uint8_t seal_mark[4] = {'t', 'n', 'E', 1};
static const uint8_t news_mark[4] = {'t', 'n', 'N', 1};

/* Far from where sums overflow. */
static bool is_time(int64_t ms)
{
    return ms >= 0 && ms < (int64_t)1 << 60;
}

static uint8_t *put(uint8_t *to, uint64_t n)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(n >> (8 * i));
    return to + 8;
}

static uint64_t get(const uint8_t **at)
{
    uint64_t n = 0;
    for (int i = 0; i < 8; i++)
        n |= (uint64_t)(*at)[i] << (8 * i);
    *at += 8;
    return n;
}

void etcd_stamp_encode(const struct etcd_stamp *s, uint8_t to[ETCD_STAMP_BYTES])
{
    memcpy(to, stamp_mark, 4);
    to = put(to + 4, (uint64_t)s->now.ms);
    to = put(to, s->tick.clock);
    to = put(to, s->tick.term);
    to = put(to, (uint64_t)s->tick.high.ms);
    put(to, (uint64_t)s->tick.old.ms);
}

bool etcd_stamp_decode(const uint8_t *at, size_t len, struct etcd_stamp *ret)
{
    if (len < ETCD_STAMP_BYTES || memcmp(at, stamp_mark, 4) != 0)
        return false;
    struct etcd_stamp s;
    at += 4;
    s.now.ms = (int64_t)get(&at);
    s.tick.clock = get(&at);
    s.tick.term = get(&at);
    s.tick.high.ms = (int64_t)get(&at);
    s.tick.old.ms = (int64_t)get(&at);
    if (!is_time(s.now.ms) || !is_time(s.tick.high.ms) || !is_time(s.tick.old.ms))
        return false;
    *ret = s;
    return true;
}

void etcd_session_encode(const struct etcd_session *s, uint8_t to[ETCD_SESSION_BYTES])
{
    memcpy(to, session_mark, 4);
    to = put(to + 4, (uint64_t)s->lease);
    put(to, (uint64_t)s->ttl.ms);
}

bool etcd_session_decode(const uint8_t *at, size_t len, struct etcd_session *ret)
{
    if (len != ETCD_SESSION_BYTES || memcmp(at, session_mark, 4) != 0)
        return false;
    at += 4;
    struct etcd_session s;
    s.lease = (int64_t)get(&at);
    s.ttl.ms = (int64_t)get(&at);
    if (!is_time(s.ttl.ms))
        return false;
    *ret = s;
    return true;
}

void etcd_seal_encode(const struct etcd_seal *s, uint8_t to[ETCD_SEAL_BYTES])
{
    memcpy(to, seal_mark, 4);
    to = put(to + 4, s->cluster);
    to = put(to, s->generation);
    to = put(to, s->base);
    to = put(to, (uint64_t)s->clock);
    put(to, (uint64_t)s->distance);
}

bool etcd_seal_decode(const uint8_t *at, size_t len, struct etcd_seal *ret)
{
    if (len != ETCD_SEAL_BYTES || memcmp(at, seal_mark, 4) != 0)
        return false;
    at += 4;
    ret->cluster = get(&at);
    ret->generation = get(&at);
    ret->base = get(&at);
    ret->clock = (int64_t)get(&at);
    ret->distance = (int64_t)get(&at);
    return true;
}

void etcd_hash_encode(uint64_t hash, uint8_t to[8])
{
    put(to, hash);
}

uint64_t etcd_hash_decode(const uint8_t at[8])
{
    return get(&at);
}

/* The mark, flags, the length of the name, the name; a zero, if there is one; the record. */
#define NEWS_FRONT 6
#define NEWS_PADDED 1
#define NEWS_QUIET 2
#define NEWS_QUEUED 4
#define NEWS_FLAGS (NEWS_PADDED | NEWS_QUIET | NEWS_QUEUED)

static size_t news_pad(const struct etcd_news *n)
{
    return (NEWS_FRONT + n->name.len + n->len) % 8 == 0;
}

size_t etcd_news_bytes(const struct etcd_news *n)
{
    return NEWS_FRONT + n->name.len + news_pad(n) + n->len;
}

void etcd_news_encode(const struct etcd_news *n, uint8_t *to)
{
    memcpy(to, news_mark, 4);
    to[4] = (uint8_t)((news_pad(n) ? NEWS_PADDED : 0) | (n->quiet ? NEWS_QUIET : 0) |
                      (n->queued ? NEWS_QUEUED : 0));
    to[5] = (uint8_t)n->name.len;
    to += NEWS_FRONT;
    memcpy(to, n->name.at, n->name.len);
    to += n->name.len;
    if (news_pad(n))
        *to++ = 0;
    memcpy(to, n->record, n->len);
}

bool etcd_news_decode(const uint8_t *at, size_t len, struct etcd_news *ret)
{
    if (len < NEWS_FRONT || memcmp(at, news_mark, 4) != 0 || (at[4] & ~NEWS_FLAGS) != 0)
        return false;
    size_t pad = at[4] & NEWS_PADDED, name_len = at[5], front = NEWS_FRONT + name_len + pad;
    struct etcd_news n = {
        .quiet = at[4] & NEWS_QUIET,
        .queued = at[4] & NEWS_QUEUED,
        .name = {(const char *)at + NEWS_FRONT, name_len},
    };
    if (name_len == 0 || len <= front || (pad == 1 && at[front - 1] != 0))
        return false;
    n.record = at + front;
    n.len = len - front;
    if (news_pad(&n) != pad || memchr(n.name.at, '\0', name_len))
        return false;
    *ret = n;
    return true;
}
