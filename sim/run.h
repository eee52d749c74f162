/* sim/run.h - one seed from its beginning to its end: chaos, then quiet, then nothing left.
 *
 * The chaos lasts for the plan's time or number of steps.  Then faults stop, and within a bound
 * that follows from the plan every actor must have had every name once more, no ticket and no
 * session may be left after all have closed, and no memory.
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct outcome {
    bool failed;
    uint64_t steps, events, digest;
    int64_t virtual_us;
};

/* Runs it; world.failure says what broke.  After a failure the process is good for nothing but to
 * end: its tasks and handles stay as they were. */
struct outcome run_seed(uint64_t seed, uint64_t step_limit);

#endif
