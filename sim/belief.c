/* sim/belief.c - what every program in the world believes at one instant (P3, P4). */
#include <stdlib.h>
#include <string.h>

#include "lib/handle.h"
#include "sim/judge.h"
#include "sim/system.h"

#define PROCESSES_MAX 64
#define BELIEFS_MAX 256

struct process {
    struct host *host;
    tenure *t;
    int client;
};

/* A belief that stands, or stood at the last look. */
struct belief {
    uint64_t birth; /* of the claim */
    const struct host *host;
    int name;
    uint64_t token;
    bool seen;
    int64_t seen_us;
    bool excused;         /* its record was replaced behind its back */
    int64_t excused_us;
    int64_t taken_us; /* since when the store has taken it away, in runs that may; 0: not */
    int64_t overlap_us; /* for how long that may be so, by its clock and the store's */
};

static struct {
    struct process process[PROCESSES_MAX];
    int processes;
    struct belief belief[BELIEFS_MAX];
    int count;
    bool *ended; /* by birth: such a claim believed once, and does no more */
    uint64_t ended_room;
    int64_t quiet_us;
} all;

void belief_begin(void)
{
    memset(&all, 0, sizeof all);
}

void judge_opened(struct host *host, tenure *t, int client)
{
    if (all.processes == PROCESSES_MAX)
        abort();
    all.process[all.processes++] = (struct process){host, t, client};
}

void judge_closed(const tenure *t)
{
    for (int i = 0; i < all.processes; i++) {
        if (all.process[i].t == t) {
            all.process[i] = all.process[--all.processes];
            return;
        }
    }
}

void judge_quiet(void)
{
    all.quiet_us = world.now_us;
}

void judge_end(void)
{
    if (all.processes > 0)
        abort(); /* the actors close what they open */
}

static bool has_ended(uint64_t birth)
{
    return birth < all.ended_room && all.ended[birth];
}

static void note_ended(uint64_t birth)
{
    if (birth >= all.ended_room) {
        uint64_t room = birth + 1024;
        bool *ended = world_alloc(room);
        if (all.ended_room > 0)
            memcpy(ended, all.ended, all.ended_room);
        all.ended = ended;
        all.ended_room = room;
    }
    all.ended[birth] = true;
}

/* Whether tenure_check() would say that it is held; an attentive judge asks it. */
static bool is_believed(const struct process *p, const tenure_claim *c)
{
    if (c->phase == PHASE_LEAVING)
        return false; /* given back: its program does not ask any more */
    if (world.plan.attentive) {
        host_current = p->host;
        int standing = tenure_check(c);
        host_current = NULL;
        return standing == TENURE_STANDING || standing == TENURE_DOUBTFUL;
    }
    return c->standing == TENURE_STANDING && host_clock(p->host).ms < c->deadline_ms;
}

/* The holder stops at sent + deadline on its clock, the store grants at receipt + ttl on its. */
static int64_t overlap_allowed(const struct process *p)
{
    const struct timing *t = &p->t->timing;
    double holder = (double)t->deadline.ms / (1 + (double)p->host->drift_ppm / 1e6);
    double store = (double)t->ttl.ms / (1 + (double)server_host.drift_ppm / 1e6);
    return holder > store ? (int64_t)((holder - store) * US_PER_MS) : 0;
}

static void see(const struct process *p, const tenure_claim *c)
{
    uint64_t birth = memory_birth(c);
    if (has_ended(birth))
        world_fail("P4", "%s: %s believes in token %llu again", c->name, p->host->name,
                   (unsigned long long)c->token);
    for (int i = 0; i < all.count; i++) {
        if (all.belief[i].birth == birth) {
            all.belief[i].seen = true;
            all.belief[i].seen_us = world.now_us;
            return;
        }
    }
    if (all.count == BELIEFS_MAX)
        abort();
    int name = server_name_index(c->name);
    all.belief[all.count++] = (struct belief){.birth = birth,
                                              .host = p->host,
                                              .name = name,
                                              .token = c->token,
                                              .seen = true,
                                              .excused = judge_is_excused(name, c->token),
                                              .excused_us = world.now_us,
                                              .overlap_us = overlap_allowed(p)};
    world_trace(p->host->name, "believes", "%s token=%llu", c->name,
                (unsigned long long)c->token);
}

