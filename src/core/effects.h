/* core/effects.h - what follows from a decision, besides the record: whom to wake, whom to tell. */
#ifndef CORE_EFFECTS_H
#define CORE_EFFECTS_H

#include "core/claim.h"

struct effects {
    bool changed; /* the record is to be written (claim_is_idle: may be deleted later) */

    /* Sessions that should look at this name soon: a hint, it may be lost. */
    uint32_t ring_count;
    uint64_t ring[CLAIM_TICKETS_MAX];

    /* The session that is most likely the next to change this record, 0 for none: its holder, when
     * somebody has queued.  It need not look; an engine may let it know what there is to change. */
    uint64_t next;

    /* The session that must have looked before its next renewal counts, 0 for none: it was told
     * to stop.  (One rule tells at most one.) */
    uint64_t notice;
};

/* Nothing follows. */
void effects_clear(struct effects *fx);

/* Wakes a session, once; 0 is none. */
void effects_ring(struct effects *fx, uint64_t session);

/* Does not wake it after all. */
void effects_unring(struct effects *fx, uint64_t session);

bool effects_rings(const struct effects *fx, uint64_t session);

#endif
