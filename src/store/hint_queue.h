/* store/hint_queue.h - hints on their way to the one who asked: each name once, and when there are
 * too many, "look at everything". */
#ifndef STORE_HINT_QUEUE_H
#define STORE_HINT_QUEUE_H

#include "store/store.h"

#define HINT_QUEUE_MAX 256

struct hint_queue {
    uint64_t key_hash[HINT_QUEUE_MAX];
    size_t head, count;
    bool all; /* covers what is queued */
};

void hint_queue_add(struct hint_queue *q, uint64_t key_hash);

bool hint_queue_is_empty(const struct hint_queue *q);

/* The next hint; false when there is none. */
bool hint_queue_take(struct hint_queue *q, struct store_hint *ret);

#endif
