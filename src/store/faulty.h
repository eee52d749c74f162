/* store/faulty.h - a store that fails as told, around any other.
 *
 * Faults come from a script and a seed, so a run can be repeated.  For each call the first rule
 * that applies decides.  No fault breaks the contract of store.h: what is refused did not happen,
 * what is unsure may have, and a session that was called dead stays dead. */
#ifndef STORE_FAULTY_H
#define STORE_FAULTY_H

#include "store/store.h"

enum faulty_call {
    FAULTY_ANY = 0, /* of the five below */
    FAULTY_UPDATE,
    FAULTY_OPEN,
    FAULTY_RENEW,
    FAULTY_CLOSE,
    FAULTY_READ,
    FAULTY_HINT, /* a hint that would be given; FAULT_LOSE is its only fault */
    FAULTY_CALLS,
};

enum fault {
    FAULT_REFUSE, /* it does not happen: TENURE_UNREACHABLE */
    FAULT_LOSE,   /* it happens, and the reply is lost: TENURE_UNSURE; a hint is lost */
    FAULT_SLOW,   /* it happens at once, and is done after `turns` calls of process() */
    FAULT_LATE,   /* it happens only after `turns` calls of process() */
    FAULT_DEAD,   /* the session is ended, then: TENURE_LOST (renewals only) */
    FAULT_TWICE,  /* it happens twice, as after a retransmission; the second reply counts */
};

struct faulty_rule {
    enum faulty_call call;
    enum fault fault;
    uint32_t from;    /* the first call of its kind that it is for; 0 and 1: the first */
    uint32_t times;   /* how many calls in a row; 0: all further ones */
    uint32_t percent; /* of those, by the seed; 0: all */
    uint32_t turns;
};

/* Wraps a store, which from now on is closed with the wrapper.  The rules are copied.  NULL
 * without memory; then `inner` is as it was. */
struct store *faulty_wrap(struct store *inner, const struct faulty_rule *rules, size_t count,
                          uint64_t seed);

#endif
