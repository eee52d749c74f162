/* os/lifeline.h - whether a process of this machine runs, at the speed of the kernel and without
 * process ids, and a bell at its door.
 *
 * Each session has a FIFO in one directory, named by the session's id.  Its owner holds it open
 * for reading and writing, and is its only reader.  Anybody else who opens it for writing
 *   succeeds              the owner runs; poll() on the descriptor reports POLLERR the moment the
 *                         owner's last descriptor is closed, however it died
 *   fails with ENXIO      the owner has ended: final, a FIFO is never opened for reading again
 *   fails otherwise       nothing is known; the session's expiry decides.  In particular a FIFO
 *                         that is missing proves nothing, or removing a directory would kill
 *                         everybody at once while they still believe that they hold
 * So it works between PID namespaces, with reused pids, and after a reboot.  Eight bytes written
 * to it ring the owner's bell; a full FIFO loses them, which a hint may be.
 *
 * A descriptor of the owner's keeps the session running in whatever process it is: descriptors
 * are close-on-exec, and a forked child calls lifelines_forked().  SIGPIPE never reaches the
 * program.  One thread at a time per struct lifelines.
 */
#ifndef OS_LIFELINE_H
#define OS_LIFELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenure/error.h>

#include "os/rights.h"

#define LIFELINES_CACHED 64 /* descriptors of others that are kept open */

enum lifeline_state {
    LIFELINE_RUNS,
    LIFELINE_ENDED,
    LIFELINE_UNKNOWN,
};

struct lifelines;

/* Opens the directory, or makes it; `file` are the rights of the FIFOs in it, and those of the
 * directory follow from them.  The path is copied.  Errors: TENURE_DENIED,
 * TENURE_READ_ONLY, TENURE_NO_SPACE, TENURE_NO_MEMORY, TENURE_UNREACHABLE. */
int lifelines_open(const char *dir, const struct rights *file, struct lifelines **ret,
                   tenure_error *err);

/* Closes all; our own FIFO stays, and says from now on that its owner has ended.  Returns NULL;
 * NULL is fine. */
struct lifelines *lifelines_close(struct lifelines *l);

/* In the child after fork(): closes all descriptors and touches no file. */
void lifelines_forked(struct lifelines *l);

/* Makes and holds the FIFO of session `id`, which nobody else ever had or will have.  A file of
 * that name can only be the remains of one who died before its session was committed, and is
 * replaced.  Any FIFO that was held before is let go of. */
int lifelines_hold(struct lifelines *l, uint64_t id, tenure_error *err);

/* The session that we hold, 0 for none; its descriptor, -1 for none. */
uint64_t lifelines_own(const struct lifelines *l);
int lifelines_own_fd(const struct lifelines *l);

/* Whether the FIFO that we hold is still the one that others find. */
bool lifelines_own_intact(const struct lifelines *l);

/* Lets go of ours: its FIFO stays, and says from now on that its owner has ended. */
void lifelines_drop(struct lifelines *l);

/* Whether a session's process runs; about 1 us. */
enum lifeline_state lifelines_ask(struct lifelines *l, uint64_t id);

/* Removes the FIFO of a dead session. */
void lifelines_bury(struct lifelines *l, uint64_t id);

/* A new descriptor, the caller's to close, on which poll() reports POLLERR when the session's
 * process ends.  -1: it cannot be watched, and *ret_state says why. */
int lifelines_watch(struct lifelines *l, uint64_t id, enum lifeline_state *ret_state);

/* Rings the bells of `count` sessions with the same hint. */
void lifelines_ring(struct lifelines *l, const uint64_t *id, uint32_t count, uint64_t hint);

/* Takes up to `cap` hints that were rung at ours; returns how many. */
size_t lifelines_drain(struct lifelines *l, uint64_t *hint, size_t cap);

/* Calls fn for each session that has a FIFO here.  Returns 0 or an errno. */
int lifelines_list(struct lifelines *l, void (*fn)(void *arg, uint64_t id), void *arg);

#endif
