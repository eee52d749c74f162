#include "sim/resource.h"

#include <string.h>

#include <tenure/guard.h>
#include "sim/judge.h"
#include "sim/task.h"

static struct {
    uint64_t mark;    /* the guard's */
    uint64_t highest; /* the judge's own note of what the guard was shown */
} resource[PLAN_NAMES_MAX];

void resource_begin(void)
{
    memset(resource, 0, sizeof resource);
}

static void arrive(void *arg, uint64_t token)
{
    int name = *(const int *)arg;
    tenure_guard_verdict verdict = tenure_guard_admit(resource[name].mark, token, false);
    world_trace("resource", tenure_guard_verdict_text(verdict), "%s token=%llu mark=%llu",
                world.plan.name[name].name, (unsigned long long)token,
                (unsigned long long)resource[name].mark);
    if (verdict == TENURE_GUARD_STALE) {
        tally.stale_writes++;
        if (token >= resource[name].highest)
            world_fail("P10", "%s: a write under the token that stands, %llu, was refused",
                       world.plan.name[name].name, (unsigned long long)token);
        return;
    }
    judge_admitted(name, token, resource[name].highest);
    if (token > resource[name].mark)
        resource[name].mark = token;
    if (token > resource[name].highest)
        resource[name].highest = token;
}

static int64_t way_us(void)
{
    struct random *r = &world.random;
    return random_chance(r, 30) && !world.quiet ? random_range(r, 1000, 3000000)
                                                : random_range(r, 50, 2000);
}

void resource_write(const struct host *from, int name, tenure_token token)
{
    int *arg = world_alloc(sizeof *arg);
    (void)from;
    *arg = name;
    world_at(world.now_us + way_us(), arrive, arg, token);
}

void resource_announce(int name, tenure_token token)
{
    int64_t way = random_range(&world.random, 50, 2000);
    int64_t back = random_range(&world.random, 50, 2000);
    int64_t heard = world.now_us + way;
    world_at(heard, arrive, memcpy(world_alloc(sizeof name), &name, sizeof name), token);
    while (world.now_us <= heard)
        task_sleep_us(way + back);
}
