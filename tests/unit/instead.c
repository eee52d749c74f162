/* tests/unit/instead.c - a ticket that is asked with instead of one that leaves, in one step. */
#include "world.h"
#include "tap.h"

static struct ask ask_instead(uint64_t session)
{
    struct ask ask = world_ask_of(session, TENURE_LOCK);
    ask.id.serial = 2;
    ask.instead = (struct ticket_id){session, 1};
    return ask;
}

/* P1: as if it had been released and acquired. */
static void who_asks_instead_of_what_it_holds_gets_a_new_token(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    uint64_t token = world.standing.token;
    struct ask ask = ask_instead(1);
    world.now += 10;
    CHECK(world_ask(&ask) == VERDICT_HELD && world.standing.token > token && world.fx.changed);
    CHECK(world.claim.ticket_count == 1 && world.claim.past_count == 1);
    CHECK(world.claim.past[0].token == token && world.claim.past[0].cause == CAUSE_RELEASED);
    token = world.standing.token;
    CHECK(world_ask(&ask) == VERDICT_HELD && world.standing.token == token && !world.fx.changed);
}

/* P8 */
static void who_waits_is_served_before_who_asks_instead_of_what_it_holds(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    CHECK(world_lock(2) == VERDICT_WAITING && world_lock(3) == VERDICT_WAITING);
    struct ask ask = ask_instead(1);
    CHECK(world_ask(&ask) == VERDICT_WAITING && world_holder() == 2);
    CHECK(world_rang(2) && !world_rang(1) && world.fx.next == 2);
    CHECK(world.claim.ticket_count == 3 && world.claim.ticket[2].id.session == 1);
    CHECK(world.claim.ticket[2].id.serial == 2);
}

/* What left is given to another ticket of the session that asks: it has to hear of that. */
static void a_session_that_asks_is_rung_for_another_ticket_of_it(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    struct ask second = world_ask_of(1, TENURE_LOCK), third = ask_instead(1);
    second.id.serial = 7;
    CHECK(world_ask(&second) == VERDICT_WAITING && !world_rang(1));
    CHECK(world_ask(&third) == VERDICT_WAITING && world_rang(1));
    CHECK(world_holder() == 1 && world.claim.ticket[0].id.serial == 7);
}

static void what_is_given_up_leaves_whatever_becomes_of_the_question(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD && world_lock(2) == VERDICT_WAITING);
    struct ask ask = ask_instead(1);
    ask.try_only = true;
    CHECK(world_ask(&ask) == VERDICT_REFUSED && world.fx.changed && world_holder() == 2);
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD && world_lock(2) == VERDICT_WAITING);
    ask = ask_instead(1);
    ask.permits = 3;
    CHECK(world_ask(&ask) == VERDICT_CONFLICT && world.fx.changed && world_holder() == 2);
    CHECK(world.claim.ticket_count == 1);
}

/* P4 */
static void a_ticket_that_is_over_is_not_given_up_instead(void)
{
    world_reset();
    CHECK(world_lock(1) == VERDICT_HELD);
    world.now = world.until[1];
    struct ask ask = ask_instead(1);
    CHECK(world_ask(&ask) == VERDICT_DEAD);
    CHECK(world.claim.past_count == 1 && world.claim.past[0].cause == CAUSE_EXPIRED);
}

int main(void)
{
    return TAP_RUN(TAP(who_asks_instead_of_what_it_holds_gets_a_new_token),
                   TAP(who_waits_is_served_before_who_asks_instead_of_what_it_holds),
                   TAP(a_session_that_asks_is_rung_for_another_ticket_of_it),
                   TAP(what_is_given_up_leaves_whatever_becomes_of_the_question),
                   TAP(a_ticket_that_is_over_is_not_given_up_instead));
}
