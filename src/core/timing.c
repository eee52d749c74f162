#include "core/timing.h"

#include <stddef.h>

enum timing_flaw timing_derive(struct span ttl, struct span grace, struct timing *ret,
                               struct span *ret_bound)
{
    struct span scratch;
    struct span *bound = ret_bound ? ret_bound : &scratch;
    *bound = SPAN(TIMING_TTL_FLOOR_MS);
    if (ttl.ms < TIMING_TTL_FLOOR_MS)
        return TIMING_TTL_TOO_SHORT;
    *bound = SPAN(TIMING_TTL_CEILING_MS);
    if (ttl.ms > TIMING_TTL_CEILING_MS)
        return TIMING_TTL_TOO_LONG;

    struct timing t = {.ttl = ttl};
    t.renew = SPAN(ttl.ms / 3);
    t.attempt = SPAN(ttl.ms / 6);
    t.doubt = SPAN(ttl.ms / 2);
    t.deadline = SPAN(ttl.ms - (ttl.ms * TIMING_DRIFT_PERCENT + 99) / 100);
    t.margin = SPAN(ttl.ms / 20);
    if (t.margin.ms < TIMING_KILL_MARGIN_FLOOR_MS)
        t.margin = SPAN(TIMING_KILL_MARGIN_FLOOR_MS);
    t.grace = grace.ms < 0 ? SPAN(ttl.ms / 4) : grace;
    *bound = SPAN(2 * t.margin.ms);
    if (t.grace.ms < bound->ms)
        return TIMING_GRACE_TOO_SHORT;
    *bound = SPAN(t.deadline.ms - t.doubt.ms);
    if (t.grace.ms > bound->ms)
        return TIMING_GRACE_TOO_LONG;
    t.stop = SPAN(t.deadline.ms - t.grace.ms);
    t.kill = SPAN(t.deadline.ms - t.margin.ms);
    *ret = t;
    return TIMING_FINE;
}

struct span timing_gap_max(const struct timing *t)
{
    return SPAN(t->ttl.ms + TIMING_NOTICE_MS);
}

struct span timing_overlap_max(const struct timing *t)
{
    int64_t gained = t->ttl.ms * TIMING_DRIFT_PERCENT / 100;
    int64_t left = t->ttl.ms - t->deadline.ms;
    return SPAN(gained > left ? gained - left : 0);
}
