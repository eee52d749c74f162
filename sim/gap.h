/* sim/gap.h - how long nobody holds a name whose holder's host has vanished while somebody waits.
 *
 * `tenure timing` prints a bound for it (timing_gap_max()); here it is measured: from the crash of
 * the holder's host to the moment at which the first in the queue believes that it holds.  Only in
 * calm runs (sim/plan.h), in which nothing befalls the one that waits.
 */
#ifndef SIM_GAP_H
#define SIM_GAP_H

#include "core/claim.h"
#include "sim/world.h"

#define GAP_BINS 10

struct gap_tally {
    uint64_t count;
    uint64_t bin[GAP_BINS]; /* by the share of the bound, in tenths */
    int64_t longest_permille; /* of the bound */
};

void gap_begin(void);

/* A host has vanished whose belief in `name` stood, with a session of this ttl. */
void gap_open(int name, struct span ttl);

/* Somebody believes in a tenure of `name` now. */
void gap_close(int name, struct ticket_id id);

#endif
