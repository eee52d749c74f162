/* lib/holder.h - who holds a name that something demands to be held under an epoch. */
#ifndef LIB_HOLDER_H
#define LIB_HOLDER_H

#include "store/store.h"
#include "wire/record.h"

struct holder {
    uint64_t token; /* 0: nobody */
    char as[CLAIM_AS_BYTES_MAX + 1];
};

/* Decodes the record of the name into *scratch, and notes the first who holds it. */
enum record_flaw holder_find(const struct store_record *record, struct claim *scratch,
                             struct holder *ret);

/* Says that the name is not held under that epoch, and what is so instead: TENURE_NOT_OWNED. */
int holder_explain(const struct holder *h, const char *name, uint64_t epoch, tenure_error *err);

#endif
