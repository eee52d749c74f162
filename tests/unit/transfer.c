/* tests/unit/transfer.c - an election is handed over to a named candidate, or is not. */
#include "world.h"
#include "tap.h"

static void a_transfer_goes_to_the_named_candidate_past_the_queue(void)
{
    world_reset();
    for (uint64_t s = 1; s <= 4; s++)
        world_stand(s);
    CHECK(WORLD(rules_transfer, text_of("host:3"), text_of("op"), &world.fx, &world.standing) ==
          VERDICT_DONE);
    CHECK(world_rang(1) && world.fx.notice == 1);
    CHECK(world_leave(1) == VERDICT_DONE && world_holder() == 3);
    CHECK(world_rang(2)); /* in front of it is another one now */
    CHECK(world.claim.past[0].cause == CAUSE_TRANSFERRED && world.claim.prefer.len == 0);
}

/* P5: two candidates share an `as`, as two replicas of one service do. */
static void a_transfer_to_a_ticket_reaches_exactly_that_ticket(void)
{
    world_reset();
    world_stand(1);
    for (uint64_t s = 2; s <= 12; s++) {
        struct ask twin = world_ask_of(s, TENURE_ELECTION);
        twin.as = text_of("web");
        CHECK(world_ask(&twin) == VERDICT_WAITING);
    }
    CHECK(WORLD(rules_transfer, text_of("1.12"), text_of("op"), &world.fx, &world.standing) ==
          VERDICT_GONE);
    CHECK(WORLD(rules_transfer, text_of("112.1"), text_of("op"), &world.fx, &world.standing) ==
          VERDICT_GONE);
    CHECK(WORLD(rules_transfer, text_of("12.1"), text_of("op"), &world.fx, &world.standing) ==
          VERDICT_DONE);
    CHECK(world_leave(1) == VERDICT_DONE && world_holder() == 12);
    CHECK(WORLD(rules_rollback, text_of("12.1"), text_of("host:1"), text_of("op"), &world.fx,
                &world.standing) == VERDICT_DONE);
    CHECK(world.fx.notice == 12);
}

static void a_transfer_to_nobody_changes_nothing(void)
{
    world_reset();
    CHECK(world_stand(1) == VERDICT_HELD && world_stand(2) == VERDICT_WAITING);
    CHECK(WORLD(rules_transfer, text_of("host:9"), text_of("op"), &world.fx, &world.standing) ==
          VERDICT_GONE);
    CHECK(!world.fx.changed && world.claim.ticket[0].state == TENURE_TICKET_HELD);
}

static void a_candidate_that_does_not_serve_gives_the_role_back(void)
{
    world_reset();
    for (uint64_t s = 1; s <= 3; s++)
        world_stand(s);
    WORLD(rules_transfer, text_of("host:3"), text_of("op"), &world.fx, &world.standing);
    world_leave(1);
    struct ask again = world_ask_of(1, TENURE_ELECTION);
    again.id.serial = 2;
    CHECK(world_ask(&again) == VERDICT_WAITING);
    CHECK(WORLD(rules_rollback, text_of("host:3"), text_of("host:1"), text_of("op"), &world.fx,
                &world.standing) == VERDICT_DONE);
    CHECK(world.fx.notice == 3);
    CHECK(world_leave(3) == VERDICT_DONE && world_holder() == 1);
    CHECK(world.claim.past[0].cause == CAUSE_ROLLED_BACK);
}

static void a_candidate_that_serves_is_not_rolled_back(void)
{
    world_reset();
    world_stand(1);
    world_stand(2);
    WORLD(rules_transfer, text_of("host:2"), text_of("op"), &world.fx, &world.standing);
    world_leave(1);
    CHECK(WORLD(rules_serve, ((struct ticket_id){2, 1}), NULL, &world.fx) == VERDICT_DONE);
    CHECK(WORLD(rules_rollback, text_of("host:2"), text_of("host:1"), text_of("op"), &world.fx,
                &world.standing) == VERDICT_HELD);
    CHECK(!world.fx.changed && world_holder() == 2);
}

/* Under which token host:3, or the ticket `to`, served after the transfer that ended `former`. */
static uint64_t succeeded(const char *to, uint64_t *former)
{
    return claim_succeeded(&world.claim, text_of(to), text_of("host:3"), former);
}

/* P6: a transfer that reached its candidate is not told as one that did not. */
static void a_candidate_whose_service_nobody_saw_has_served(void)
{
    world_reset();
    for (uint64_t s = 1; s <= 3; s++)
        world_stand(s);
    uint64_t former = world.claim.ticket[0].token;
    WORLD(rules_transfer, text_of("3.1"), text_of("op"), &world.fx, &world.standing);
    CHECK(text_equal(world.standing.by, text_of("host:3")) && succeeded("3.1", &former) == 0);
    world_leave(1);
    uint64_t token = world.claim.ticket[0].token;
    CHECK(world_holder() == 3 && succeeded("3.1", &former) == 0); /* it has only been elected */
    CHECK(WORLD(rules_serve, ((struct ticket_id){3, 1}), NULL, &world.fx) == VERDICT_DONE);
    CHECK(succeeded("3.1", &former) == token && succeeded("host:3", &former) == token);
    CHECK(world_leave(3) == VERDICT_DONE && world_holder() == 2);
    CHECK(world.claim.past[0].reason.len == 0 && succeeded("3.1", &former) == token);
    CHECK(world_leave(2) == VERDICT_DONE && succeeded("3.1", &former) == token);
}

/* P6: one that was elected and did no work did not take over. */
static void a_candidate_that_ends_before_it_serves_has_not_served(void)
{
    world_reset();
    for (uint64_t s = 1; s <= 3; s++)
        world_stand(s);
    uint64_t former = world.claim.ticket[0].token;
    WORLD(rules_transfer, text_of("host:3"), text_of("op"), &world.fx, &world.standing);
    world_leave(1);
    world_leave(3);
    CHECK(text_equal(world.claim.past[0].reason, text_of(CLAIM_UNSERVED)));
    CHECK(world_holder() == 2 && succeeded("host:3", &former) == 0);
    world_leave(2); /* which nobody had handed anything to */
    CHECK(world.claim.past[0].reason.len == 0);
}

/* P5: of those who have the name of a candidate that was meant by its ticket, others are others. */
static void a_tenure_that_was_seen_to_be_anothers_is_not_the_candidates(void)
{
    world_reset();
    world_stand(1);
    uint64_t former = world.claim.ticket[0].token;
    world_leave(1);
    world_stand(3); /* host:3, but not the ticket 4.1 */
    WORLD(rules_serve, ((struct ticket_id){3, 1}), NULL, &world.fx);
    CHECK(succeeded("4.1", &former) == 0);
    world_leave(3);
    CHECK(succeeded("4.1", &former) == 0);
}

int main(void)
{
    return TAP_RUN(TAP(a_transfer_goes_to_the_named_candidate_past_the_queue),
                   TAP(a_transfer_to_a_ticket_reaches_exactly_that_ticket),
                   TAP(a_transfer_to_nobody_changes_nothing),
                   TAP(a_candidate_that_does_not_serve_gives_the_role_back),
                   TAP(a_candidate_that_serves_is_not_rolled_back),
                   TAP(a_candidate_whose_service_nobody_saw_has_served),
                   TAP(a_candidate_that_ends_before_it_serves_has_not_served),
                   TAP(a_tenure_that_was_seen_to_be_anothers_is_not_the_candidates));
}
