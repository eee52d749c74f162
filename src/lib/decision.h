/* lib/decision.h - one rule applied to one record: decode, decide, encode.
 *
 * A decision is what a store calls within its atomic step.  It depends on its inputs and on the
 * view alone, so it may be called again; what it found is in the outputs afterwards. */
#ifndef LIB_DECISION_H
#define LIB_DECISION_H

#include "store/store.h"
#include "wire/record.h"

enum decision_rule {
    DECIDE_ASK,
    DECIDE_LOOK,
    DECIDE_LEAVE,
    DECIDE_SERVE,
    DECIDE_PUBLISH,
    DECIDE_LEASE_TAKE,
    DECIDE_LEASE_RENEW,
    DECIDE_LEASE_DROP,
    DECIDE_END,
    DECIDE_RESIGN,
    DECIDE_TRANSFER,
    DECIDE_ROLLBACK,
    DECIDE_SWEEP,
};

/* How long a record that is only history is kept, on the store's clock. */
#define DECISION_HISTORY_MS (30LL * 24 * 3600 * 1000)

struct decision {
    /* inputs */
    struct claim *scratch; /* the handle's; valid only during the call */
    enum decision_rule rule;
    struct ask ask;      /* ASK, LEASE_TAKE */
    struct ticket_id id; /* LOOK, LEAVE, SERVE, PUBLISH */
    uint64_t token;      /* LOOK, LEASE_*, END */
    bool undisturbed;    /* LOOK: GRANTS in store/store.h */
    struct span ttl;     /* LEASE_RENEW */
    enum cause cause;    /* END */
    struct text value;   /* PUBLISH */
    struct text to, former, by, reason;

    /* outputs */
    enum record_flaw flaw;      /* when the operation ended with CORRUPT or FOREIGN */
    struct standing standing;   /* its texts point into the buffers below */
    tenure_kind kind;           /* of the record, as it was found */
    uint32_t permits;
    struct instant now;         /* the store's clock at the decision, */
    struct span behind;         /* or as much later */
    char as[CLAIM_AS_BYTES_MAX + 1];
    char ended_by[CLAIM_AS_BYTES_MAX + 1];
    char ended_reason[CLAIM_REASON_BYTES_MAX + 1];
};

/* A store_decide_fn whose argument is a struct decision: returns an enum verdict. */
int decision_apply(void *arg, struct store_view *view);

#endif
