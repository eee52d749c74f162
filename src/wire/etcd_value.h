/* wire/etcd_value.h - what the values of our keys in etcd hold, as bytes.
 *
 * All numbers are little-endian; each kind begins with its own four bytes, so that a key somebody
 * else wrote is told from one of ours. */
#ifndef WIRE_ETCD_VALUE_H
#define WIRE_ETCD_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"
#include "core/time.h"

/* A moment on the cluster's own clock: how long the leader of that term had been counting a lease
 * that never ends.  It was no later than `high`, and what it was derived from was `old` by then.
 * clock 0: it was not known. */
struct etcd_tick {
    uint64_t clock; /* the lease */
    uint64_t term;
    struct span high;
    struct span old;
};

/* In front of a record: its own clock at the commit (store/etcd_clock.h). */
struct etcd_stamp {
    struct instant now;
    struct etcd_tick tick;
};

#define ETCD_STAMP_BYTES 44

struct etcd_session {
    int64_t lease;
    struct span ttl;
};

#define ETCD_SESSION_BYTES 20

/* What a store says of itself. */
struct etcd_seal {
    uint64_t cluster;    /* the cluster that it was made or accepted in */
    uint64_t generation; /* how often an operator accepted it */
    uint64_t base;       /* what tokens are lifted by */
    int64_t clock;       /* the lease that never ends */
    int64_t distance;    /* entries of the log that made no revision, when it was sealed */
};

#define ETCD_SEAL_BYTES 44

void etcd_stamp_encode(const struct etcd_stamp *s, uint8_t to[ETCD_STAMP_BYTES]);
void etcd_session_encode(const struct etcd_session *s, uint8_t to[ETCD_SESSION_BYTES]);
void etcd_seal_encode(const struct etcd_seal *s, uint8_t to[ETCD_SEAL_BYTES]);

/* False for bytes that are none; then *ret is untouched.  A stamp is followed by its record. */
bool etcd_stamp_decode(const uint8_t *at, size_t len, struct etcd_stamp *ret);
bool etcd_session_decode(const uint8_t *at, size_t len, struct etcd_session *ret);
bool etcd_seal_decode(const uint8_t *at, size_t len, struct etcd_seal *ret);

/* A bell's value: hashes of names, */
void etcd_hash_encode(uint64_t hash, uint8_t to[8]);
uint64_t etcd_hash_decode(const uint8_t at[8]);

/* or news: one name, and what its record is since the commit that rang.  Its length is never a
 * multiple of 8: so it is not taken for hashes.  The record is behind the name. */
struct etcd_news {
    bool quiet;  /* for who is to know it and need not look */
    bool queued; /* whoever rang waits in the record already: it will not write it again now */
    struct text name;
    const uint8_t *record;
    size_t len;
};

#define ETCD_NEWS_NAME_MAX 255

size_t etcd_news_bytes(const struct etcd_news *n);
void etcd_news_encode(const struct etcd_news *n, uint8_t *to);
bool etcd_news_decode(const uint8_t *at, size_t len, struct etcd_news *ret);

#endif
