#include "world.h"
#include "tap.h"

#include <stdlib.h>

/* ---- P1: tokens ------------------------------------------------------------------------------ */

static void tokens_grow_strictly_over_release_death_and_deletion(void)
{
    world_reset();
    uint64_t last = 0;
    for (uint64_t s = 1; s < 50; s++) {
        CHECK(world_lock(s) == VERDICT_HELD);
        CHECK(world.standing.token > last);
        last = world.standing.token;
        if (s % 3 == 0)
            world.state[s] = LIVE_GONE;
        else
            CHECK(world_leave(s) == VERDICT_DONE);
        if (s % 7 == 0 && claim_is_idle(&world.claim))
            claim_clear(&world.claim); /* the record is deleted; the floor is not */
    }
}

static void a_floor_that_went_back_repeats_no_token_of_a_record_that_stands(void)
{
    world_reset();
    world.floor = 100;
    CHECK(world_lock(1) == VERDICT_HELD && world.standing.token == 101);
    CHECK(world_leave(1) == VERDICT_DONE);
    world.floor = 5;
    CHECK(world_lock(2) == VERDICT_HELD && world.standing.token == 102);
}

static void no_two_shared_holders_have_one_token(void)
{
    world_reset();
    for (uint64_t s = 1; s <= 5; s++) {
        struct ask ask = world_ask_of(s, TENURE_LOCK);
        ask.shared = true;
        CHECK(world_ask(&ask) == VERDICT_HELD);
    }
    CHECK(claim_holders(&world.claim) == 5 && claim_check(&world.claim));
}

/* ---- P2: only the living --------------------------------------------------------------------- */

static void a_dead_waiter_is_passed_over_and_leaves_nothing(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    CHECK(world_lock(2) == VERDICT_WAITING && world_lock(3) == VERDICT_WAITING);
    world.state[2] = LIVE_GONE;
    CHECK(world_leave(1) == VERDICT_DONE);
    CHECK(world_holder() == 3 && world.claim.ticket_count == 1);
}

static void a_waiter_that_expired_is_never_granted(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD && world_lock(2) == VERDICT_WAITING);
    world.until[2] = 5000;
    world.now = 5000;
    CHECK(world_leave(1) == VERDICT_DONE);
    CHECK(world.claim.ticket_count == 0);
    CHECK(world_look(2) == VERDICT_GONE);
}

static void a_waiter_that_gave_up_is_never_granted(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD && world_lock(2) == VERDICT_WAITING);
    CHECK(world_leave(2) == VERDICT_DONE);
    CHECK(world_leave(1) == VERDICT_DONE);
    CHECK(claim_is_idle(&world.claim));
}

static void a_dead_session_cannot_ask(void)
{
    world_reset();
    world.state[1] = LIVE_GONE;
    CHECK(world_lock(1) == VERDICT_DEAD);
    CHECK(claim_is_idle(&world.claim) && !world.fx.changed);
}

static void the_same_ticket_asked_twice_is_one_ticket(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    uint64_t token = world.standing.token;
    CHECK(world_lock(1) == VERDICT_HELD && world.standing.token == token && !world.fx.changed);
    CHECK(world_lock(2) == VERDICT_WAITING && world_lock(2) == VERDICT_WAITING);
    CHECK(world.claim.ticket_count == 2);
}

static void a_try_is_refused_and_leaves_nothing(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    struct ask ask = world_ask_of(2, TENURE_LOCK);
    ask.try_only = true;
    CHECK(world_ask(&ask) == VERDICT_REFUSED);
    CHECK(!world.fx.changed && world.claim.ticket_count == 1);
    CHECK(text_equal(world.standing.as, text_of("host:1")));
}

static void a_try_does_not_overtake_who_waits(void)
{
    world_reset();
    struct ask reader = world_ask_of(1, TENURE_LOCK), eager = world_ask_of(3, TENURE_LOCK);
    reader.shared = eager.shared = true;
    eager.try_only = true;
    CHECK(world_ask(&reader) == VERDICT_HELD && world_lock(2) == VERDICT_WAITING);
    CHECK(world_ask(&eager) == VERDICT_REFUSED);
}

/* ---- P5: exactly what is named --------------------------------------------------------------- */

