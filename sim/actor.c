#include "sim/actor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/handle.h"
#include "sim/engine.h"
#include "sim/judge.h"
#include "sim/system.h"

struct cast cast;

static void handle_open(struct actor *a)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure_error err;
    opt.ttl_ms = world.plan.actor[a->index].ttl_ms;
    opt.as = a->as;
    opt.flags = world.plan.actor[a->index].pump ? TENURE_PUMP : 0;
    opt.max_silence_ms = world.plan.actor[a->index].max_silence_ms;
    int code = tenure_open("sim:", &opt, &a->t, &err);
    if (code < 0) {
        world_fail("P6", "%s cannot open the store: %s", a->as, err.text);
        return;
    }
    a->client = engine_last_client();
    judge_opened(&a->host, a->t, a->client);
    world_trace(a->as, "open", "client=%d ttl=%lld", a->client, (long long)opt.ttl_ms);
}

static void handle_close(struct actor *a)
{
    tenure *t = a->t;
    while (a->helper && !task_is_done(a->helper))
        task_wait(a->helper, INT64_MAX);
    a->helper = NULL;
    a->claims = 0;
    a->t = NULL;
    world_trace(a->as, "close", "client=%d", a->client);
    judge_closed(t);
    tenure_close(t);
}

static void actor_main(void *arg)
{
    struct actor *a = arg;
    task_sleep_us(random_range(&world.random, 0, 100000));
    handle_open(a);
    while (world_step()) {
        if (random_chance(&world.random, 40) && engine_last_client() < CLIENTS_MAX - 20) {
            handle_close(a);
            handle_open(a);
        }
        script_act(a);
    }
    while (!world.quiet)
        deed_nap(a, 100);
    script_settle(a);
    script_prove(a);
    a->served = true;
    while (!cast.rests)
        deed_nap(a, 100);
    script_rest(a);
    handle_close(a);
    a->closed = true;
}

static void actor_start(void *arg, uint64_t n)
{
    struct actor *a = arg;
    (void)n;
    a->down = false;
    a->claims = 0;
    a->helper = NULL;
    world_trace(a->as, "boot", "life=%llu", (unsigned long long)a->host.life);
    task_start(&a->host, actor_main, a);
}

void cast_begin(void)
{
    const struct plan *p = &world.plan;
    struct random *r = &world.random;
    int64_t bound = plan_has(p, FAULT_BEYOND) ? 30000 : plan_has(p, FAULT_DRIFT) ? 3900 : 0;
    cast = (struct cast){.count = p->actors};
    host_init(&server_host, "store", random_range(r, 1000000, 1000000000),
              random_range(r, -bound, bound));
    for (int i = 0; i < cast.count; i++) {
        struct actor *a = &cast.actor[i];
        a->index = i;
        snprintf(a->as, sizeof a->as, "actor-%d", i);
        host_init(&a->host, a->as, random_range(r, 1000000, 1000000000),
                  random_chance(r, 500) ? random_range(r, 0, 1) * 2 * bound - bound
                                        : random_range(r, -bound, bound));
        if (p->embedded)
            a->host.offset_us = server_host.offset_us;
        actor_start(a, 0);
    }
}

void actor_crash(struct actor *a, int64_t down_us)
{
    if (a->down || a->closed)
        return;
    world_trace(a->as, "crash", "down=%.3f", (double)down_us / US_PER_MS);
    a->down = true;
    a->host.life++;
    if (a->t) {
        judge_closed(a->t);
        cast.orphan[cast.orphans++] = a->t;
        a->t = NULL;
        if (world.plan.embedded)
            server_client_died(a->client);
    }
    world_at(world.now_us + down_us, actor_start, a, 0);
}

void cast_end(void)
{
    system_orphan_handles();
    for (int i = 0; i < cast.orphans; i++)
        tenure_close(cast.orphan[i]);
}
