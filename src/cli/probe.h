/* cli/probe.h - `--probe`: is the work healthy?
 *
 * Each ttl/3 the probe is run by sh -c, with ttl/3 as its limit.  While it fails the session is
 * not renewed, so that sick work loses its tenure, and is stopped, by the ordinary course and
 * within the ordinary times; when it succeeds again before that, nothing was lost.
 */
#ifndef CLI_PROBE_H
#define CLI_PROBE_H

#include <stdbool.h>

#include "cli/run.h"
#include "supervisor/supervisor.h"

struct probe {
    const char *command; /* NULL: there is no probe, and nothing here does anything */
    char *const *envp;   /* what the work finds, too */
    struct instant next;
    struct instant limit; /* of the run in flight; later it counts as failing */
    struct supervisor *running;
    bool failing;
    bool passed; /* once at least */
};

/* Opens it; the first run is due ttl/3 after the work has started. */
void probe_open(struct probe *p, const struct run *r, char *const *envp);

/* -1 while none runs. */
int probe_fd(const struct probe *p);

/* Starts and finishes runs as they are due; returns when to call again at the latest. */
struct instant probe_turn(struct probe *p, struct run *r);

/* Ends a run in flight, lets renewals go on, and counts terms that a failing probe has ended. */
void probe_close(struct probe *p, struct run *r);

#endif