#define ROUNDING_US 2000 /* a clock shows whole milliseconds */

static void measure_overlap(const struct belief *b)
{
    int64_t overlap_us = world.now_us - b->taken_us;
    tally.overlaps++;
    if (overlap_us > tally.overlap_us)
        tally.overlap_us = overlap_us;
    if (overlap_us > b->overlap_us + ROUNDING_US && b->seen_us >= b->taken_us + b->overlap_us)
        world_fail("timing", "%s: an overlap of %.3f ms, the clocks allow %.3f ms",
                   world.plan.name[b->name].name, (double)overlap_us / US_PER_MS,
                   (double)b->overlap_us / US_PER_MS);
}

static void forget_unseen(void)
{
    for (int i = 0; i < all.count;) {
        struct belief *b = &all.belief[i];
        if (b->seen) {
            i++;
            continue;
        }
        world_trace(b->host->name, "ends", "%s token=%llu", world.plan.name[b->name].name,
                    (unsigned long long)b->token);
        note_ended(b->birth);
        if (b->taken_us != 0)
            measure_overlap(b);
        all.belief[i] = all.belief[--all.count];
    }
}

/* P3, one belief: the store has it, too. */
static void check_standing(struct belief *b)
{
    if (b->excused) {
        int64_t since = b->excused_us > all.quiet_us ? b->excused_us : all.quiet_us;
        if (world.quiet && world.now_us - since > 3 * world.plan.longest_ttl_ms * US_PER_MS)
            world_fail("P3", "%s: %s never noticed that token %llu was taken away",
                       world.plan.name[b->name].name, b->host->name,
                       (unsigned long long)b->token);
        return;
    }
    if (judge_stands(b->name, b->token))
        return;
    if (!plan_has(&world.plan, FAULT_BEYOND))
        world_fail("P3", "%s: %s believes in token %llu, which the store has ended",
                   world.plan.name[b->name].name, b->host->name, (unsigned long long)b->token);
    else if (b->taken_us == 0)
        b->taken_us = world.now_us;
}

/* P3, all beliefs of one name: they exclude each other. */
static void check_together(int name)
{
    unsigned exclusive = 0, count = 0;
    for (int i = 0; i < all.count; i++) {
        const struct belief *b = &all.belief[i];
        if (b->name != name || b->excused)
            continue;
        count++;
        exclusive += judge_is_exclusive_ticket(name, b->token);
    }
    unsigned permits = world.plan.name[name].permits;
    if ((exclusive > 0 && count > 1) || (permits > 1 && count > permits))
        world_fail("P3", "%s: %u believe that they hold it", world.plan.name[name].name, count);
}

void belief_look(void)
{
    for (int i = 0; i < all.count; i++)
        all.belief[i].seen = false;
    for (int i = 0; i < all.processes; i++) {
        for (const tenure_claim *c = all.process[i].t->claims; c; c = c->next) {
            if (is_believed(&all.process[i], c))
                see(&all.process[i], c);
        }
    }
    forget_unseen();
    for (int i = 0; i < all.count; i++)
        check_standing(&all.belief[i]);
    for (int n = 0; n < world.plan.names && !plan_has(&world.plan, FAULT_BEYOND); n++)
        check_together(n);
}

void belief_replaced(int name)
{
    belief_look();
    for (int i = 0; i < all.count; i++) {
        if (all.belief[i].name == name) {
            all.belief[i].excused = true;
            all.belief[i].excused_us = world.now_us;
        }
    }
}
