/* tests/unit/permit_world.c - leaders, their permits and effectors at random, on clocks that are
 * off by as much as they state, at most.
 *
 * One instant of the world is everybody's true time; what the rules may not know, the judge does:
 * who led when, when each permit was granted, and what each effector has done. */
#include <stdio.h>
#include <stdlib.h>

#include "core/docket.h"
#include "tap.h"
#include "world.h"

#define T0 1700000000000
#define TTL 10000
#define CANDIDATES 3
#define EFFECTORS 2
#define STEPS 600
#define RUNS 300
#define KEPT_MAX STEPS

/* The judge's word is final: what is not so ends the run. */
#define JUDGE(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            printf("Bail out! seed %llu, line %d: %s\n", (unsigned long long)seed, __LINE__,      \
                   #cond);                                                                         \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

static uint64_t seed, dice_state;

static uint64_t dice(uint64_t n)
{
    dice_state ^= dice_state << 13;
    dice_state ^= dice_state >> 7;
    dice_state ^= dice_state << 17;
    return dice_state % n;
}

/* A clock that is off by `off`, at most `error` in either direction. */
struct clock {
    int64_t off, error;
};

static struct candidate {
    uint64_t session; /* it gets a new one when it has lost its own */
    bool stopped;
    struct clock clock;
} candidate[CANDIDATES];

static struct effector {
    struct clock clock;
    tenure_permit_mark mark;
    uint64_t admitted[KEPT_MAX]; /* serials */
    int count;
    uint64_t highest; /* epoch that it was shown by an authentic permit */
} effector[EFFECTORS];

static struct kept {
    tenure_permit permit;
    int64_t granted, valid; /* true time */
    bool usual, shared, revoked;
    bool was_silent; /* its leader had fallen silent when somebody else was elected */
} kept[KEPT_MAX];
static int kept_count;

static struct docket docket;
static uint64_t sessions, ticket;
static uint64_t led; /* the epoch that was elected last */
static int granted, admitted, refused_stale, refused_expired, elected_after_silence;

static struct clock some_clock(void)
{
    int64_t error = (int64_t)dice(400);
    return (struct clock){(int64_t)dice((uint64_t)error * 2 + 1) - error, error};
}

