/* sim/engine.h - the store engine "sim:": an asynchronous one over the simulated network, like one
 * for etcd, or an embedded one that finishes every operation at once, like SQLite.
 *
 * WHAT A NETWORKED ENGINE HAS TO DO, and what this one shows (docs/adding-a-store.md):
 *  - an update reads, decides, and commits on the version that it read and on every session that
 *    the decision took for alive; after a conflict it decides again on what there is now;
 *  - a reply that does not come leaves the operation pending until the library abandons it;
 *  - an operation that was abandoned may still be under way.  So the next update of the same key
 *    writes in any case, if only a new version: whatever was under way then fails.  Without this a
 *    ticket could enter a record after its owner had made sure that it is not there (P2).
 * In half of the runs who is rung is told what was committed (GRANTS in store/store.h), however
 * late, and does not ask again when that is a grant.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "store/store.h"
#include "sim/host.h"

void engine_begin(void);

/* The handle of a store that was opened last. */
int engine_last_client(void);

/* Requests that a client sent, by kind: what standing by costs (P9). */
struct engine_cost {
    uint64_t reads, commits, renewals, others;
    uint64_t tidied; /* commits of the walk that tidies up, not in `commits` */
};
struct engine_cost engine_cost(int client);

#endif
