/* store/cache.h - what an engine behind a network remembers of its store, so that a decision needs
 * no look: records by their keys, sessions by their ids.
 *
 * Nothing in it is ever a verdict: each item is stamped with the number of the answer that last
 * said so, and an engine confirms what it decided on.  So what there is no room for is forgotten,
 * and asked for again. */
#ifndef STORE_CACHE_H
#define STORE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_BUCKETS 1024
#define CACHE_ITEMS_MAX 8192
#define CACHE_BYTES_MAX (16u << 20)

/* The first member of what is remembered. */
struct cached {
    struct cached *chain;
    uint64_t id; /* of a session; of a record: the hash of its key */
    char *key;   /* owned, as are the bytes; NULL for a session */
    void *bytes;
    size_t len;
    uint64_t stamp;
};

struct cache {
    struct cached *bucket[CACHE_BUCKETS];
    size_t count, bytes;
};

/* NULL: it is not known.  `key` NULL: by the id alone. */
void *cache_find(struct cache *c, uint64_t id, const char *key);
void *cache_find_key(struct cache *c, const char *key);

/* A new item of `size` bytes, all zero but for its head, with that stamp.  When there are too many,
 * all that have another one are forgotten first.  NULL without memory. */
void *cache_add(struct cache *c, uint64_t id, const char *key, size_t size, uint64_t stamp);

/* Takes a copy, in place of the bytes that were there; NULL: none.  False without memory. */
bool cache_put(struct cache *c, struct cached *x, const void *bytes, size_t len);

void cache_remove(struct cache *c, struct cached *x);
void cache_forget(struct cache *c);

#endif
