#include "sim/faults.h"

#include "sim/actor.h"

/* Faults that happen at a moment; the others are properties of the run. */
#define EVENTS                                                                                     \
    (FAULT_PARTITION | FAULT_PAUSE | FAULT_CRASH | FAULT_STORE_CRASH | FAULT_STORE_STALL |         \
     FAULT_RESTORE | FAULT_REMOVE | FAULT_WALL | FAULT_MACHINE)

static int64_t calm_us; /* when the last pause or outage is over */

static void lasts(int64_t us)
{
    if (world.now_us + us > calm_us)
        calm_us = world.now_us + us;
}

/* From a moment to a few times the longest ttl. */
static int64_t draw_us(void)
{
    struct random *r = &world.random;
    int64_t ttl_us = world.plan.longest_ttl_ms * US_PER_MS;
    int64_t most[] = {ttl_us / 20, ttl_us / 3, ttl_us, 2 * ttl_us};
    int64_t us = random_range(r, 1000, most[random_below(r, 4)]);
    lasts(us);
    return us;
}

static struct actor *draw_actor(void)
{
    return &cast.actor[random_below(&world.random, (uint64_t)cast.count)];
}

static void heal(void *arg, uint64_t n)
{
    struct host *h = arg;
    (void)n;
    h->cut_in = h->cut_out = false;
    world_trace(h->name, "healed", "plugged in");
}

static void partition(void)
{
    struct host *h = &draw_actor()->host;
    uint64_t ways = random_range(&world.random, 1, 3) & 3;
    h->cut_in = ways & 1;
    h->cut_out = ways & 2;
    world_trace(h->name, "cut", "in=%d out=%d", h->cut_in, h->cut_out);
    world_at(world.now_us + draw_us(), heal, h, 0);
}

static void pause_host(void)
{
    struct host *h = &draw_actor()->host;
    h->paused_until_us = world.now_us + draw_us();
    world_trace(h->name, "pause", "until=%.3f", (double)h->paused_until_us / US_PER_MS);
}

static void crash_machine(void)
{
    for (int i = 0; i < cast.count; i++)
        actor_crash(&cast.actor[i], random_range(&world.random, 1000, 1000000));
    server_lose_last();
    world_trace("store", "machine", "crashed");
}

static void crash_store(void)
{
    int64_t us = draw_us();
    world_trace("store", "crash", "down=%.3f", (double)us / US_PER_MS);
    server_crash(us);
}

static void stall_store(void)
{
    int64_t us = draw_us();
    bool records_only = random_chance(&world.random, 500);
    world_trace("store", "stall", "for=%.3f records=%d", (double)us / US_PER_MS, records_only);
    server_stall(us, records_only);
}

static void restore_store(void)
{
    if (!server_restore())
        return;
    world_trace("store", "restored", "from a copy");
    lasts((world.plan.longest_ttl_ms + 1000) * US_PER_MS);
}

static void remove_record(void)
{
    int name = (int)random_below(&world.random, (uint64_t)world.plan.names);
    if (server_remove(name))
        world_trace("store", "removed", "%s", world.plan.name[name].name);
}

static void befall(enum fault fault)
{
    switch (fault) {
    case FAULT_PARTITION:
        partition();
        break;
    case FAULT_PAUSE:
        pause_host();
        break;
    case FAULT_CRASH:
        actor_crash(draw_actor(), draw_us());
        break;
    case FAULT_MACHINE:
        crash_machine();
        break;
    case FAULT_STORE_CRASH:
        crash_store();
        break;
    case FAULT_STORE_STALL:
        stall_store();
        break;
    case FAULT_RESTORE:
        restore_store();
        break;
    case FAULT_REMOVE:
        remove_record();
        break;
    case FAULT_WALL:
        draw_actor()->host.wall_step_ms += random_range(&world.random, -90000000, 90000000);
        break;
    default:
        break;
    }
}

/* One of those that the plan has; 0 when it has none. */
static unsigned draw_fault(void)
{
    unsigned left = world.plan.faults & EVENTS;
    for (uint64_t skip = random_below(&world.random, FAULT_COUNT); left != 0; skip--) {
        unsigned lowest = left & (~left + 1);
        if (skip == 0)
            return lowest;
        left ^= lowest;
        if (left == 0)
            left = world.plan.faults & EVENTS;
    }
    return 0;
}

static void strike(void *arg, uint64_t n)
{
    unsigned chance = draw_fault();
    (void)arg;
    if (world.quiet)
        return;
    if (random_chance(&world.random, 100))
        server_remember();
    if (chance != 0 && world_step())
        befall((enum fault)chance);
    world_at(world.now_us + random_range(&world.random, 500, world.plan.chaos_us / 30), strike,
             NULL, n);
}

void faults_begin(void)
{
    calm_us = 0;
    world_at(world.now_us + 50000, strike, NULL, 0);
}

long long faults_end(void)
{
    for (int i = 0; i < cast.count; i++)
        cast.actor[i].host.cut_in = cast.actor[i].host.cut_out = false;
    return calm_us;
}
