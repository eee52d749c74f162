#include "sim/net.h"

struct message {
    const struct host *host;
    enum net_way way;
    event_fn *fn;
    void *arg;
};

static bool is_cut(const struct host *host, enum net_way way)
{
    return way == NET_UP ? host->cut_out : host->cut_in;
}

static void arrive(void *arg, uint64_t n)
{
    const struct message *m = arg;
    if (!is_cut(m->host, m->way))
        m->fn(m->arg, n);
}

static int64_t delay_us(void)
{
    struct random *r = &world.random;
    if (!world.quiet && random_chance(r, world.plan.delay))
        return random_range(r, 1000, 1000 << random_range(r, 1, 12));
    return random_range(r, 80, 900);
}

void net_send(const struct host *host, enum net_way way, event_fn *fn, void *arg, uint64_t n)
{
    struct random *r = &world.random;
    if (is_cut(host, way) || (!world.quiet && random_chance(r, world.plan.loss)))
        return;
    struct message *m = world_alloc(sizeof *m);
    *m = (struct message){host, way, fn, arg};
    world_at(world.now_us + delay_us(), arrive, m, n);
    if (!world.quiet && random_chance(r, world.plan.duplicate))
        world_at(world.now_us + delay_us(), arrive, m, n);
}
