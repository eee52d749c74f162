/* supervisor/supervisor.h - runs a command so that nothing of it outlives its deadline.
 *
 * Promise P12: no process of the command's tree is alive after the deadline, and a release
 * happens only after the tree is gone.  P7: when we die, the tree dies at kernel speed, and who
 * waits in the store is let in only then.
 *
 * Two processes keep it, and either does when the other is stopped or killed:
 *
 *     supervisor (we) ---- guardian ---- command ---- children, daemons that detached, ...
 *          |  deadlines in shared memory  |
 *          own timer                      own timer, parent and subreaper of the whole tree,
 *                                         holds the lifeline until the tree is gone
 *
 * docs/supervisor.md lists every fault and what becomes of the tree, and what can survive.
 *
 * The supervisor knows no store and no lease: it is told deadlines, on clock_now().  The tree is
 * told to stop (stop_signal) at `stop_at` and killed from `kill_at` on; the time from kill_at
 * to the caller's own deadline is the margin, in which killing has to be done with.
 *
 * A LIFE
 *     [supervisor_stand_by() ->] signals_open() -> supervisor_start() -> poll supervisor_fd() and
 *     the signals:
 *       readable        supervisor_process() until it returns 0
 *       a renewal       supervisor_deadline() with the new deadlines
 *       a signal        unless event.from_terminal: supervisor_signal()
 *       evicted, ...    supervisor_stop()
 *     until SUPERVISOR_ENDED or SUPERVISOR_NOT_STARTED -> supervisor_close() -> release
 *
 * A health probe is a supervisor, too: `aside`, `without_group`, stop_at never, kill_at = its
 * time limit.
 *
 * WHAT THE CALLER OWES
 *   - every descriptor of its own is close-on-exec; 0, 1 and 2 are open;
 *   - once a supervisor runs it makes no children but through here (it becomes the subreaper of
 *     what a killed guardian leaves, and ends every new child that it does not know);
 *   - all calls come from one thread.  Other threads may exist.
 */
#ifndef SUPERVISOR_SUPERVISOR_H
#define SUPERVISOR_SUPERVISOR_H

#include "core/time.h"
#include "os/signals.h"

#include <stddef.h>
#include <tenure/error.h>

struct supervisor;

struct supervisor_options {
    char *const *argv;                    /* NULL-terminated; argv[0] is looked for in PATH */
    char *const *envp;                    /* NULL-terminated, complete */
    const struct signals_origin *signals; /* what the command finds; NULL: as they are now */
    int lifeline;              /* stays the caller's, the guardian has its own; -1: none */
    char *const *last_words; /* what the guardian executes, with envp, when we are dead and the tree
                              * is gone: [0] is a path; NULL: nothing */
    int stop_signal;           /* 0: SIGTERM */
    struct span leftover_grace; /* what the command leaves behind has so long to end by itself */
    struct instant stop_at, kill_at; /* the first deadlines; INSTANT_NEVER is allowed */
    struct span margin; /* from kill_at to the deadline; 0: unknown.  A tree too large to die within
                         * it is killed earlier, and after a third of it we lend a hand */
    struct span close_wait; /* how long supervisor_close() waits for what cannot be killed */
    bool without_group; /* use no control group */
    bool aside;         /* stdin is empty, stdout goes to stderr */
};

#define SUPERVISOR_OPTIONS_INIT                                                                    \
    { .lifeline = -1, .leftover_grace = {2000}, .stop_at = {INT64_MAX}, .kill_at = {INT64_MAX},    \
      .close_wait = {2000} }

enum supervisor_event_kind {
    SUPERVISOR_STARTED = 1, /* the command runs */
    SUPERVISOR_NOT_STARTED, /* final: `error` is the errno; supervisor_exec_code() maps it */
    SUPERVISOR_STOPPING,    /* the tree was told to stop, because of stop_at or supervisor_stop() */
    SUPERVISOR_LEFTOVERS,   /* the command has ended and left `count` processes: waiting for them */
    SUPERVISOR_STUCK,       /* `count` processes, one is `pid`, do not end by SIGKILL: not ours to
                             * signal, or in the kernel's hands.  Go on waiting, or give up */
    SUPERVISOR_ENDED,       /* final: the tree is gone */
};

/* Why it ended; the first that applied. */
enum supervisor_cause {
    SUPERVISOR_BY_ITSELF = 1, /* the command ended */
    SUPERVISOR_ASKED,         /* after supervisor_stop() */
    SUPERVISOR_DEADLINE,      /* after stop_at or kill_at */
    SUPERVISOR_GUARDIAN_DIED, /* somebody killed the guardian: the tree was killed, too */
};

struct supervisor_event {
    enum supervisor_event_kind kind;
    enum supervisor_cause cause; /* ENDED */
    int status;                  /* ENDED, LEFTOVERS: wait status, see supervisor_exit_code() */
    int error;                   /* NOT_STARTED */
    pid_t pid;                   /* STARTED: the command; STUCK */
    size_t count;                /* LEFTOVERS, STUCK; ENDED: those that had been left behind */
    bool forced;                 /* ENDED: SIGKILL was needed */
};

/* Starts a guardian that has nothing to do yet.  A caller with much memory, or for whom the start
 * of the command is urgent, does so beforehand: no fork is left for supervisor_start().  Whoever
 * waits with it costs the machine a process more.  *ret is the caller's, and ended with
 * supervisor_start() or supervisor_close().  TENURE_NO_MEMORY; TENURE_INTERNAL when the machine
 * does not let us (no /proc, no pidfd, no more processes): `err` says what.  SIGCHLD is not
 * ignored from then on: signals_look() before. */
int supervisor_stand_by(struct supervisor **ret, tenure_error *err);

/* Has the guardian start the command; whether that worked is an event.  `ready` is one that stands
 * by, and is taken in any case; NULL, or killed meanwhile: one is started now.  *ret is the
 * caller's and ended with supervisor_close().  Errors as above. */
int supervisor_start(const struct supervisor_options *opt, struct supervisor *ready,
                     struct supervisor **ret, tenure_error *err);

/* Readable when supervisor_process() has work.  Never read from it. */
int supervisor_fd(const struct supervisor *s);

/* Does what is due.  1: *ret is an event, call again; 0: nothing more now. */
int supervisor_process(struct supervisor *s, struct supervisor_event *ret);

/* New deadlines, later or earlier; costs one system call when they are later.  A tree that was
 * told to stop stays told. */
void supervisor_deadline(struct supervisor *s, struct instant stop_at, struct instant kill_at);

/* Tells the tree to stop now, and kills it at kill_at (INSTANT_NEVER: no limit of its own) or at
 * the deadline, what comes first. */
void supervisor_stop(struct supervisor *s, struct instant kill_at);

/* Sends a signal to the command alone, once it has started.  One that has ended needs none. */
void supervisor_signal(struct supervisor *s, int signo);

/* Kills what is left, waits until it is gone, and frees.  Returns NULL; NULL is fine.  Waits at
 * most close_wait for processes that cannot be killed: the guardian stays with those, and with
 * its lifeline, alone.  Of one that only stood by nothing is left but the guardian. */
struct supervisor *supervisor_close(struct supervisor *s);

/* 0 to 255 for an exit, 128 + n for death by signal n: as shells do. */
int supervisor_exit_code(int status);

/* 127 when the program was not found, 126 when it could not be run. */
int supervisor_exec_code(int error);

#endif
