/* store/neighbours.h - who uses the same store from this host, and hears us without the server.
 *
 * A server that wakes a waiter has first to be asked to, and PostgreSQL wakes all who listen in the
 * database for one.  Whoever waits on this host, as the same user, hangs a doorbell (os/doorbell.h)
 * under the place of the store and its session, so who grants it something rings there; and only
 * where nobody hears that, at the server.  Both are hints, as HINTS in store/store.h says; what is
 * told besides is for the engine to believe or not.
 *
 * Two who write the same place in two ways ("localhost", "127.0.0.1") do not hear each other here.
 */
#ifndef STORE_NEIGHBOURS_H
#define STORE_NEIGHBOURS_H

#include "os/doorbell.h"
#include "store/hint_queue.h"

#define NEIGHBOURS_NEWS_MAX 9000 /* bytes */
#define NEIGHBOURS_LINES_MAX 8   /* rings whose news are still to come */

/* What is done with news, before the hint that came with them is given. */
typedef void neighbours_news_fn(void *arg, const void *news, size_t len);

struct neighbours {
    bool off;
    uint64_t place; /* a hash of where the store is and which it is; 0: not known yet */
    uint64_t session; /* whose doorbell hangs, or could not be hung; 0: none */
    int fd;         /* -1: none */
    int epoll;      /* in which the doorbell and the lines are */
    struct ring line[NEIGHBOURS_LINES_MAX];
    size_t lines;
};

void neighbours_init(struct neighbours *n);

/* We are `session` now (0: none) of the store at `place`: takes down the doorbell of before, and
 * hangs a new one into the epoll set.  When that fails, only the server's bell is heard. */
void neighbours_settle(struct neighbours *n, int epoll, uint64_t place, uint64_t session);

/* Takes down what hangs, and closes the descriptors.  The epoll set is still open. */
void neighbours_close(struct neighbours *n);

/* In the child after fork(): closes the descriptors; what the parent watches stays so. */
void neighbours_forked(struct neighbours *n);

/* Turns the rings that have come into hints, and gives news to fn.  When a ring cannot be taken,
 * the doorbell is taken down until we are another session, and only the server's bell is heard. */
void neighbours_hear(struct neighbours *n, struct hint_queue *hints, neighbours_news_fn *fn,
                     void *arg);

/* Rings at a session about a name, with news or (len 0) without.  False: it is none of this host
 * and user, or does not listen. */
bool neighbours_ring(const struct neighbours *n, uint64_t session, uint64_t key_hash,
                     const void *news, size_t len);

#endif
