/* core/timing.h - every number follows from the TTL (docs/timing.md walks through it).
 *
 * Offsets are counted from t0, the moment at which the last successful renewal was SENT, on the
 * holder's CLOCK_BOOTTIME.  The store counts from the receipt, which is never before t0, so the
 * holder's deadline is reached first whatever the network does:
 *
 *      0 ---- renew ---- doubt ---- stop ---- kill ---- deadline -- ttl ......... store may grant
 *            ttl/3      ttl/2       |         |        ttl x (1 - drift)         receipt + ttl
 *                                   |         deadline - kill margin   SIGKILL to what is left
 *                                   deadline - grace                   SIGTERM to the tree
 *
 * The drift bound is 1 %: twenty times the 500 ppm by which kernels let a disciplined clock
 * deviate (adjtimex), on both sides.
 */
#ifndef CORE_TIMING_H
#define CORE_TIMING_H

#include "core/time.h"

#define TIMING_TTL_FLOOR_MS 500
#define TIMING_TTL_CEILING_MS (24 * 3600 * 1000LL)
#define TIMING_TTL_DEFAULT_MS 10000
#define TIMING_LEASE_CEILING_MS (366LL * 24 * 3600 * 1000)
#define TIMING_DRIFT_PERCENT 1
#define TIMING_KILL_MARGIN_FLOOR_MS 50
#define TIMING_NOTICE_MS 1000 /* the safety net: a lost hint is made up for within this */

struct timing {
    struct span ttl;
    struct span renew;    /* between renewals: ttl/3 */
    struct span attempt;  /* one attempt may take: ttl/6 */
    struct span doubt;    /* without success: ttl/2 */
    struct span stop;     /* the tree gets SIGTERM */
    struct span kill;     /* the tree gets SIGKILL */
    struct span deadline; /* nothing may be done in the tenure's name any more */
    struct span grace;    /* from stop to deadline */
    struct span margin;   /* from kill to deadline */
};

/* What a setting breaks, for the message; the numbers of the inequality are in `ret_bound`. */
enum timing_flaw {
    TIMING_FINE = 0,
    TIMING_TTL_TOO_SHORT,   /* ttl >= TIMING_TTL_FLOOR_MS */
    TIMING_TTL_TOO_LONG,    /* ttl <= TIMING_TTL_CEILING_MS */
    TIMING_GRACE_TOO_SHORT, /* grace >= 2 x margin: SIGTERM comes before SIGKILL */
    TIMING_GRACE_TOO_LONG,  /* grace <= deadline - doubt: nobody is stopped before doubt */
};

/* Derives all from ttl and grace (grace.ms < 0: the default, ttl/4).  On a flaw *ret is as it
 * was and *ret_bound (may be NULL) holds the bound that is broken. */
enum timing_flaw timing_derive(struct span ttl, struct span grace, struct timing *ret,
                               struct span *ret_bound);

/* Longest time without a holder when a holder's host vanishes or the holder hangs and somebody
 * waits: its whole ttl, plus one notice interval.  (A process that dies on the same host is
 * noticed at once.) */
struct span timing_gap_max(const struct timing *t);

/* Longest time for which two believe that they hold, as long as nobody is paused: what the
 * store's clock may gain on the holder's within one ttl, less what the deadline leaves; 0 when
 * the drift stays within the bound. */
struct span timing_overlap_max(const struct timing *t);

#endif
