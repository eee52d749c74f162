/* sim/host.h - a machine: a clock that drifts, programs that can be paused or die, and a cable.
 *
 * A suspended machine is a paused one: its CLOCK_BOOTTIME goes on while nothing runs.
 */
#ifndef SIM_HOST_H
#define SIM_HOST_H

#include "core/time.h"
#include "sim/world.h"

struct host {
    char name[12];
    int64_t offset_us; /* of its clock at the start of the run */
    int64_t drift_ppm;
    int64_t wall_step_ms;   /* of its wall clock */
    int64_t paused_until_us; /* nothing runs before */
    uint64_t life;           /* counts its crashes: what belongs to an earlier life is gone */
    bool cut_in, cut_out;    /* no message arrives, or leaves */
};

void host_init(struct host *h, const char *name, int64_t offset_us, int64_t drift_ppm);

int64_t host_clock_us(const struct host *h);
struct instant host_clock(const struct host *h); /* in ms, rounded down like the real one */

/* The first instant of the world at which host_clock() is at least `local`. */
int64_t host_when_us(const struct host *h, struct instant local);

static inline bool host_is_paused(const struct host *h)
{
    return h->paused_until_us > world.now_us;
}

/* On whose machine the code runs now: what clock_now() reads. */
extern const struct host *host_current;

#endif
