#include "store/record_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool record_make(struct record *r, const char *key, const void *bytes, size_t len)
{
    *r = (struct record){.key = strdup(key), .bytes = malloc(len), .len = len};
    if (!r->key || !r->bytes)
        return false;
    memcpy(r->bytes, bytes, len);
    return true;
}

void record_free(struct record *r)
{
    free(r->key);
    free(r->bytes);
    *r = (struct record){0};
}

size_t record_set_seek(const struct record_set *set, const char *key)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(set->at[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct record_set *set, size_t at, const char *key)
{
    return at < set->count && strcmp(set->at[at].key, key) == 0;
}

const struct record *record_set_get(const struct record_set *set, const char *key)
{
    size_t at = record_set_seek(set, key);
    return is_at(set, at, key) ? &set->at[at] : NULL;
}

bool record_set_reserve(struct record_set *set, size_t more)
{
    if (set->count + more <= set->cap)
        return true;
    size_t cap = 2 * set->cap + more;
    struct record *at = realloc(set->at, cap * sizeof *at);
    if (!at)
        return false;
    set->at = at;
    set->cap = cap;
    return true;
}

void record_set_put(struct record_set *set, struct record *r)
{
    size_t at = record_set_seek(set, r->key);
    if (is_at(set, at, r->key)) {
        record_free(&set->at[at]);
    } else {
        assert(set->count < set->cap);
        memmove(set->at + at + 1, set->at + at, (set->count - at) * sizeof *set->at);
        set->count++;
    }
    set->at[at] = *r;
    *r = (struct record){0};
}

void record_set_delete(struct record_set *set, const char *key)
{
    size_t at = record_set_seek(set, key);
    if (!is_at(set, at, key))
        return;
    record_free(&set->at[at]);
    set->count--;
    memmove(set->at + at, set->at + at + 1, (set->count - at) * sizeof *set->at);
}

void record_set_free(struct record_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        record_free(&set->at[i]);
    free(set->at);
    *set = (struct record_set){0};
}
