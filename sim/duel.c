#include "sim/duel.h"

#include <stdio.h>

#include "core/timing.h"
#include "sim/engine.h"
#include "sim/judge.h"
#include "sim/resource.h"
#include "sim/server.h"
#include "sim/task.h"

#define DRIFT_PPM 3900 /* on each side, in opposite directions: within the bound of 1 % */
#define ROLE "duel/role"

struct fighter {
    struct host host;
    tenure *t;
    int client;
    bool holds;
    int64_t held_us; /* since when it knows */
};

static struct fighter holder, waiter;
static int64_t fight_ttl_ms;

/* ---- the two --------------------------------------------------------------------------------- */

static void fighter_run(void *arg)
{
    struct fighter *f = arg;
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    tenure_error err;
    opt.ttl_ms = fight_ttl_ms;
    opt.as = f->host.name;
    opt.flags = TENURE_PUMP;
    terms.kind = TENURE_ELECTION;
    if (tenure_open("sim:", &opt, &f->t, &err) < 0) {
        world_fail("duel", "no store: %s", err.text);
        return;
    }
    f->client = engine_last_client();
    judge_opened(&f->host, f->t, f->client);
    if (tenure_acquire(f->t, ROLE, &terms, &c, &err) < 0) {
        world_fail("duel", "%s: not acquired: %s", f->host.name, err.text);
        return;
    }
    f->holds = true;
    f->held_us = world.now_us;
    world_trace(f->host.name, "holds", "token=%llu", (unsigned long long)tenure_claim_token(c));
    task_wait(NULL, INT64_MAX);
}

/* ---- the world ------------------------------------------------------------------------------- */

static void plan_set(struct plan *p, enum blow blow)
{
    *p = (struct plan){.seed = p->seed, .faults = FAULT_DRIFT, .attentive = true, .actors = 2,
                       .names = 1, .longest_ttl_ms = fight_ttl_ms};
    p->embedded = blow == BLOW_LOCAL_KILL;
    snprintf(p->name[0].name, sizeof p->name[0].name, "%s", ROLE);
    p->name[0].kind = TENURE_ELECTION;
    p->name[0].permits = 1;
    for (int i = 0; i < 2; i++) {
        p->actor[i].ttl_ms = fight_ttl_ms;
        p->actor[i].pump = true;
    }
}

static void stage_set(uint64_t seed, enum blow blow)
{
    struct random *r = &world.random;
    world_begin(seed, UINT64_MAX);
    fight_ttl_ms = 500 << random_below(r, 8); /* 500 ms to 64 s */
    plan_set(&world.plan, blow);
    task_reset();
    server_begin();
    engine_begin();
    resource_begin();
    judge_begin();
    int64_t fast = random_chance(r, 500) ? DRIFT_PPM : -DRIFT_PPM;
    host_init(&server_host, "store", random_range(r, 1000000, 1000000000), fast);
    host_init(&holder.host, "holder", random_range(r, 1000000, 1000000000), -fast);
    host_init(&waiter.host, "waiter", random_range(r, 1000000, 1000000000),
              random_range(r, -DRIFT_PPM, DRIFT_PPM));
    if (world.plan.embedded)
        holder.host = waiter.host = server_host;
}

static bool turn_until(int64_t limit_us, const bool *flag)
{
    while (!world.failed && !(flag && *flag)) {
        if (!world_turn(limit_us))
            return flag == NULL;
        judge_look();
    }
    return !world.failed;
}

static void strike(enum blow blow)
{
    world_trace("holder", "blow", "%s", blow_text(blow));
    switch (blow) {
    case BLOW_CRASH:
    case BLOW_LOCAL_KILL:
        holder.host.life++;
        judge_closed(holder.t);
        if (blow == BLOW_LOCAL_KILL)
            server_client_died(holder.client);
        break;
    case BLOW_CUT:
        holder.host.cut_in = holder.host.cut_out = true;
        break;
    case BLOW_PAUSE:
        holder.host.paused_until_us = world.now_us + 4 * fight_ttl_ms * US_PER_MS;
        break;
    }
}

struct duel duel_fight(uint64_t seed, enum blow blow)
{
    struct duel ret = {0};
    struct timing timing;
    stage_set(seed, blow);
    ret.ttl_ms = fight_ttl_ms;
    if (timing_derive(SPAN(fight_ttl_ms), SPAN(-1), &timing, NULL) != TIMING_FINE)
        world_fail("duel", "no timing for a ttl of %lld ms", (long long)fight_ttl_ms);
    int64_t ttl_us = fight_ttl_ms * US_PER_MS;
    ret.bound_us = timing_gap_max(&timing).ms * US_PER_MS;
    task_start(&holder.host, fighter_run, &holder);
    turn_until(ttl_us, &holder.holds);
    task_start(&waiter.host, fighter_run, &waiter);
    int64_t struck_us = world.now_us + random_range(&world.random, ttl_us, 3 * ttl_us);
    turn_until(struck_us, NULL);
    strike(blow);
    if (!turn_until(struck_us + 3 * ttl_us + 10000000, &waiter.holds) && !world.failed)
        world_fail("duel", "the other one never came to hold");
    ret.gap_us = waiter.held_us - struck_us;
    if (!world.failed)
        turn_until(world.now_us + 5 * ttl_us, NULL); /* whoever wakes up meets the judge */
    ret.failed = world.failed;
    return ret;
}

const char *blow_text(enum blow blow)
{
    static const char *const text[] = {"host vanishes", "cable pulled", "host paused",
                                       "process killed, embedded"};
    return text[blow];
}
