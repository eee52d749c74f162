/* supervisor/leash.h - the deadlines that supervisor and guardian share, in a page of memory.
 *
 * Each of the two can be stopped or killed at any moment, so neither may depend on being told
 * by the other.  The supervisor writes the deadlines of each renewal here; both read them when
 * their own timers fire.  A renewal therefore costs two stores and wakes nobody.  Only a
 * deadline that moves closer needs a wake-up as well.
 *
 * Never: a lock.  The other side may be stopped while it holds one.
 */
#ifndef SUPERVISOR_LEASH_H
#define SUPERVISOR_LEASH_H

#include "core/time.h"

#include <stdatomic.h>

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "deadlines are shared without a lock");

struct leash {
    _Atomic int64_t stop_at; /* CLOCK_BOOTTIME, ms: the tree is told to stop */
    _Atomic int64_t kill_at; /* it is killed */
    _Atomic int64_t end_at;  /* when it was asked to stop: killed by then, if that is earlier */
    _Atomic bool asked;      /* to stop at once */
    _Atomic bool told;       /* somebody took it upon himself to tell the tree to stop */
    _Atomic int32_t command; /* its process id, 0 before it is known */
    _Atomic int32_t status;  /* its wait status, valid once `ended` */
    _Atomic bool ended;
    _Atomic bool by_itself;  /* it ended before anybody told it to */
};

static inline struct instant leash_kill_at(struct leash *l)
{
    return instant_min(INSTANT(atomic_load(&l->kill_at)), INSTANT(atomic_load(&l->end_at)));
}

/* When to tell the tree to stop; at once when it was asked to end. */
static inline struct instant leash_stop_at(struct leash *l)
{
    if (atomic_load(&l->asked))
        return INSTANT(INT64_MIN);
    return INSTANT(atomic_load(&l->stop_at));
}

/* The command was reaped. */
static inline void leash_note_end(struct leash *l, int status, bool by_itself)
{
    atomic_store(&l->status, status);
    atomic_store(&l->by_itself, by_itself && !atomic_load(&l->told));
    atomic_store(&l->ended, true);
}

/* True for the one of the two who is to tell it. */
static inline bool leash_claim_telling(struct leash *l)
{
    return !atomic_exchange(&l->told, true);
}

#endif
