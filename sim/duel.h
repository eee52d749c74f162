/* sim/duel.h - one holder, one that waits, and one thing that happens to the holder.
 *
 * What `tenure timing` prints as the gap is a bound for exactly this: a duel measures it.  Nothing
 * else goes wrong; the clocks drift within the bound, the phase of the renewals, the latencies
 * and the ttl are drawn from the seed.  The judge looks on, so an overlap ends the run as broken.
 */
#ifndef SIM_DUEL_H
#define SIM_DUEL_H

#include <stdbool.h>
#include <stdint.h>

enum blow {
    BLOW_CRASH,      /* the holder's host vanishes */
    BLOW_CUT,        /* its cable is pulled out: it lives, and cannot be heard */
    BLOW_PAUSE,      /* it is stopped, or suspended, and wakes up when all is over */
    BLOW_LOCAL_KILL, /* its process dies on the machine of an embedded store */
};
#define BLOW_COUNT 4

struct duel {
    bool failed; /* world.failure says why */
    int64_t ttl_ms;
    int64_t gap_us;   /* from the blow until the other one knows that it holds */
    int64_t bound_us; /* what timing_gap_max() says */
};

/* Fights it.  Once in the life of a process: it leaves everything as it is. */
struct duel duel_fight(uint64_t seed, enum blow blow);

const char *blow_text(enum blow blow);

#endif
