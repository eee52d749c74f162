/* store/postgres_memory.c - the records that we remember, so that a decision needs no look. */
#include <stdlib.h>
#include <string.h>

#include "store/postgres_engine.h"

#define BYTES_MAX (16u << 20) /* of records; more are forgotten, and asked for again */

static struct known_record **bucket(struct pg_store *s, const char *key)
{
    return &s->known.record[store_key_hash(key) % KNOWN_BUCKETS];
}

struct known_record *known_record(struct pg_store *s, const char *key)
{
    struct known_record *k = *bucket(s, key);
    while (k && strcmp(k->key, key) != 0)
        k = k->chain;
    return k;
}

static void record_drop(struct pg_store *s, struct known_record **at)
{
    struct known_record *k = *at;
    *at = k->chain;
    s->known.records--;
    s->known.bytes -= k->len;
    free(k->key);
    free(k->bytes);
    free(k);
}

/* Forgets all but what the present answer said, when there is too much. */
static void make_room(struct pg_store *s)
{
    if (s->known.records < KNOWN_MAX && s->known.bytes < BYTES_MAX)
        return;
    for (size_t i = 0; i < KNOWN_BUCKETS; i++) {
        struct known_record **at = &s->known.record[i];
        while (*at) {
            if ((*at)->stamp != s->stamp)
                record_drop(s, at);
            else
                at = &(*at)->chain;
        }
    }
}

static void record_forget(struct pg_store *s, const char *key)
{
    struct known_record **at = bucket(s, key);
    while (*at && strcmp((*at)->key, key) != 0)
        at = &(*at)->chain;
    if (*at)
        record_drop(s, at);
}

static struct known_record *record_new(struct pg_store *s, const char *key)
{
    make_room(s);
    struct known_record *k = calloc(1, sizeof *k);
    if (k && !(k->key = strdup(key))) {
        free(k);
        k = NULL;
    }
    if (k) {
        struct known_record **at = bucket(s, key);
        k->chain = *at;
        *at = k;
        s->known.records++;
    }
    return k;
}

void known_record_set(struct pg_store *s, const char *key, uint64_t version, uint64_t floor,
                      const void *bytes, size_t len)
{
    struct known_record *k = known_record(s, key);
    if (!k)
        k = record_new(s, key);
    if (!k)
        return; /* without memory it is not remembered, and asked for again */
    void *copy = NULL;
    if (version == 0)
        len = 0;
    if (version != 0 && !(copy = malloc(len ? len : 1))) {
        record_forget(s, key);
        return;
    }
    if (copy && len > 0)
        memcpy(copy, bytes, len);
    s->known.bytes += len - k->len;
    free(k->bytes);
    k->bytes = copy;
    k->len = len;
    k->version = version;
    k->floor = floor;
    k->stamp = s->stamp;
}

void known_forget(struct pg_store *s)
{
    for (size_t i = 0; i < KNOWN_BUCKETS; i++) {
        while (s->known.record[i])
            record_drop(s, &s->known.record[i]);
        while (s->known.session[i]) {
            struct known_session *k = s->known.session[i];
            s->known.session[i] = k->chain;
            free(k);
        }
    }
    s->known.sessions = 0;
}
