/* tests/unit/world.h - facts for rules: a clock, a floor, and sessions that live or do not. */
#ifndef TESTS_UNIT_WORLD_H
#define TESTS_UNIT_WORLD_H

#include <stdio.h>

#include "core/rules.h"

#define WORLD_SESSIONS 2000

static struct world {
    int64_t now;
    uint64_t floor;
    enum liveness state[WORLD_SESSIONS];
    int64_t until[WORLD_SESSIONS];
    uint32_t grants_max;
    struct claim claim;
    struct effects fx;
    struct standing standing;
} world;

static inline enum liveness world_liveness(void *oracle, uint64_t session, struct instant *ret)
{
    (void)oracle;
    if (session >= WORLD_SESSIONS)
        return LIVE_GONE;
    *ret = INSTANT(world.until[session]);
    if (world.state[session] == LIVE && world.now >= world.until[session])
        return LIVE_EXPIRED;
    return world.state[session];
}

static inline void world_reset(void)
{
    memset(&world, 0, sizeof world);
    world.now = 1000;
    for (int i = 0; i < WORLD_SESSIONS; i++)
        world.until[i] = 1000000;
    claim_clear(&world.claim);
}

static inline struct facts world_facts(void)
{
    return (struct facts){
        .now = INSTANT(world.now),
        .wall_ms = 1700000000000 + world.now,
        .token_floor = world.floor,
        .liveness = world_liveness,
        .grants_max = world.grants_max,
    };
}

/* Runs a rule on the world's claim and takes over the floor. */
#define WORLD(rule, ...)                                                                           \
    world_after(rule(&world.claim, world_use(), __VA_ARGS__))

static struct facts world_now;

static inline struct facts *world_use(void)
{
    world_now = world_facts();
    return &world_now;
}

static inline enum verdict world_after(enum verdict v)
{
    world.floor = world_now.token_floor;
    return v;
}

static inline struct ask world_ask_of(uint64_t session, tenure_kind kind)
{
    static char as[WORLD_SESSIONS][16];
    snprintf(as[session], sizeof as[session], "host:%d", (int)session);
    return (struct ask){
        .id = {session, 1},
        .kind = kind,
        .permits = 1,
        .ttl = SPAN(10000),
        .as = text_of(as[session]),
    };
}

static inline enum verdict world_ask(const struct ask *ask)
{
    return WORLD(rules_ask, ask, &world.fx, &world.standing);
}

static inline enum verdict world_lock(uint64_t session)
{
    struct ask ask = world_ask_of(session, TENURE_LOCK);
    return world_ask(&ask);
}

static inline enum verdict world_stand(uint64_t session)
{
    struct ask ask = world_ask_of(session, TENURE_ELECTION);
    return world_ask(&ask);
}

static inline enum verdict world_leave(uint64_t session)
{
    return WORLD(rules_leave, ((struct ticket_id){session, 1}), &world.fx);
}

static inline enum verdict world_look(uint64_t session)
{
    return WORLD(rules_look, ((struct ticket_id){session, 1}), 0, &world.fx, &world.standing);
}

static inline bool world_rang(uint64_t session)
{
    for (uint32_t i = 0; i < world.fx.ring_count; i++) {
        if (world.fx.ring[i] == session)
            return true;
    }
    return false;
}

/* The session that holds, when exactly one does; else 0. */
static inline uint64_t world_holder(void)
{
    return claim_holders(&world.claim) == 1 ? world.claim.ticket[0].id.session : 0;
}

#endif
