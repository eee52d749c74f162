#include "sim/plan.h"

#include <stdio.h>

const char *plan_fault_text(int number)
{
    static const char *const text[FAULT_COUNT] = {
        "loss",    "duplicate", "delay",  "partition", "pause", "crash",       "store-crash",
        "stall",   "restore",   "remove", "hints",     "hang",  "drift",       "beyond",
        "refusal", "wall",      "machine"};
    return number >= 0 && number < FAULT_COUNT ? text[number] : "unknown";
}

static void draw_faults(struct plan *p, struct random *r)
{
    unsigned share = (unsigned)random_range(r, 150, 600);
    for (int i = 0; i < FAULT_COUNT; i++) {
        if (random_chance(r, share))
            p->faults |= 1u << i;
    }
    if (!random_chance(r, 100))
        p->faults &= ~(unsigned)FAULT_BEYOND; /* it takes P3 off the list: rarely */
    if (!random_chance(r, 250))
        p->faults &= ~(unsigned)(FAULT_RESTORE | FAULT_REMOVE);
    /* Within one machine there is no network between the store and its users, and one clock. */
    unsigned network = FAULT_LOSS | FAULT_DUPLICATE | FAULT_DELAY | FAULT_PARTITION |
                       FAULT_STORE_CRASH | FAULT_RESTORE | FAULT_DRIFT | FAULT_BEYOND;
    p->faults &= ~(p->embedded ? network : (unsigned)FAULT_MACHINE);
    p->loss = p->faults & FAULT_LOSS ? (unsigned)random_range(r, 5, 150) : 0;
    p->duplicate = p->faults & FAULT_DUPLICATE ? (unsigned)random_range(r, 5, 200) : 0;
    p->delay = p->faults & FAULT_DELAY ? (unsigned)random_range(r, 5, 150) : 0;
    p->store_error = p->faults & FAULT_STORE_ERROR ? (unsigned)random_range(r, 5, 60) : 0;
}

static void draw_names(struct plan *p, struct random *r)
{
    p->names = (int)random_range(r, 1, PLAN_NAMES_MAX);
    for (int i = 0; i < p->names; i++) {
        snprintf(p->name[i].name, sizeof p->name[i].name, "sim/name-%d", i);
        p->name[i].kind = TENURE_LOCK;
        p->name[i].permits = 1;
        switch (random_below(r, 6)) {
        case 0:
            p->name[i].permits = (unsigned)random_range(r, 2, 3);
            break;
        case 1:
            p->name[i].mixes_shared = true;
            break;
        case 2:
        case 3:
            p->name[i].kind = TENURE_ELECTION;
            break;
        case 4:
            p->name[i].kind = i > 0 ? TENURE_LEASE : TENURE_LOCK;
            break;
        default:
            break;
        }
    }
}

static void draw_actors(struct plan *p, struct random *r)
{
    static const int64_t ttls[] = {500, 600, 1000, 1500, 3000, 5000, 10000};
    int64_t usual = ttls[random_below(r, sizeof ttls / sizeof ttls[0])];
    bool mixed = random_chance(r, 300), pumps = random_chance(r, 500);
    p->actors = (int)random_range(r, 2, PLAN_ACTORS_MAX);
    p->longest_ttl_ms = 0;
    for (int i = 0; i < p->actors; i++) {
        int64_t ttl = mixed ? ttls[random_below(r, sizeof ttls / sizeof ttls[0])] : usual;
        p->actor[i].ttl_ms = ttl;
        p->actor[i].pump = pumps && random_chance(r, 700);
        p->actor[i].max_silence_ms = random_chance(r, 250) ? ttl : 0;
        if (ttl > p->longest_ttl_ms)
            p->longest_ttl_ms = ttl;
    }
}

void plan_draw(struct plan *p, uint64_t seed)
{
    struct random r = {seed * 0x2545f4914f6cdd1du + 1};
    *p = (struct plan){.seed = seed};
    p->embedded = random_chance(&r, 300);
    p->attentive = random_chance(&r, 500);
    p->announce = random_chance(&r, 500);
    draw_faults(p, &r);
    draw_names(p, &r);
    draw_actors(p, &r);
    p->chaos_us = random_range(&r, 5, 12) * p->longest_ttl_ms * 1000;
    p->steps = (uint64_t)random_range(&r, 20, 240);
    p->tells = random_chance(&r, 500) && !p->embedded;
}
