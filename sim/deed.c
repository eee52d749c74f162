/* sim/deed.c - single calls of the library, as a program makes them: traced and judged. */
#include <stdlib.h>
#include <string.h>

#include "lib/handle.h"
#include "os/clock.h"
#include "sim/actor.h"
#include "sim/judge.h"
#include "sim/system.h"

static const char *name_of(int name)
{
    return world.plan.name[name].name;
}

static void trace(const struct actor *a, const char *call, int name, int code)
{
    world_trace(a->as, call, "%s -> %s", name_of(name), tenure_error_name(code < 0 ? code : 0));
}

static void take_events(struct actor *a)
{
    tenure_event e;
    while (tenure_next_event(a->t, &e) > 0)
        world_trace(a->as, "event", "%s kind=%d code=%d", tenure_claim_name(e.claim), (int)e.kind,
                    e.code);
}

void deed_nap(struct actor *a, int64_t ms)
{
    struct instant until = instant_add(clock_now(), SPAN(ms));
    tenure_checkin(a->t);
    while (!instant_reached(clock_now(), until) && !cast.ends) {
        if (world.plan.actor[a->index].pump) {
            task_wait(&cast, host_when_us(&a->host, until));
        } else {
            waiter_poll(&a->t->waiter, instant_min(until, instant_add(clock_now(), SPAN(1000))));
            tenure_process(a->t);
        }
    }
    tenure_checkin(a->t);
    take_events(a);
}

/* ---- claims ------------------------------------------------------------------------------ */

static void draw_terms(int name, tenure_terms *terms)
{
    struct random *r = &world.random;
    *terms = (tenure_terms)TENURE_TERMS_INIT;
    terms->kind = world.plan.name[name].kind;
    terms->permits = world.plan.name[name].permits;
    terms->shared = world.plan.name[name].mixes_shared && random_chance(r, 600);
    terms->priority = random_chance(r, 200) ? (int)random_range(r, -2, 2) : 0;
    terms->value = random_chance(r, 200) ? "somewhere" : NULL;
}

/* A code that says no must have left nothing; ask and wait say yes only about what was given. */
static int note(struct actor *a, const char *call, int name, int code, tenure_claim *c)
{
    trace(a, call, name, code);
    if (code == 0 && tenure_check(c) != TENURE_WAITING && tenure_claim_token(c) != 0)
        judge_granted(name_of(name), tenure_claim_ticket(c), tenure_claim_token(c));
    return code;
}

int deed_ask(struct actor *a, int name, tenure_claim **ret)
{
    tenure_terms terms;
    tenure_error err;
    draw_terms(name, &terms);
    terms.later = random_chance(&world.random, 300);
    world_trace(a->as, "ask...", "%s", name_of(name));
    int code = tenure_ask(a->t, name_of(name), &terms, ret, &err);
    return note(a, "ask", name, code, code == 0 ? *ret : NULL);
}

int deed_acquire(struct actor *a, int name, int64_t wait_ms, tenure_claim **ret)
{
    tenure_terms terms;
    tenure_error err;
    draw_terms(name, &terms);
    terms.wait_ms = wait_ms;
    world_trace(a->as, "acquire...", "%s wait=%lld", name_of(name), (long long)wait_ms);
    int code = tenure_acquire(a->t, name_of(name), &terms, ret, &err);
    return note(a, "acquire", name, code, code == 0 ? *ret : NULL);
}

int deed_release(struct actor *a, tenure_claim *c)
{
    char ticket[48];
    tenure_error err;
    int name = server_name_index(tenure_claim_name(c));
    int standing = tenure_check(c);
    int64_t deadline_ms = tenure_claim_deadline(c);
    uint64_t session = a->t->session.id;
    memcpy(ticket, tenure_claim_ticket(c), sizeof ticket);
    world_trace(a->as, "release...", "%s ticket=%s", name_of(name), ticket);
    int code = tenure_release(c, &err);
    bool same = session != 0 && a->t->session.id == session &&
                strtoull(ticket, NULL, 10) == session;
    bool stood = standing > 0 && standing != TENURE_WAITING && tenure_now() < deadline_ms;
    world_trace(a->as, "release", "%s ticket=%s -> %s", name_of(name), ticket,
                tenure_error_name(code < 0 ? code : 0));
    if (same)
        judge_released(ticket, code, stood);
    return code;
}

void deed_leave(struct actor *a, tenure_claim *c)
{
    tenure_error err;
    int name = server_name_index(tenure_claim_name(c));
    world_trace(a->as, "leave...", "%s ticket=%s", name_of(name), tenure_claim_ticket(c));
    trace(a, "leave", name, tenure_leave(c, &err));
}

void deed_give_back(struct actor *a, tenure_claim *c)
{
    if (random_chance(&world.random, 400))
        deed_leave(a, c);
    else
        deed_release(a, c);
}

/* Between looking and writing a program may be stopped for any time. */
static void hesitate(void)
{
    struct random *r = &world.random;
    bool hangs = plan_has(&world.plan, FAULT_HANG) && !world.quiet && random_chance(r, 150);
    int64_t most_us = hangs ? 2 * world.plan.longest_ttl_ms * 1000 : 300;
    task_sleep_us(random_range(r, 10, most_us));
}

