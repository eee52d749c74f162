/* sim/world.h - one run: virtual time, what happens next, what was seen, what went wrong.
 *
 * Everything happens in one thread, as events in the order of (time, order of scheduling), so
 * that a seed and a commit say all of it.  The time is in microseconds since the run began; only
 * hosts have clocks (sim/host.h).  After every event the judge looks at the whole world.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stddef.h>

#include "sim/plan.h"
#include "sim/random.h"

#define US_PER_MS 1000

struct world {
    struct plan plan;
    struct random random; /* of the world; the plan was drawn from the same seed before */
    int64_t now_us;
    uint64_t events;
    uint64_t steps; /* what actors and faults have done: a run is shortened by limiting them */
    uint64_t step_limit;
    uint64_t forbidden; /* 0, or the step that breaks the run: tests of what is shown then */
    bool quiet;   /* the faults have stopped: now everything must come to a good end */
    bool verbose; /* one line per event (docs/testing.md has the columns) */
    bool failed;
    char failure[480];
    uint64_t digest; /* of the trace, verbose or not */
    bool digesting;
};

/* The run of this process: there is one at a time. */
extern struct world world;

void world_begin(uint64_t seed, uint64_t step_limit);
void world_end(void);

typedef void event_fn(void *arg, uint64_t n);

/* Calls fn(arg, n) at `when_us`, or now when that is past. */
void world_at(int64_t when_us, event_fn *fn, void *arg, uint64_t n);

/* The next event; false when there is none before `limit_us`: then the time is limit_us. */
bool world_turn(int64_t limit_us);

/* Counts one step of an actor or a fault.  False when the run is to be quiet from here. */
bool world_step(void);

/* Memory until the end of the run, zeroed.  Never fails. */
void *world_alloc(size_t n);

/* One line of the trace. */
void world_trace(const char *who, const char *what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A promise was broken: the first one ends the run. */
void world_fail(const char *promise, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
