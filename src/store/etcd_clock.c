#include "store/etcd_clock.h"

#include <string.h>

#include "core/timing.h"

#define UNKNOWN_AGE SPAN(INT64_MAX / 4)
#define SAMPLE_MS 50 /* readings closer than that are one */

/* What our clock surely ran for, and at most ran for, when it showed `ms`: it may drift. */
static int64_t shorter(int64_t ms)
{
    return ms <= 0 ? 0 : ms - (ms * TIMING_DRIFT_PERCENT + 99) / 100;
}

static int64_t longer(int64_t ms)
{
    return ms <= 0 ? 0 : ms + (ms * TIMING_DRIFT_PERCENT + 99) / 100;
}

static int64_t since(struct instant from, struct instant now)
{
    return instant_diff(from, now).ms;
}

static void add_sample(struct etcd_clock *c, int64_t revision, struct instant at)
{
    size_t last = c->samples - 1;
    if (c->samples > 0 && (revision < c->sample[last].revision || at.ms < c->sample[last].at.ms))
        return; /* an older answer that came later */
    bool same = c->samples > 0 && revision == c->sample[last].revision;
    bool close = c->samples > 1 && at.ms - c->sample[last - 1].at.ms < SAMPLE_MS;
    if (!same && !close && c->samples == ETCD_CLOCK_SAMPLES) {
        memmove(c->sample, c->sample + 1, (ETCD_CLOCK_SAMPLES - 1) * sizeof c->sample[0]);
        c->samples--;
    }
    if (!same && !close)
        c->samples++;
    c->sample[c->samples - 1].revision = revision;
    c->sample[c->samples - 1].at = at;
}

void etcd_clock_read(struct etcd_clock *c, int64_t revision, uint64_t term, struct instant sent)
{
    add_sample(c, revision, sent);
    c->term = term;
    if (c->next.clock == 0 || sent.ms < c->next.received.ms)
        return;
    if (c->next.term == term)
        c->now = c->next;
    c->next.clock = 0;
}

void etcd_clock_take(struct etcd_clock *c, uint64_t clock, uint64_t term, int64_t whole_s,
                     int64_t left_s, struct instant sent, struct instant received)
{
    if (term != c->term || left_s < 0 || left_s > whole_s)
        return; /* another leader's, or one that has just stopped to be one */
    int64_t high = (whole_s - left_s) * 1000;
    c->next = (struct etcd_reading){
        .clock = clock,
        .term = term,
        .low = SPAN(high < 1000 ? 0 : high - 1000),
        .high = SPAN(high),
        .sent = sent,
        .received = received,
    };
}

void etcd_clock_reconnected(struct etcd_clock *c)
{
    c->next.clock = 0;
    c->term = 0;
}

struct etcd_tick etcd_clock_tick(const struct etcd_clock *c, struct instant now)
{
    const struct etcd_reading *r = &c->now;
    if (r->clock == 0)
        return (struct etcd_tick){0};
    return (struct etcd_tick){
        .clock = r->clock,
        .term = r->term,
        .high = SPAN(r->high.ms + longer(since(r->sent, now))),
        .old = SPAN(longer(since(r->sent, now))),
    };
}

/* How long ago the tick was, by what the leader counts. */
static int64_t counted(const struct etcd_clock *c, const struct etcd_tick *tick,
                       struct instant now)
{
    const struct etcd_reading *r = &c->now;
    if (r->clock == 0 || r->clock != tick->clock || r->term < tick->term)
        return 0;
    int64_t low = r->low.ms + shorter(since(r->received, now));
    /* The same leader has gone on counting; or a later one began after that reading. */
    return r->term == tick->term ? low - tick->high.ms : low - tick->old.ms;
}

struct span etcd_clock_age_low(const struct etcd_clock *c, const struct etcd_tick *tick,
                               struct instant seen, struct instant now)
{
    int64_t watched = shorter(since(seen, now));
    int64_t by_leader = tick->clock != 0 ? counted(c, tick, now) : 0;
    return SPAN(by_leader > watched ? by_leader : watched);
}

struct span etcd_clock_age_high(const struct etcd_clock *c, int64_t revision, struct instant now)
{
    for (size_t i = c->samples; i > 0; i--) {
        if (c->sample[i - 1].revision < revision)
            return SPAN(longer(since(c->sample[i - 1].at, now)));
    }
    return UNKNOWN_AGE;
}
