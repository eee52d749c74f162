#include "store/fence_set.h"

#include <stdlib.h>

#include "store/room.h"
#include "store/store.h"

static size_t find(const struct fence_set *f, const char *key)
{
    uint64_t hash = store_key_hash(key);
    size_t i = 0;
    while (i < f->count && f->key_hash[i] != hash)
        i++;
    return i;
}

static void raise_one(struct fence_set *f, const char *key)
{
    void *at = f->key_hash;
    if (fence_stands(f, key))
        return;
    if (!room_for_one_more(&at, f->count, &f->cap, sizeof *f->key_hash))
        abort();
    f->key_hash = at;
    f->key_hash[f->count++] = store_key_hash(key);
}

void fence_raise(struct fence_set *f, char *const *key, int count)
{
    for (int i = 0; i < count; i++)
        raise_one(f, key[i]);
}

bool fence_stands(const struct fence_set *f, const char *key)
{
    return f->count > 0 && find(f, key) < f->count;
}

void fence_remove(struct fence_set *f, const char *key)
{
    size_t at = f->count > 0 ? find(f, key) : 0;
    if (at < f->count)
        f->key_hash[at] = f->key_hash[--f->count];
}

void fence_set_free(struct fence_set *f)
{
    free(f->key_hash);
    *f = (struct fence_set){0};
}
