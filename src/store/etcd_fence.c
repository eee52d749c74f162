/* store/etcd_fence.c - names on which a write of ours may still be under way (P2). */
#include <stdlib.h>

#include "store/etcd_engine.h"
#include "store/room.h"

static size_t find(const struct etcd_store *s, uint64_t hash)
{
    size_t i = 0;
    while (i < s->fences && s->fence[i] != hash)
        i++;
    return i;
}

static void add(struct etcd_store *s, uint64_t hash)
{
    void *at = s->fence;
    if (find(s, hash) < s->fences)
        return;
    if (!room_for_one_more(&at, s->fences, &s->fences_cap, sizeof *s->fence))
        abort(); /* to go on would break a promise */
    s->fence = at;
    s->fence[s->fences++] = hash;
}

void etcd_fence_raise(struct etcd_store *s, const struct etcd_work *w)
{
    for (int i = 0; i < w->count; i++)
        add(s, store_key_hash(w->key[i]));
}

bool etcd_fence_stands(const struct etcd_store *s, const char *key)
{
    return s->fences > 0 && find(s, store_key_hash(key)) < s->fences;
}

void etcd_fence_remove(struct etcd_store *s, const char *key)
{
    size_t at = s->fences > 0 ? find(s, store_key_hash(key)) : 0;
    if (at < s->fences)
        s->fence[at] = s->fence[--s->fences];
}