static int64_t wall(struct clock c)
{
    return T0 + world.now + c.off;
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void stand(struct candidate *c)
{
    c->session = ++sessions;
    world.until[c->session] = world.now + TTL;
    world_stand(c->session);
}

/* The dead are taken out, the next one leads. */
static void settle(void)
{
    bool silent = false;
    for (uint32_t i = 0; i < world.claim.ticket_count; i++) {
        const struct ticket *t = &world.claim.ticket[i];
        silent = silent || (t->token == led && led != 0 && world.state[t->id.session] == LIVE);
    }
    WORLD(rules_sweep, &world.fx);
    uint64_t now_leads = claim_holders(&world.claim) > 0 ? world.claim.ticket[0].token : led;
    if (now_leads == led)
        return;
    elected_after_silence += silent;
    for (int i = 0; i < kept_count; i++)
        kept[i].was_silent = kept[i].was_silent || (silent && kept[i].permit.epoch == led);
    led = now_leads;
}

static void live_on(void)
{
    world.now += (int64_t)dice(1200);
    for (int i = 0; i < CANDIDATES; i++) {
        struct candidate *c = &candidate[i];
        if (dice(12) == 0)
            c->stopped = !c->stopped;
        if (dice(40) == 0)
            world.state[c->session] = LIVE_GONE; /* it dies, and is started again */
        bool dead = world.state[c->session] != LIVE || world.now >= world.until[c->session];
        if (dead && !c->stopped)
            stand(c);
        else if (!c->stopped)
            world.until[c->session] = world.now + TTL;
    }
    if (dice(3) > 0) /* else nobody has noticed yet who is dead */
        settle();
}

/* ---- granting -------------------------------------------------------------------------------- */

/* Whether this epoch is led by somebody who is alive, as the judge sees it. */
static bool is_led(uint64_t epoch)
{
    const struct ticket *t = claim_find_token(&world.claim, epoch);
    return t && world.state[t->id.session] == LIVE && world.now < world.until[t->id.session];
}

/* Whether some effector could still admit one, were its clock as wrong as it may be. */
static bool is_usable(const struct kept *k)
{
    return !k->revoked && world.now < k->granted + k->valid;
}

static void judge_grant(const struct grant *g, bool shared)
{
    JUDGE(is_led(g->epoch));
    for (int i = 0; i < kept_count; i++)
        JUDGE(!is_usable(&kept[i]) || (shared && kept[i].shared)); /* else two at a time */
}

static void ask(void)
{
    const struct clock clock = candidate[dice(CANDIDATES)].clock;
    struct facts f = world_facts();
    uint32_t at;
    bool is_new;
    struct docket_terms terms = {
        .ticket = ++ticket,
        .role = text_of("cl"),
        .epoch = led > 0 && dice(4) > 0 ? led : 1 + dice(led + 2),
        .by = text_of("me"),
        .shared = dice(3) == 0,
        .valid = SPAN(dice(3) == 0 ? 2000 + (int64_t)dice(20000) : 0),
        .least = SPAN(2 * clock.error + 1),
        .wall_ms = wall(clock),
    };
    enum docket_verdict v =
        docket_grant(&docket, &world.claim, &f, &f, &terms, &at, &is_new);
    world.floor = f.token_floor;
    if (v != DOCKET_GRANTED || kept_count == KEPT_MAX)
        return;
    const struct grant *g = &docket.grant[at];
    judge_grant(g, terms.shared);
    granted++;
    kept[kept_count++] = (struct kept){
        .permit = {"cl", g->epoch, "node-7", "drain", g->serial, 1, g->issued_ms, g->not_after_ms,
                   clock.error},
        .granted = world.now,
        .valid = g->not_after_ms - g->issued_ms,
        .usual = terms.valid.ms == 0,
        .shared = terms.shared,
    };
}

static void revoke(void)
{
    struct facts f = world_facts();
    bool is_new;
    if (kept_count == 0)
        return;
    struct kept *k = &kept[dice((uint64_t)kept_count)];
    if (docket_revoke(&docket, &f, k->permit.serial, text_of("op"), &is_new) == DOCKET_GRANTED)
        k->revoked = true;
}

/* ---- showing --------------------------------------------------------------------------------- */

static void judge_admission(const struct effector *e, const struct kept *k)
{
    JUDGE(k->permit.epoch >= e->highest);
    JUDGE(world.now < k->granted + k->valid);
    JUDGE(!k->usual || !k->was_silent); /* a successor never meets it */
    for (int i = 0; i < e->count; i++)
        JUDGE(e->admitted[i] != k->permit.serial);
}

static void show(void)
{
    struct effector *e = &effector[dice(EFFECTORS)];
    tenure_permit_demand demand = TENURE_PERMIT_DEMAND_INIT;
    if (kept_count == 0)
        return;
    uint64_t back = dice(4) > 0 ? dice(3) : dice((uint64_t)kept_count); /* mostly the last ones */
    const struct kept *k = &kept[back < (uint64_t)kept_count ? kept_count - 1 - (int)back : 0];
    demand.role = "cl";
    demand.resource = "node-7";
    demand.operation = "drain";
    demand.now_ms = wall(e->clock);
    demand.clock_error_ms = e->clock.error;
    tenure_permit_verdict v = tenure_permit_judge(&k->permit, &demand, &e->mark);
    JUDGE(v != TENURE_PERMIT_EARLY); /* all clocks keep to their errors */
    JUDGE(permit_mark_check(&e->mark));
    if (v == TENURE_PERMIT_ADMIT) {
        judge_admission(e, k);
        e->admitted[e->count++] = k->permit.serial;
        admitted++;
    }
    refused_stale += v == TENURE_PERMIT_STALE;
    refused_expired += v == TENURE_PERMIT_EXPIRED;
    if (k->permit.epoch > e->highest)
        e->highest = k->permit.epoch;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void begin(void)
{
    dice_state = seed * 0x9e3779b97f4a7c15 + 1;
    world_reset();
    memset(&docket, 0, sizeof docket);
    memset(effector, 0, sizeof effector);
    kept_count = 0;
    sessions = ticket = led = 0;
    for (int i = 0; i < CANDIDATES; i++) {
        candidate[i] = (struct candidate){.clock = some_clock()};
        stand(&candidate[i]);
    }
    for (int i = 0; i < EFFECTORS; i++)
        effector[i].clock = some_clock();
    settle();
}

static void step(void)
{
    live_on();
    if (dice(2) == 0)
        ask();
    if (dice(12) == 0)
        revoke();
    for (uint64_t n = dice(3); n > 0; n--)
        show();
}

static void no_order_of_events_breaks_what_permits_promise(void)
{
    for (seed = 1; seed <= RUNS; seed++) {
        begin();
        for (int i = 0; i < STEPS; i++)
            step();
    }
    printf("# %d granted, %d admitted, %d stale, %d expired, %d elected after silence\n", granted,
           admitted, refused_stale, refused_expired, elected_after_silence);
    CHECK(granted > RUNS * 10 && admitted > RUNS * 10 && elected_after_silence > RUNS);
    CHECK(refused_stale > RUNS && refused_expired > RUNS); /* it was about something */
}

int main(void)
{
    return TAP_RUN(TAP(no_order_of_events_breaks_what_permits_promise));
}
