/* supervisor/guardian.h - the process that stands between the supervisor and the command.
 *
 * The guardian is the parent of the command and the subreaper of its whole tree.  It has its own
 * timer, so the tree is ended at the deadline when the supervisor is stopped, and at once when
 * the supervisor dies.  It holds the lifeline until the tree is gone, so the store lets nobody
 * else in before.  It talks to nobody else, takes nothing from the heap while the tree lives, and
 * never trusts the supervisor to be alive: what it needs is in the leash.  When the supervisor died
 * first, and the store cannot see that, the guardian's last act is to execute who tells it.
 *
 * It is born before there is a command (supervisor/orders.h), stands by without a limit, and ends
 * when the supervisor does.
 *
 * It leaves the session and process group of the command: what is sent to the terminal's group,
 * or by `kill -9 -GROUP`, `timeout` and shells, must not take the guardian along.
 */
#ifndef SUPERVISOR_GUARDIAN_H
#define SUPERVISOR_GUARDIAN_H

#include "supervisor/orders.h"

#include <stddef.h>

/* What the guardian tells, one datagram each. */
enum report_kind {
    REPORT_STARTED = 1, /* the command runs */
    REPORT_FAILED,      /* it could not be run: value is the errno.  The last report */
    REPORT_STOPPING,    /* the tree was told to stop */
    REPORT_LEFTOVERS,   /* the command ended, `count` processes are left */
    REPORT_STUCK,       /* value: a process that SIGKILL did not end; count of them */
    REPORT_GONE,        /* the tree is gone; how the command ended is in the leash.  The last */
};

struct report {
    enum report_kind kind;
    int value;
    size_t count;
    bool forced; /* GONE: SIGKILL was used on the tree */
};

struct guardian_start {
    struct orders *orders;
    const struct tree *tree; /* the supervisor's */
    int supervisor;     /* our end of the socket pair: its end of file is the supervisor's death */
    int supervisor_end; /* the other end, to be closed in the guardian */
};

/* The life of the guardian, in a child just forked with all signals blocked and SIGCHLD at its
 * default: it waits for a datagram with the descriptors that the orders name, and then carries them
 * out.  Does not return. */
_Noreturn void guardian_run(const struct guardian_start *start);

#endif