static void release_by_another_ticket_touches_nothing(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    CHECK(WORLD(rules_leave, ((struct ticket_id){1, 2}), &world.fx) == VERDICT_GONE);
    CHECK(world_holder() == 1);
}

static void an_eviction_with_an_old_token_touches_nothing(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    uint64_t old = world.standing.token;
    CHECK(world_leave(1) == VERDICT_DONE && world_lock(2) == VERDICT_HELD);
    CHECK(WORLD(rules_end, old, CAUSE_EVICTED, text_of("op"), text_of("why"), &world.fx) ==
          VERDICT_GONE);
    CHECK(world_holder() == 2 && world.claim.ticket[0].state == TENURE_TICKET_HELD);
}

static void a_live_holder_that_is_evicted_keeps_its_seat_until_it_stops(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    uint64_t token = world.standing.token;
    CHECK(world_lock(2) == VERDICT_WAITING);
    CHECK(WORLD(rules_end, token, CAUSE_EVICTED, text_of("op"), text_of("hung"), &world.fx) ==
          VERDICT_DONE);
    CHECK(world_holder() == 1 && world.claim.ticket[0].state == TENURE_TICKET_ENDING);
    CHECK(world.fx.notice == 1 && world_rang(1));
    CHECK(world_leave(1) == VERDICT_DONE && world_holder() == 2);
    CHECK(world.claim.past[0].cause == CAUSE_EVICTED);
    CHECK(text_equal(world.claim.past[0].by, text_of("op")));
    CHECK(text_equal(world.claim.past[0].reason, text_of("hung")));
}

/* P3: it may not be given on before the deadline of a renewal sent just before the eviction. */
static void an_evicted_holder_that_does_not_stop_loses_its_seat_a_ttl_later(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD && world_lock(2) == VERDICT_WAITING);
    uint64_t token = world.claim.ticket[0].token;
    world.now = 2000;
    CHECK(WORLD(rules_end, token, CAUSE_EVICTED, text_of("op"), text_of(""), &world.fx) ==
          VERDICT_DONE);
    world.now = 2000 + 9999;
    CHECK(world_look(2) == VERDICT_WAITING);
    world.now = 2000 + 10000;
    CHECK(world_look(2) == VERDICT_HELD);
}

static void a_dead_holder_is_evicted_at_once_and_on_record(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD && world_lock(2) == VERDICT_WAITING);
    uint64_t token = world.claim.ticket[0].token;
    world.state[1] = LIVE_GONE;
    CHECK(WORLD(rules_end, token, CAUSE_EVICTED, text_of("op"), text_of("dead"), &world.fx) ==
          VERDICT_DONE);
    CHECK(world_holder() == 2 && world.claim.past[0].cause == CAUSE_EVICTED);
}

static void what_expired_cannot_be_released_any_more(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    world.until[1] = 3000;
    world.now = 3000;
    CHECK(world_leave(1) == VERDICT_GONE);
    CHECK(world.claim.past[0].cause == CAUSE_EXPIRED);
}

/* ---- leases ---------------------------------------------------------------------------------- */

static enum verdict take(uint64_t serial, int64_t ttl)
{
    struct ask ask = {.id = {0, serial}, .kind = TENURE_LEASE, .permits = 1, .ttl = SPAN(ttl),
                      .as = text_of("cron")};
    return WORLD(rules_lease_take, &ask, &world.fx, &world.standing);
}

static void a_lease_keeps_its_token_over_renewals(void)
{
    world_reset();
    CHECK(take(7, 2000) == VERDICT_HELD);
    uint64_t token = world.standing.token;
    world.now += 1500;
    CHECK(WORLD(rules_lease_renew, token, SPAN(2000), &world.fx) == VERDICT_DONE);
    world.now += 1500;
    CHECK(world.claim.ticket[0].token == token);
    CHECK(WORLD(rules_lease_renew, token, SPAN(2000), &world.fx) == VERDICT_DONE);
}

/* P4, scenario 5 */
static void an_expired_lease_never_revives_even_if_nobody_was_in_between(void)
{
    world_reset();
    CHECK(take(7, 2000) == VERDICT_HELD);
    uint64_t token = world.standing.token;
    world.now += 2000;
    CHECK(WORLD(rules_lease_renew, token, SPAN(2000), &world.fx) == VERDICT_GONE);
    CHECK(WORLD(rules_lease_drop, token, &world.fx) == VERDICT_GONE);
    CHECK(take(8, 2000) == VERDICT_HELD && world.standing.token > token);
    CHECK(WORLD(rules_lease_renew, token, SPAN(2000), &world.fx) == VERDICT_GONE);
}

