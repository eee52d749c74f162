#include "store/cache.h"

#include <stdlib.h>
#include <string.h>

#include "store/store.h"

/* Ids may have all their low bits in common. */
static struct cached **bucket_of(struct cache *c, uint64_t id)
{
    return &c->bucket[(id * 0x9e3779b97f4a7c15u >> 32) % CACHE_BUCKETS];
}

void *cache_find(struct cache *c, uint64_t id, const char *key)
{
    struct cached *x = *bucket_of(c, id);
    while (x && (x->id != id || (key && strcmp(x->key, key) != 0)))
        x = x->chain;
    return x;
}

void *cache_find_key(struct cache *c, const char *key)
{
    return cache_find(c, store_key_hash(key), key);
}

static void drop(struct cache *c, struct cached **at)
{
    struct cached *x = *at;
    *at = x->chain;
    c->count--;
    c->bytes -= x->len;
    free(x->key);
    free(x->bytes);
    free(x);
}

static void make_room(struct cache *c, uint64_t stamp)
{
    if (c->count < CACHE_ITEMS_MAX && c->bytes < CACHE_BYTES_MAX)
        return;
    for (size_t i = 0; i < CACHE_BUCKETS; i++) {
        for (struct cached **at = &c->bucket[i]; *at;) {
            if ((*at)->stamp != stamp)
                drop(c, at);
            else
                at = &(*at)->chain;
        }
    }
}

void *cache_add(struct cache *c, uint64_t id, const char *key, size_t size, uint64_t stamp)
{
    make_room(c, stamp);
    struct cached *x = calloc(1, size);
    char *copy = key ? strdup(key) : NULL;
    if (!x || (key && !copy)) {
        free(x);
        free(copy);
        return NULL;
    }
    struct cached **at = bucket_of(c, id);
    *x = (struct cached){.chain = *at, .id = id, .key = copy, .stamp = stamp};
    *at = x;
    c->count++;
    return x;
}

bool cache_put(struct cache *c, struct cached *x, const void *bytes, size_t len)
{
    void *copy = bytes ? malloc(len ? len : 1) : NULL;
    if (bytes && !copy)
        return false;
    if (copy && len > 0)
        memcpy(copy, bytes, len);
    c->bytes += len - x->len;
    free(x->bytes);
    x->bytes = copy;
    x->len = len;
    return true;
}

void cache_remove(struct cache *c, struct cached *x)
{
    struct cached **at = bucket_of(c, x->id);
    while (*at != x)
        at = &(*at)->chain;
    drop(c, at);
}

void cache_forget(struct cache *c)
{
    for (size_t i = 0; i < CACHE_BUCKETS; i++) {
        while (c->bucket[i])
            drop(c, &c->bucket[i]);
    }
}
