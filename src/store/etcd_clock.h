/* store/etcd_clock.h - the clock of a store in a cluster that shows its clients none.
 *
 * Each record has a clock of its own, an instant that is stamped on it with each commit: only
 * instants of the same record are ever compared.  At a later moment the clock reads the stamp plus
 * the record's *age*, and of the age we know two bounds:
 *
 *   at least  how long we have watched this version on our own CLOCK_BOOTTIME; or how far the
 *             cluster's leader has counted since the stamp.  Nobody is let go earlier than that.
 *   at most   the time since we last knew the version not to be there.  Who holds counts from
 *             that (facts.behind), so it stops before anybody lets it go.
 *
 * What the leader counts is the time that is left of one lease that never ends.  It starts anew
 * with each leader, runs on Go's monotonic clock and is told in whole seconds.  A reading is
 * believed when reads that a quorum confirmed saw the same term before and after it: then no other
 * leader had begun to count before it was taken.  So ages are never taken for longer than they
 * are, and no wall clock is read (P11). */
#ifndef STORE_ETCD_CLOCK_H
#define STORE_ETCD_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/time.h"
#include "wire/etcd_value.h"

#define ETCD_CLOCK_SAMPLES 16
#define ETCD_CLOCK_FRESH_MS 60000 /* a reading is taken anew when it is older */

/* The leader's counting: `low` since `received`, `high` since `sent`, on our clock. */
struct etcd_reading {
    uint64_t clock, term; /* clock 0: none */
    struct span low, high;
    struct instant sent, received;
};

struct etcd_clock {
    struct etcd_reading now;    /* confirmed */
    struct etcd_reading next;   /* not yet */
    uint64_t term;              /* of the last read that a quorum confirmed */
    struct {
        int64_t revision;
        struct instant at; /* ours: the store had not gone beyond that revision then */
    } sample[ETCD_CLOCK_SAMPLES];
    size_t samples;
};

/* A read that a quorum confirmed was sent at `sent` and saw this revision and term. */
void etcd_clock_read(struct etcd_clock *c, int64_t revision, uint64_t term, struct instant sent);

/* The leader said that `left` of `whole` seconds are left of the lease `clock`.  It was asked at
 * `sent`, after the last etcd_clock_read(); the next one may confirm it. */
void etcd_clock_take(struct etcd_clock *c, uint64_t clock, uint64_t term, int64_t whole_s,
                     int64_t left_s, struct instant sent, struct instant received);

/* Forgets what hangs on the connection that was lost. */
void etcd_clock_reconnected(struct etcd_clock *c);

/* What to stamp on a record now. */
struct etcd_tick etcd_clock_tick(const struct etcd_clock *c, struct instant now);

/* The least age, now, of a version with that tick on it that we first saw at `seen`. */
struct span etcd_clock_age_low(const struct etcd_clock *c, const struct etcd_tick *tick,
                               struct instant seen, struct instant now);

/* The greatest age, now, of what was committed as `revision`; a very long one when we know
 * nothing. */
struct span etcd_clock_age_high(const struct etcd_clock *c, int64_t revision, struct instant now);

#endif
