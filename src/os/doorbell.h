/* os/doorbell.h - processes of one user on one host wake each other, without a server.
 *
 * A doorbell hangs under a name that the kernel forgets together with who hung it.  The name is
 * seen in one network namespace, so containers that have namespaces of their own do not hear each
 * other; whoever rings is told.  Anybody on the host can take a name, or ring: both sides ask the
 * kernel who the other one is, and take no part in it when it is another user.
 *
 * A ring carries one number, and promises nothing: it says "look there".  Nothing here waits: who
 * is woken by a ring may be there before the ringer has gone on, so the number comes with the ring,
 * as the ringer's own name.
 */
#ifndef OS_DOORBELL_H
#define OS_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

#define DOORBELL_NAME_MAX 100

/* Hangs one under `name`, at most DOORBELL_NAME_MAX bytes.  Returns a descriptor (close-on-exec,
 * non-blocking, readable when it was rung; close() takes it down), or a negative errno: EADDRINUSE
 * when one hangs there. */
int doorbell_hang(const char *name);

/* Takes a ring: 1, and *ret is its number, or 0 when who rang has said none; 0: there is none; or a
 * negative errno: there is one that cannot be taken, for want of descriptors or memory.  Then the
 * descriptor stays readable: whoever waits for it would turn for ever, and takes it down. */
int doorbell_hear(int fd, uint64_t *ret);

/* Rings.  Says whether one of our own user's hangs there and has it. */
bool doorbell_ring(const char *name, uint64_t number);

#endif
