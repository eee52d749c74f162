/* os/waiter.h - one descriptor for life, and waiting on it.
 *
 * An epoll descriptor that nests whatever the store has and a timer on CLOCK_BOOTTIME, so that it
 * becomes readable when there is work or a deadline, also after suspend, in any foreign event
 * loop.  Not thread-safe but for waiter_wait(), which touches nothing that the others change, and
 * is one thread's at a time.
 */
#ifndef OS_WAITER_H
#define OS_WAITER_H

#include "core/time.h"

struct waiter {
    int fd; /* readable when something is to be done */
    int timer_fd;
    int nudge_fd; /* for who is in waiter_wait(), and for no foreign event loop */
    struct instant armed; /* INSTANT_NEVER when the timer is off, or has fired */
};

/* Makes one that also watches `nested` (-1: nothing).  Returns 0, or a negative errno; then there
 * is nothing to close. */
int waiter_open(struct waiter *w, int nested);
void waiter_close(struct waiter *w);

/* Sets the timer to `when`, whatever it was. */
void waiter_arm(struct waiter *w, struct instant when);

/* Waits until it is readable, `until` has come, or it is nudged; says whether it is readable. */
bool waiter_wait(const struct waiter *w, struct instant until);

/* Ends the waiter_wait() of another thread, or the next one. */
void waiter_nudge(const struct waiter *w);

/* Takes note of a timer that has fired. */
void waiter_drain(struct waiter *w);

#endif
