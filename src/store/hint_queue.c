#include "store/hint_queue.h"

void hint_queue_add(struct hint_queue *q, uint64_t key_hash)
{
    for (size_t i = 0; i < q->count; i++) {
        if (q->key_hash[(q->head + i) % HINT_QUEUE_MAX] == key_hash)
            return;
    }
    if (q->count == HINT_QUEUE_MAX)
        q->all = true;
    else
        q->key_hash[(q->head + q->count++) % HINT_QUEUE_MAX] = key_hash;
}

bool hint_queue_is_empty(const struct hint_queue *q)
{
    return !q->all && q->count == 0;
}

bool hint_queue_take(struct hint_queue *q, struct store_hint *ret)
{
    if (q->all) {
        q->all = false;
        q->count = 0;
        *ret = (struct store_hint){.all = true};
        return true;
    }
    if (q->count == 0)
        return false;
    *ret = (struct store_hint){.key_hash = q->key_hash[q->head]};
    q->head = (q->head + 1) % HINT_QUEUE_MAX;
    q->count--;
    return true;
}
