/* sim/script.c - what actors do, one action after the other. */
#include <string.h>

#include "lib/handle.h"
#include "os/clock.h"
#include "sim/actor.h"

static int draw_name(void)
{
    return (int)random_below(&world.random, (uint64_t)world.plan.names);
}

static int64_t draw_wait(void)
{
    struct random *r = &world.random;
    switch (random_below(r, 4)) {
    case 0:
        return 0;
    case 1:
        return random_range(r, 1, 300);
    default:
        return random_range(r, 100, 3 * world.plan.longest_ttl_ms);
    }
}

static void drop_claim(struct actor *a, int i)
{
    tenure_claim *c = a->claim[i].c;
    a->claim[i] = a->claim[--a->claims];
    deed_give_back(a, c);
}

static void lock_and_work(struct actor *a, int name)
{
    tenure_claim *c;
    if (deed_acquire(a, name, draw_wait(), &c) < 0)
        return;
    deed_work(a, c, name, (int)random_range(&world.random, 0, 6));
    while (random_chance(&world.random, 300)) { /* one job after the other */
        deed_leave(a, c);
        if (deed_acquire(a, name, draw_wait(), &c) < 0)
            return;
        deed_work(a, c, name, 1);
    }
    if (random_chance(&world.random, 200) && a->claims < ACTOR_CLAIMS_MAX) {
        a->claim[a->claims].c = c; /* kept for later */
        a->claim[a->claims++].name = name;
        return;
    }
    deed_give_back(a, c);
}

/* Waits for a name as an event loop does, and may change its mind at any moment. */
static void ask_and_see(struct actor *a, int name)
{
    tenure_claim *c;
    if (a->claims == ACTOR_CLAIMS_MAX || deed_ask(a, name, &c) < 0)
        return;
    a->claim[a->claims].c = c;
    a->claim[a->claims++].name = name;
}

static void tend_claims(struct actor *a)
{
    deed_nap(a, random_range(&world.random, 0, 300));
    for (int i = 0; i < a->claims; i++) {
        tenure_claim *c = a->claim[i].c;
        int standing = tenure_check(c);
        if (standing < 0 || random_chance(&world.random, 250)) {
            drop_claim(a, i--);
            continue;
        }
        if (standing == TENURE_STANDING)
            deed_work(a, c, a->claim[i].name, 1);
    }
}

static void lease(struct actor *a, int name)
{
    if (a->lease[name] == 0)
        deed_lease_take(a, name, random_range(&world.random, 500, world.plan.longest_ttl_ms));
    else if (random_chance(&world.random, 500))
        deed_lease_renew(a, name);
    else
        deed_lease_drop(a, name);
}

/* A second thread of the same program, on the same handle. */
static void help(void *arg)
{
    struct actor *a = arg;
    tenure_claim *c;
    int name = draw_name();
    if (world.plan.name[name].kind == TENURE_LEASE) {
        deed_look(a);
        return;
    }
    if (deed_acquire(a, name, draw_wait(), &c) < 0)
        return;
    deed_nap(a, random_range(&world.random, 1, 500));
    deed_give_back(a, c);
}

static void start_helper(struct actor *a)
{
    if (a->helper && !task_is_done(a->helper))
        return;
    if (tasks_are_scarce())
        return;
    a->helper = task_start(&a->host, help, a);
}

/* The program computes: nothing of the library runs but the pump. */
static void hang(struct actor *a)
{
    int64_t ms = random_range(&world.random, 10, 2 * world.plan.longest_ttl_ms);
    if (!plan_has(&world.plan, FAULT_HANG))
        return;
    world_trace(a->as, "hang", "%lld ms", (long long)ms);
    task_sleep_us(ms * US_PER_MS);
}

static void withhold(struct actor *a)
{
    tenure_withhold(a->t, true);
    deed_nap(a, random_range(&world.random, 1, world.plan.longest_ttl_ms));
    tenure_withhold(a->t, false);
}

void script_act(struct actor *a)
{
    int name = draw_name();
    bool is_lease = world.plan.name[name].kind == TENURE_LEASE;
    switch (random_below(&world.random, 16)) {
    case 0:
        deed_operate(a);
        break;
    case 1:
        deed_look(a);
        break;
    case 2:
        start_helper(a);
        break;
    case 3:
        hang(a);
        break;
    case 4:
        if (random_chance(&world.random, 200))
            withhold(a);
        break;
    case 5:
    case 6:
    case 7:
        if (!is_lease)
            ask_and_see(a, name);
        break;
    default:
        if (is_lease)
            lease(a, name);
        else
            lock_and_work(a, name);
    }
    tend_claims(a);
}

/* ---- the quiet end ----------------------------------------------------------------------- */

void script_settle(struct actor *a)
{
    while (a->helper && !task_is_done(a->helper))
        task_wait(a->helper, world.now_us + 100000);
    while (a->claims > 0)
        drop_claim(a, 0);
    for (int i = 0; i < world.plan.names; i++) {
        if (a->lease[i] != 0)
            deed_lease_drop(a, i);
    }
}

void script_rest(struct actor *a)
{
    tenure_claim *c = NULL;
    if (world.plan.name[0].kind != TENURE_LEASE)
        deed_ask(a, 0, &c);
    while (!cast.ends)
        deed_nap(a, world.plan.actor[a->index].ttl_ms / 4); /* and checks in */
    if (c)
        deed_give_back(a, c);
}

void script_prove(struct actor *a)
{
    tenure_claim *c;
    for (int i = 0; i < world.plan.names; i++) {
        int name = (a->index + i) % world.plan.names;
        while (world.plan.name[name].kind == TENURE_LEASE) {
            int code = deed_lease_take(a, name, 500);
            if (code == 0)
                break;
            deed_nap(a, 50);
        }
        if (world.plan.name[name].kind == TENURE_LEASE) {
            deed_lease_drop(a, name);
            continue;
        }
        if (deed_acquire(a, name, TENURE_FOREVER, &c) < 0) {
            deed_nap(a, 50);
            i--; /* it was told to stop, or lost: the chaos echoes */
            continue;
        }
        deed_work(a, c, name, 1);
        deed_give_back(a, c);
    }
}
