/* os/doorbell.h - processes of one user on one host wake each other, without a server.
 *
 * A doorbell hangs under a name that the kernel forgets together with who hung it.  The name is
 * seen in one network namespace, so containers that have namespaces of their own do not hear each
 * other; whoever rings is told.  Anybody on the host can take a name, or ring: both sides ask the
 * kernel who the other one is, and take no part in it when it is another user.
 *
 * A ring carries one number, and promises nothing: it says "look there".  Nothing here waits: who
 * is woken by a ring may be there before the ringer has gone on, so the number comes with the ring,
 * as the ringer's own name.  What is to be told besides follows a moment later, on a line.
 */
#ifndef OS_DOORBELL_H
#define OS_DOORBELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DOORBELL_NAME_MAX 100

/* Hangs one under `name`, at most DOORBELL_NAME_MAX bytes.  Returns a descriptor (close-on-exec,
 * non-blocking, readable when it was rung; close() takes it down), or a negative errno: EADDRINUSE
 * when one hangs there. */
int doorbell_hang(const char *name);

struct ring {
    uint64_t number; /* 0: who rang has said none */
    int line;        /* the caller's to close: on it the news come; -1: there are none */
};

/* Takes a ring: 1, and *ret is filled; 0: there is none; or a negative errno: there is one that
 * cannot be taken, for want of descriptors or memory.  Then the descriptor stays readable: whoever
 * waits for it would turn for ever, and takes it down. */
int doorbell_hear(int fd, struct ring *ret);

/* Takes the news: how long they are; 0: none will come, or they do not fit; -EAGAIN: not yet, the
 * line is readable then. */
ssize_t doorbell_listen(int line, void *buf, size_t cap);

/* Rings, and tells `len` bytes of news, if any.  Says whether one of our own user's hangs there and
 * has the ring; whether it gets the news nobody knows. */
bool doorbell_ring(const char *name, uint64_t number, const void *news, size_t len);

#endif
