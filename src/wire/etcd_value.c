#include "wire/etcd_value.h"

#include <string.h>

static const uint8_t stamp_mark[4] = {'t', 'n', 'R', 1};
static const uint8_t session_mark[4] = {'t', 'n', 'S', 1};
static const uint8_t seal_mark[4] = {'t', 'n', 'E', 1};

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
