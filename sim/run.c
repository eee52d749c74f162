#include "sim/run.h"

#include <stdio.h>

#include "core/timing.h"
#include "sim/actor.h"
#include "sim/engine.h"
#include "sim/faults.h"
#include "sim/judge.h"
#include "sim/system.h"
#include "wire/record.h"

#define EVENTS_MAX 1000000 /* a hundred times what a run needs */

/* Until `limit_us`, or until done() says so, or something broke. */
static bool run_until(int64_t limit_us, bool (*done)(void))
{
    while (!world.failed && !(done && done())) {
        if (!world_turn(limit_us))
            return done == NULL;
        judge_look();
        if (world.events > EVENTS_MAX)
            world_fail("liveness", "something happens again and again");
    }
    return !world.failed;
}

static bool chaos_is_over(void)
{
    return world.steps >= world.step_limit || world.now_us >= world.plan.chaos_us;
}

static bool all_served(void)
{
    for (int i = 0; i < cast.count; i++) {
        if (!cast.actor[i].served)
            return false;
    }
    return true;
}

static bool all_closed(void)
{
    for (int i = 0; i < cast.count; i++) {
        if (!cast.actor[i].closed)
            return false;
    }
    return true;
}

static unsigned tickets_left(void)
{
    static struct claim claim;
    unsigned left = 0;
    for (int i = 0; i < world.plan.names; i++) {
        struct record_state r = server_record(i);
        if (record_decode(r.bytes, r.version ? r.len : 0, &claim) != RECORD_FINE)
            continue;
        for (uint32_t k = 0; k < claim.ticket_count; k++)
            left += server_session_is_alive(claim.ticket[k].id.session);
    }
    return left;
}

static bool nothing_waits(void)
{
    return tickets_left() == 0;
}

static bool no_session_is_left(void)
{
    return server_sessions_alive() == 0;
}

/* After the last outage: everything that a dead holder can block is free after its ttl and one
 * notice interval; then each actor gets each name, within a notice interval each. */
static int64_t bound_us(void)
{
    const struct plan *p = &world.plan;
    return (4 * p->longest_ttl_ms + p->actors * p->names * 1500) * US_PER_MS;
}

static void quieten(void)
{
    world.quiet = true;
    judge_quiet();
    int64_t calm_us = faults_end();
    world_trace("world", "quiet", "outages end at %.3f", (double)calm_us / US_PER_MS);
    if (calm_us > world.now_us)
        run_until(calm_us, NULL);
    int64_t limit_us = world.now_us + bound_us();
    if (!run_until(limit_us, all_served) && !world.failed)
        world_fail("liveness", "not everybody was served within %.3f ms of quiet",
                   (double)bound_us() / US_PER_MS);
    limit_us = world.now_us + 3 * world.plan.longest_ttl_ms * US_PER_MS;
    if (!world.failed && !run_until(limit_us, nothing_waits) && !world.failed)
        world_fail("P2", "%u tickets are left of programs that hold nothing", tickets_left());
}

/* P9: nothing changes, all stand by for one name or hold it.  Nobody writes, but to tidy up once
 * what the dead left in another name; or reads more than the safety net does, the look that a
 * renewal brings along, and the walk through the store that every eighth of them does. */
static void check_rest(const struct engine_cost *before, const struct actor *a, int64_t us)
{
    struct engine_cost after = engine_cost(a->client);
    int64_t ttl_ms = world.plan.actor[a->index].ttl_ms;
    uint64_t renewals = (uint64_t)(us * 21 / 20 / (ttl_ms / 3 * US_PER_MS)) + 2;
    uint64_t looks = (uint64_t)(us / (TIMING_NOTICE_MS * US_PER_MS)) + 2;
    uint64_t tidied = after.tidied - before->tidied;
    if (after.commits > before->commits || tidied > (uint64_t)world.plan.names)
        world_fail("P9", "%s writes while nothing changes", a->as);
    if (after.renewals - before->renewals > renewals)
        world_fail("P9", "%s renews %llu times instead of %llu", a->as,
                   (unsigned long long)(after.renewals - before->renewals),
                   (unsigned long long)renewals);
    if (after.reads - before->reads > looks + renewals + renewals / 8 + 1 + 2 * tidied)
        world_fail("P9", "%s reads %llu times while nothing changes", a->as,
                   (unsigned long long)(after.reads - before->reads));
}

static void rest(void)
{
    struct engine_cost before[PLAN_ACTORS_MAX];
    int64_t us = 3 * world.plan.longest_ttl_ms * US_PER_MS;
    cast.rests = true;
    run_until(world.now_us + world.plan.longest_ttl_ms * US_PER_MS + 3000 * US_PER_MS, NULL);
    for (int i = 0; i < cast.count; i++)
        before[i] = engine_cost(cast.actor[i].client);
    run_until(world.now_us + us, NULL);
    for (int i = 0; i < cast.count && !world.failed; i++)
        check_rest(&before[i], &cast.actor[i], us);
}

static void close_all(void)
{
    cast.ends = true;
    task_tell(&cast);
    int64_t limit_us = world.now_us + world.plan.longest_ttl_ms * US_PER_MS;
    if (!run_until(limit_us, all_closed) && !world.failed)
        world_fail("liveness", "a handle does not close");
    limit_us = world.now_us + 2 * world.plan.longest_ttl_ms * US_PER_MS;
    if (!world.failed && !run_until(limit_us, no_session_is_left) && !world.failed)
        world_fail("P2", "%d sessions are left after all have closed", server_sessions_alive());
    if (!world.failed)
        judge_end();
    if (!world.failed && memory_left() > 0)
        world_fail("memory", "%u blocks are left after all have closed", memory_left());
}

static void introduce(const struct plan *p)
{
    char faults[200];
    int n = 0;
    faults[0] = '\0';
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (p->faults & 1u << i)
            n += snprintf(faults + n, sizeof faults - (size_t)n, "%s%s", n ? "," : "",
                          plan_fault_text(i));
    }
    world_trace("world", "seed", "%llu store=%s actors=%d names=%d ttl<=%lld faults=%s",
                (unsigned long long)p->seed, p->embedded ? "embedded" : "networked", p->actors,
                p->names, (long long)p->longest_ttl_ms, faults);
}

struct outcome run_seed(uint64_t seed, uint64_t step_limit)
{
    world_begin(seed, step_limit);
    introduce(&world.plan);
    task_reset();
    server_begin();
    engine_begin();
    resource_begin();
    judge_begin();
    cast_begin();
    faults_begin();
    run_until(world.plan.chaos_us, chaos_is_over);
    if (!world.failed)
        quieten();
    if (!world.failed)
        rest();
    if (!world.failed)
        close_all();
    struct outcome ret = {.failed = world.failed,
                          .steps = world.steps,
                          .events = world.events,
                          .virtual_us = world.now_us};
    world_trace("world", "end", "seed=%llu %s", (unsigned long long)seed,
                world.failed ? "FAILED" : "fine");
    ret.digest = world.digest;
    if (!world.failed) {
        cast_end();
        system_reset();
        world_end();
    }
    return ret;
}
