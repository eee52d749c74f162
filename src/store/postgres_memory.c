/* store/postgres_memory.c - the records that we remember, so that a decision needs no look. */
#include "store/postgres_engine.h"

struct known_record *known_record(struct pg_store *s, const char *key)
{
    return cache_find_key(&s->records, key);
}

void known_record_set(struct pg_store *s, const char *key, uint64_t version, uint64_t floor,
                      const void *bytes, size_t len)
{
    struct known_record *k = known_record(s, key);
    if (!k)
        k = cache_add(&s->records, store_key_hash(key), key, sizeof *k, s->stamp);
    if (!k)
        return; /* without memory it is not remembered, and asked for again */
    if (!cache_put(&s->records, &k->head, version != 0 ? bytes : NULL, version != 0 ? len : 0)) {
        cache_remove(&s->records, &k->head);
        return;
    }
    k->version = version;
    k->floor = floor;
    k->told = false;
    k->head.stamp = s->stamp;
}