static void a_lease_is_refused_while_another_stands(void)
{
    world_reset();
    CHECK(take(7, 2000) == VERDICT_HELD);
    CHECK(take(7, 2000) == VERDICT_HELD); /* the same attempt: its reply was lost */
    CHECK(take(8, 2000) == VERDICT_REFUSED && world_lock(1) == VERDICT_CONFLICT);
}

/* ---- P8: order ------------------------------------------------------------------------------- */

static void waiters_are_served_in_the_order_of_asking(void)
{
    world_reset();
    for (uint64_t s = 1; s <= 10; s++)
        CHECK(world_lock(s) == (s == 1 ? VERDICT_HELD : VERDICT_WAITING));
    for (uint64_t s = 1; s <= 10; s++) {
        CHECK(world_holder() == s);
        CHECK(world_leave(s) == VERDICT_DONE);
    }
}

static void a_higher_priority_is_served_first(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD && world_lock(2) == VERDICT_WAITING);
    struct ask ask = world_ask_of(3, TENURE_LOCK);
    ask.priority = 10;
    CHECK(world_ask(&ask) == VERDICT_WAITING && world_rang(2));
    CHECK(world_leave(1) == VERDICT_DONE && world_holder() == 3);
}

static void a_hand_over_rings_the_next_one_alone_however_many_wait(void)
{
    world_reset();
    for (uint64_t s = 1; s <= 100; s++)
        world_lock(s);
    CHECK(world_leave(1) == VERDICT_DONE);
    CHECK(world.fx.ring_count == 1 && world_rang(2));
}

static void every_waiter_watches_who_is_in_front_of_it(void)
{
    world_reset();
    for (uint64_t s = 1; s <= 4; s++)
        world_lock(s);
    CHECK(world_look(4) == VERDICT_WAITING);
    CHECK(world.standing.watch_count == 1 && world.standing.watch[0] == 3);
    CHECK(world_look(2) == VERDICT_WAITING && world.standing.watch[0] == 1);
    CHECK(world.standing.look_at.ms == 1000000);
}

static void who_moves_up_is_told_to_watch_somebody_else(void)
{
    world_reset();
    for (uint64_t s = 1; s <= 4; s++)
        world_lock(s);
    CHECK(world_leave(3) == VERDICT_DONE);
    CHECK(world.fx.ring_count == 1 && world_rang(4));
}

static void shared_holders_come_in_together_behind_an_exclusive_one(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    for (uint64_t s = 2; s <= 4; s++) {
        struct ask ask = world_ask_of(s, TENURE_LOCK);
        ask.shared = true;
        CHECK(world_ask(&ask) == VERDICT_WAITING);
    }
    CHECK(world_lock(5) == VERDICT_WAITING);
    CHECK(world_leave(1) == VERDICT_DONE);
    CHECK(claim_holders(&world.claim) == 3 && world_rang(2) && world_rang(3) && world_rang(4));
    CHECK(world_rang(5)); /* it has to watch three holders now */
}

static void a_crowd_is_granted_by_looks_where_a_commit_takes_few(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    for (uint64_t s = 2; s <= 8; s++) {
        struct ask ask = world_ask_of(s, TENURE_LOCK);
        ask.shared = true;
        CHECK(world_ask(&ask) == VERDICT_WAITING);
    }
    world.grants_max = 3;
    CHECK(world_leave(1) == VERDICT_DONE);
    CHECK(claim_holders(&world.claim) == 3 && world_rang(2) && world_rang(4) && world_rang(5));
    world.state[5] = LIVE_GONE; /* its place is taken by the next one */
    CHECK(world_look(2) == VERDICT_HELD);
    CHECK(claim_holders(&world.claim) == 6 && world_rang(8) && !world_rang(5));
    CHECK(world_look(6) == VERDICT_HELD && claim_holders(&world.claim) == 6);
}

