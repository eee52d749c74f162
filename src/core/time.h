/* core/time.h - instants and spans, in whole milliseconds.
 *
 * Two types of one member each, so that adding two instants does not compile.  An instant
 * belongs to one clock and is compared only with instants of that clock: the store's clock in
 * records, the holder's CLOCK_BOOTTIME in beliefs.  Arithmetic saturates: "never" plus an hour
 * is still never, and no sum of legal values can overflow.
 */
#ifndef CORE_TIME_H
#define CORE_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct instant {
    int64_t ms;
};

struct span {
    int64_t ms;
};

#define INSTANT_NEVER ((struct instant){INT64_MAX})
#define INSTANT(n) ((struct instant){(n)})
#define SPAN(n) ((struct span){(n)})

static inline int64_t ms_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

static inline struct instant instant_add(struct instant a, struct span b)
{
    return a.ms == INT64_MAX ? a : INSTANT(ms_add(a.ms, b.ms));
}

/* From `from` to `to`: negative when `to` is earlier. */
static inline struct span instant_diff(struct instant from, struct instant to)
{
    int64_t d;
    if (__builtin_sub_overflow(to.ms, from.ms, &d))
        return SPAN(to.ms > from.ms ? INT64_MAX : INT64_MIN);
    return SPAN(d);
}

static inline bool instant_reached(struct instant now, struct instant when)
{
    return now.ms >= when.ms;
}

static inline struct instant instant_min(struct instant a, struct instant b)
{
    return a.ms < b.ms ? a : b;
}

#endif
