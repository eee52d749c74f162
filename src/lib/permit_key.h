/* lib/permit_key.h - what the keys of permits are made of; shared by the files of src/lib. */
#ifndef LIB_PERMIT_KEY_H
#define LIB_PERMIT_KEY_H

#include <tenure/issue.h>

#include "os/signature.h"

struct tenure_permit_key {
    struct signer *signer;
    uint64_t id;
};

struct permit_public_key {
    struct verifier *verifier;
    uint64_t id;
};

struct tenure_permit_keys {
    size_t count;
    struct permit_public_key *key; /* two can have one id, however unlikely */
};

#endif