static void no_more_than_the_permits_hold(void)
{
    world_reset();
    for (uint64_t s = 1; s <= 5; s++) {
        struct ask ask = world_ask_of(s, TENURE_LOCK);
        ask.permits = 3;
        CHECK(world_ask(&ask) == (s <= 3 ? VERDICT_HELD : VERDICT_WAITING));
    }
    CHECK(world_leave(2) == VERDICT_DONE);
    CHECK(claim_holders(&world.claim) == 3 && world_rang(4));
}

static void all_who_ask_must_agree_on_kind_and_permits(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    CHECK(world_stand(2) == VERDICT_CONFLICT);
    struct ask ask = world_ask_of(2, TENURE_LOCK);
    ask.permits = 2;
    CHECK(world_ask(&ask) == VERDICT_CONFLICT);
    CHECK(world_leave(1) == VERDICT_DONE && world_ask(&ask) == VERDICT_HELD);
}

static void the_queue_has_an_end(void)
{
    world_reset();
    for (uint64_t s = 1; s <= CLAIM_TICKETS_MAX; s++)
        CHECK(world_lock(s) != VERDICT_CROWDED);
    CHECK(world_lock(CLAIM_TICKETS_MAX + 1) == VERDICT_CROWDED);
    CHECK(world_leave(1) == VERDICT_DONE);
    CHECK(world_lock(CLAIM_TICKETS_MAX + 1) == VERDICT_WAITING);
}

/* Scenario 11: the holder's own, recorded ttl counts, whatever the contender's is. */
static void a_contender_with_a_short_ttl_does_not_shorten_the_holders(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    world.until[1] = 61000;
    struct ask ask = world_ask_of(2, TENURE_LOCK);
    ask.ttl = SPAN(5000);
    CHECK(world_ask(&ask) == VERDICT_WAITING && world.standing.look_at.ms == 61000);
    world.now = 60999;
    CHECK(world_look(2) == VERDICT_WAITING);
    world.now = 61000;
    CHECK(world_look(2) == VERDICT_HELD);
}

/* ---- elections ------------------------------------------------------------------------------- */

static void a_leader_that_resigns_is_followed_by_the_next(void)
{
    world_reset();
    CHECK(world_stand(1) == VERDICT_HELD && world_stand(2) == VERDICT_WAITING);
    uint64_t epoch = world.claim.ticket[0].token;
    CHECK(WORLD(rules_end, epoch, CAUSE_RESIGNED, text_of("op"), text_of(""), &world.fx) ==
          VERDICT_DONE);
    CHECK(world_holder() == 1);
    CHECK(world_leave(1) == VERDICT_DONE && world_holder() == 2);
    CHECK(world.claim.ticket[0].token > epoch && world.claim.past[0].cause == CAUSE_RESIGNED);
}

static void the_gap_without_a_holder_is_recorded(void)
{
    world_reset();
    CHECK(world_stand(1) == VERDICT_HELD);
    CHECK(world.claim.ticket[0].vacant.ms == -1); /* nobody knows what was before */
    world.now = 5000;
    CHECK(world_leave(1) == VERDICT_DONE);
    world.now = 7500;
    CHECK(world_stand(2) == VERDICT_HELD && world.claim.ticket[0].vacant.ms == 2500);
    world.until[2] = 9000;
    world.now = 20000;
    CHECK(world_stand(3) == VERDICT_HELD); /* counted from the expiry, not from its discovery */
    CHECK(world.claim.past[0].held.ms == 1500 && world.claim.ticket[0].vacant.ms == 11000);
}

static void the_history_is_a_ring(void)
{
    world_reset();
    for (uint64_t s = 1; s <= CLAIM_PAST_MAX + 4; s++) {
        world_lock(s);
        world_leave(s);
    }
    CHECK(world.claim.past_count == CLAIM_PAST_MAX);
    CHECK(world.claim.past[0].token > world.claim.past[CLAIM_PAST_MAX - 1].token);
}

/* ---- everything at random -------------------------------------------------------------------- */