void deed_work(struct actor *a, tenure_claim *c, int name, int writes)
{
    tenure_error err;
    tenure_token token = tenure_claim_token(c);
    if (tenure_check(c) < 0)
        return;
    if (world.plan.announce)
        resource_announce(name, token);
    if (world.plan.name[name].kind == TENURE_ELECTION && random_chance(&world.random, 900))
        trace(a, "serving", name, tenure_serving(c, &err));
    for (int i = 0; i < writes; i++) {
        if (tenure_check(c) < 0)
            return;
        hesitate();
        if (world.plan.name[name].permits == 1)
            resource_write(&a->host, name, token);
        deed_nap(a, random_range(&world.random, 1, 200));
        if (random_chance(&world.random, 60))
            trace(a, "publish", name, tenure_publish(c, "elsewhere", &err));
    }
}

/* ---- leases ------------------------------------------------------------------------------ */

int deed_lease_take(struct actor *a, int name, int64_t ttl_ms)
{
    tenure_error err;
    tenure_token token = 0;
    uint64_t before = judge_commits(a->client, DECIDE_LEASE_TAKE);
    int code = tenure_lease_take(a->t, name_of(name), a->as, ttl_ms, &token, &err);
    trace(a, "take", name, code);
    uint64_t commits = judge_commits(a->client, DECIDE_LEASE_TAKE) - before;
    if (code == 0) {
        if (commits == 0)
            world_fail("P6", "%s: a lease is said to be taken, and was not", name_of(name));
        a->lease[name] = token;
        resource_write(&a->host, name, token);
    }
    return code;
}

void deed_lease_renew(struct actor *a, int name)
{
    tenure_error err;
    tenure_token token = a->lease[name];
    uint64_t before = judge_commits(a->client, DECIDE_LEASE_RENEW);
    int64_t ttl_ms = random_range(&world.random, 500, world.plan.longest_ttl_ms);
    int code = tenure_lease_renew(a->t, name_of(name), token, ttl_ms, &err);
    trace(a, "renew", name, code);
    judge_operated(DECIDE_LEASE_RENEW, name_of(name), token, code,
                   judge_commits(a->client, DECIDE_LEASE_RENEW) - before);
    if (code == TENURE_NOT_OWNED)
        a->lease[name] = 0;
}

void deed_lease_drop(struct actor *a, int name)
{
    tenure_error err;
    tenure_token token = a->lease[name];
    uint64_t before = judge_commits(a->client, DECIDE_LEASE_DROP);
    int code = tenure_lease_drop(a->t, name_of(name), token, &err);
    trace(a, "drop", name, code);
    judge_operated(DECIDE_LEASE_DROP, name_of(name), token, code,
                   judge_commits(a->client, DECIDE_LEASE_DROP) - before);
    if (code == 0 || code == TENURE_NOT_OWNED)
        a->lease[name] = 0;
}

/* ---- operators --------------------------------------------------------------------------- */

struct sight {
    unsigned seen;
    int name;
    tenure_kind kind;
    tenure_token token;
    char candidate[CLAIM_AS_BYTES_MAX + 1]; /* "": none waits */
};

/* Remembers one of the names, by chance. */
static bool see(void *arg, const tenure_name_info *info)
{
    struct sight *s = arg;
    if (info->ticket_count == 0 || random_below(&world.random, ++s->seen) != 0)
        return true;
    s->name = server_name_index(info->name);
    s->kind = info->kind;
    s->token = info->tickets[0].token;
    s->candidate[0] = '\0';
    const tenure_ticket_info *last = &info->tickets[info->ticket_count - 1];
    if (last->state == TENURE_TICKET_WAITING) {
        const char *known_as = random_chance(&world.random, 500) ? last->as : last->ticket;
        memcpy(s->candidate, known_as, strlen(known_as) + 1);
    }
    return true;
}

void deed_look(struct actor *a)
{
    struct sight s = {0};
    tenure_error err;
    int code = tenure_look(a->t, "", see, &s, &err);
    world_trace(a->as, "look", "names=%u -> %s", s.seen, tenure_error_name(code));
    if (random_chance(&world.random, 300) && tenure_watch(a->t, 50, &err) > 0)
        world_trace(a->as, "watch", "changed");
}

static void evict(struct actor *a, const struct sight *s)
{
    tenure_error err;
    uint64_t before = judge_commits(a->client, DECIDE_END);
    int code = tenure_evict(a->t, name_of(s->name), s->token, "operator", "a test", &err);
    trace(a, "evict", s->name, code);
    judge_operated(DECIDE_END, name_of(s->name), s->token, code,
                   judge_commits(a->client, DECIDE_END) - before);
}

void deed_operate(struct actor *a)
{
    struct sight s = {0};
    tenure_error err;
    tenure_token token = 0;
    if (tenure_look(a->t, "", see, &s, &err) < 0 || s.seen == 0 || s.token == 0)
        return;
    unsigned choice = (unsigned)random_below(&world.random, 3);
    if (choice == 0 || s.kind != TENURE_ELECTION) {
        evict(a, &s);
    } else if (choice == 1 || !s.candidate[0]) {
        trace(a, "resign", s.name, tenure_resign(a->t, name_of(s.name), NULL, &token, &err));
    } else {
        int64_t wait_ms = random_range(&world.random, 0, 2 * world.plan.longest_ttl_ms);
        world_trace(a->as, "transfer..", "%s to %s", name_of(s.name), s.candidate);
        trace(a, "transfer", s.name,
              tenure_transfer(a->t, name_of(s.name), s.candidate, NULL, wait_ms, &token, &err));
    }
}
