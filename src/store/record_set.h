/* store/record_set.h - records in memory, in the order of their keys. */
#ifndef STORE_RECORD_SET_H
#define STORE_RECORD_SET_H

#include <stdbool.h>
#include <stddef.h>

struct record {
    char *key; /* owned, as are the bytes */
    void *bytes;
    size_t len;
};

struct record_set {
    struct record *at;
    size_t count, cap;
};

/* Copies key and bytes; false without memory, and then it is to be freed all the same. */
bool record_make(struct record *r, const char *key, const void *bytes, size_t len);
void record_free(struct record *r);

/* The record of that key, or NULL; valid until the set changes. */
const struct record *record_set_get(const struct record_set *set, const char *key);

/* The index of the first record whose key is not below `key`. */
size_t record_set_seek(const struct record_set *set, const char *key);

/* Room for `more` further records, so that so many puts cannot fail; false without memory. */
bool record_set_reserve(struct record_set *set, size_t more);

/* Puts it in, in place of one with the same key; *r is empty afterwards.  Room was reserved. */
void record_set_put(struct record_set *set, struct record *r);

/* Takes it out if it is there. */
void record_set_delete(struct record_set *set, const char *key);

void record_set_free(struct record_set *set);

#endif
