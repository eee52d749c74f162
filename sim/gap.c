#include "sim/gap.h"

#include <string.h>

#include "core/timing.h"
#include "sim/judge.h"
#include "wire/record.h"

/* What the bound leaves out: the way of the messages, and clocks that are slow. */
#define MESSAGES_US 10000
#define SLOW_PERMILLE 4

static struct {
    bool open;
    struct ticket_id first; /* in the queue when it began */
    int64_t since_us, bound_us;
} gap[PLAN_NAMES_MAX];

void gap_begin(void)
{
    memset(gap, 0, sizeof gap);
}

void gap_open(int name, struct span ttl)
{
    static struct claim claim;
    struct record_state r = server_record(name);
    struct timing timing;
    gap[name].open = false;
    if (!world.plan.calm || world.quiet || world.plan.name[name].permits != 1 || r.version == 0 ||
        timing_derive(ttl, SPAN(-1), &timing, NULL) != TIMING_FINE ||
        record_decode(r.bytes, r.len, &claim) != RECORD_FINE)
        return;
    uint32_t holders = claim_holders(&claim);
    if (holders != 1 || holders == claim.ticket_count)
        return; /* shared with others, or nobody waits */
    gap[name].open = true;
    gap[name].first = claim.ticket[holders].id;
    gap[name].since_us = world.now_us;
    gap[name].bound_us = timing_gap_max(&timing).ms * (1000 + SLOW_PERMILLE) + MESSAGES_US;
}

void gap_close(int name, struct ticket_id id)
{
    if (!gap[name].open)
        return;
    gap[name].open = false;
    if (!ticket_id_equal(gap[name].first, id))
        return; /* the one that waited gave up, or died itself */
    int64_t took_us = world.now_us - gap[name].since_us;
    int64_t permille = took_us * 1000 / gap[name].bound_us;
    struct gap_tally *t = &tally.gap;
    t->count++;
    t->bin[permille * GAP_BINS / 1000 < GAP_BINS ? permille * GAP_BINS / 1000 : GAP_BINS - 1]++;
    if (permille > t->longest_permille)
        t->longest_permille = permille;
    world_trace("judge", "gap", "%s %.3f of at most %.3f", world.plan.name[name].name,
                (double)took_us / US_PER_MS, (double)gap[name].bound_us / US_PER_MS);
    if (permille > 1000)
        world_fail("timing", "%s: nobody led for %.3f ms, the bound is %.3f ms",
                   world.plan.name[name].name, (double)took_us / US_PER_MS,
                   (double)gap[name].bound_us / US_PER_MS);
}
