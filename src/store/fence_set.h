/* store/fence_set.h - names on which a write that was given up may still be under way (P2).
 *
 * An update that is abandoned must have taken effect, or must never do so, by the time the next one
 * of the same key is done (store.h, ASYNCHRONY).  So an engine that compares versions writes the
 * next one under a new version even when it changes nothing; this remembers where that is due. */
#ifndef STORE_FENCE_SET_H
#define STORE_FENCE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fence_set {
    uint64_t *key_hash;
    size_t count, cap;
};

/* For each of the keys.  Without memory it ends the process: to go on would break a promise. */
void fence_raise(struct fence_set *f, char *const *key, int count);

bool fence_stands(const struct fence_set *f, const char *key);

/* The write that it was raised for has been overtaken. */
void fence_remove(struct fence_set *f, const char *key);

void fence_set_free(struct fence_set *f);

#endif
