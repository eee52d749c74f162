/* os/signals.h - signals as something to poll, and what they were before.
 *
 * A program that runs a command for others must give that command the signal mask and the
 * ignored signals that it was started with itself (nohup, a shell's background jobs), and
 * must not swallow or double what is meant for the command.  So this remembers the state at
 * the start, turns the signals that can be passed on into readable events, and leaves alone
 * those that were ignored: nohup goes on to work.
 *
 * One per process, from the main thread, before other threads start (they inherit the mask).
 */
#ifndef OS_SIGNALS_H
#define OS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* What a command is to find: the mask and the ignored signals of our own start. */
struct signals_origin {
    sigset_t mask;
    sigset_t ignored;
};

struct signals {
    int fd; /* poll for readability; close-on-exec */
    struct signals_origin origin;
};

struct signals_event {
    int signo;
    pid_t sender; /* 0: the kernel */

    /* The kernel sent it to the whole foreground process group of the terminal, so a command in
     * our group has it already and must not get it twice.  A hang-up that reaches us as the
     * leader of the session went to nobody else, and is not marked. */
    bool from_terminal;
};

/* The present mask and ignored signals, without changing anything. */
void signals_look(struct signals_origin *ret);

/* Blocks the signals that `origin`, which signals_look() has filled, does not ignore, and opens the
 * descriptor.  SIGPIPE is ignored and SIGCHLD is not, from now on.  0 or -errno. */
int signals_open(struct signals *s);

/* Takes the oldest: 1 and *ret is filled, or 0. */
int signals_next(struct signals *s, struct signals_event *ret);

/* Stops this process as SIGTSTP, SIGTTIN or SIGTTOU would have done it had we not taken it; to
 * be called after the command was stopped.  Returns when somebody continues us. */
void signals_suspend(int signo);

/* Puts everything back as it was and closes the descriptor.  What came and was not taken is gone:
 * it would end a process that has ended its work already, and in place of how that ended. */
void signals_close(struct signals *s);

/* In a child before exec: gives it the mask and dispositions of `origin`.  Async-signal-safe. */
void signals_restore(const struct signals_origin *origin);

#endif
