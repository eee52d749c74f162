/* os/spawn.h - starting a program so that it cannot outlive who started it unnoticed.
 *
 * The child is killed by the kernel when the thread that started it ends (PR_SET_PDEATHSIG),
 * is in its control group from its first instruction on, and gets back the signal mask and
 * dispositions that we were started with.  Descriptors: every one of ours is close-on-exec, so
 * the program has exactly those that its user handed to us on purpose.
 *
 * Whether the program could be executed is told through a pipe that exec closes, so "no such
 * file" is an errno and never an exit code that the program could have given itself.
 */
#ifndef OS_SPAWN_H
#define OS_SPAWN_H

#include "os/cgroup.h"
#include "os/signals.h"

struct spawn {
    char *const *argv; /* argv[0] is looked for in PATH of `envp` when it has no slash */
    char *const *envp;
    const struct signals_origin *signals;
    const struct cgroup *cgroup; /* one that does not exist is fine */
    bool aside; /* standard input is empty and standard output goes to standard error */
};

struct spawned {
    pid_t pid;     /* the caller reaps it */
    int report;    /* becomes readable when it is known what became of it: spawn_report() */
    bool in_group; /* it was born in the control group */
};

/* Starts it.  0 or -errno (the fork failed).  May be called in the child of a threaded process.
 * All signals should be blocked, so that none meets the child half prepared.  Where memory need not
 * be copied for the child, the caller sleeps until it is the program or has ended. */
int spawn_start(const struct spawn *s, struct spawned *ret);

/* Reads and closes the report: 0 when the program runs (or was killed before it could), or -errno
 * of what failed; then the child ends by itself. */
int spawn_report(int report);

#endif