static void random_step(unsigned *seed)
{
    uint64_t s = 1 + (uint64_t)rand_r(seed) % 12;
    struct ask ask = world_ask_of(s, TENURE_LOCK);
    ask.id.serial = 1 + (uint64_t)rand_r(seed) % 3;
    ask.shared = rand_r(seed) % 3 == 0;
    ask.try_only = rand_r(seed) % 4 == 0;
    ask.priority = rand_r(seed) % 3;
    if (rand_r(seed) % 4 == 0)
        ask.instead = (struct ticket_id){s, 1 + (uint64_t)rand_r(seed) % 3};
    if (ask.instead.serial == ask.id.serial)
        ask.instead.session = 0;
    world.now += rand_r(seed) % 500;
    switch (rand_r(seed) % 8) {
    case 0:
        WORLD(rules_leave, ask.id, &world.fx);
        break;
    case 1:
        world.state[s] = LIVE_GONE;
        break;
    case 2:
        world.state[s] = LIVE; /* another life of the same number, for the test's sake */
        world.until[s] = world.now + 2000;
        break;
    case 3:
        WORLD(rules_end, world.claim.last_token, CAUSE_EVICTED, text_of("op"), text_of(""),
              &world.fx);
        break;
    case 4:
        WORLD(rules_sweep, &world.fx);
        break;
    default:
        world_ask(&ask);
    }
}

/* P1, P2 and the invariants of a claim, whatever happens. */
static void no_order_of_events_breaks_an_invariant(void)
{
    for (unsigned run = 0; run < 200; run++) {
        unsigned seed = run;
        uint64_t last = 0;
        world_reset();
        for (int step = 0; step < 300; step++) {
            random_step(&seed);
            CHECK(claim_check(&world.claim));
            CHECK(world.claim.last_token >= last);
            last = world.claim.last_token;
        }
    }
}

static void ticket_states_move_only_as_the_table_says(void)
{
    CHECK(ticket_move_is_legal(TENURE_TICKET_WAITING, TENURE_TICKET_HELD));
    CHECK(!ticket_move_is_legal(TENURE_TICKET_WAITING, TENURE_TICKET_SERVING));
    for (tenure_ticket_state to = 0; to <= TENURE_TICKET_ENDING; to++)
        CHECK(!ticket_move_is_legal(TENURE_TICKET_ENDING, to));
}

int main(void)
{
    return TAP_RUN(TAP(tokens_grow_strictly_over_release_death_and_deletion),
                   TAP(a_floor_that_went_back_repeats_no_token_of_a_record_that_stands),
                   TAP(no_two_shared_holders_have_one_token),
                   TAP(a_dead_waiter_is_passed_over_and_leaves_nothing),
                   TAP(a_waiter_that_expired_is_never_granted),
                   TAP(a_waiter_that_gave_up_is_never_granted), TAP(a_dead_session_cannot_ask),
                   TAP(the_same_ticket_asked_twice_is_one_ticket),
                   TAP(a_try_is_refused_and_leaves_nothing),
                   TAP(a_try_does_not_overtake_who_waits),
                   TAP(release_by_another_ticket_touches_nothing),
                   TAP(an_eviction_with_an_old_token_touches_nothing),
                   TAP(a_live_holder_that_is_evicted_keeps_its_seat_until_it_stops),
                   TAP(an_evicted_holder_that_does_not_stop_loses_its_seat_a_ttl_later),
                   TAP(a_dead_holder_is_evicted_at_once_and_on_record),
                   TAP(what_expired_cannot_be_released_any_more),
                   TAP(a_lease_keeps_its_token_over_renewals),
                   TAP(an_expired_lease_never_revives_even_if_nobody_was_in_between),
                   TAP(a_lease_is_refused_while_another_stands),
                   TAP(waiters_are_served_in_the_order_of_asking),
                   TAP(a_higher_priority_is_served_first),
                   TAP(a_hand_over_rings_the_next_one_alone_however_many_wait),
                   TAP(every_waiter_watches_who_is_in_front_of_it),
                   TAP(who_moves_up_is_told_to_watch_somebody_else),
                   TAP(shared_holders_come_in_together_behind_an_exclusive_one),
                   TAP(a_crowd_is_granted_by_looks_where_a_commit_takes_few),
                   TAP(no_more_than_the_permits_hold),
                   TAP(all_who_ask_must_agree_on_kind_and_permits), TAP(the_queue_has_an_end),
                   TAP(a_contender_with_a_short_ttl_does_not_shorten_the_holders),
                   TAP(a_leader_that_resigns_is_followed_by_the_next),
                   TAP(the_gap_without_a_holder_is_recorded), TAP(the_history_is_a_ring),
                   TAP(no_order_of_events_breaks_an_invariant),
                   TAP(ticket_states_move_only_as_the_table_says));
}
