/* tests/unit/docket.c - who is granted a permit, and what the store remembers of it. */
#include "wire/docket.h"

#include <stdlib.h>

#include "tap.h"
#include "world.h"

#define TTL 10000 /* of world_stand()'s sessions */

static struct docket docket;
static struct docket_terms terms;
static uint32_t at;
static bool is_new;

/* Session 1 leads, and was heard of just now. */
static void clear(void)
{
    world_reset();
    memset(&docket, 0, sizeof docket);
    world_stand(1);
    world_stand(2);
    world.until[1] = world.now + TTL;
    terms = (struct docket_terms){
        .ticket = 1,
        .role = text_of("cl"),
        .epoch = world.claim.ticket[0].token,
        .by = text_of("me"),
        .valid = SPAN(3000),
        .least = SPAN(201),
        .wall_ms = 1700000000000,
    };
}

static enum docket_verdict grant(void)
{
    struct facts f = world_facts();
    enum docket_verdict v =
        docket_grant(&docket, &world.claim, &f, &f, &terms, &at, &is_new);
    world.floor = f.token_floor;
    if (!docket_check(&docket) || (is_new && v != DOCKET_GRANTED))
        abort(); /* whatever else a case looks at */
    return v;
}

/* ... with a ticket of its own. */
static enum docket_verdict ask(void)
{
    terms.ticket++;
    return grant();
}

static enum docket_verdict revoke(uint64_t serial, const char *by)
{
    struct facts f = world_facts();
    return docket_revoke(&docket, &f, serial, text_of(by), &is_new);
}

static void only_the_tenure_that_stands_is_granted_one(void)
{
    clear();
    terms.epoch++;
    CHECK(ask() == DOCKET_NOT_HELD && docket.count == 0);
    terms.epoch--;
    world.state[1] = LIVE_GONE; /* dead, and nobody has noticed yet */
    CHECK(ask() == DOCKET_NOT_HELD);
    world.state[1] = LIVE;
    world.now = world.until[1]; /* silent for its ttl */
    CHECK(ask() == DOCKET_NOT_HELD && docket.count == 0);
    world.now--;
    CHECK(ask() == DOCKET_GRANTED && docket.count == 1);
}

static void who_holds_together_with_others_is_granted_none(void)
{
    clear();
    world.claim.ticket[0].shared = true;
    CHECK(ask() == DOCKET_NOT_ALONE && docket.count == 0);
    world.claim.ticket[0].shared = false;
    world.claim.permits = 2;
    CHECK(ask() == DOCKET_NOT_ALONE && docket.count == 0);
}

static void one_permit_is_good_at_a_time(void)
{
    clear();
    CHECK(ask() == DOCKET_GRANTED && is_new);
    uint64_t serial = docket.grant[at].serial;
    CHECK(ask() == DOCKET_TAKEN && docket.grant[at].serial == serial);
    terms.shared = true;
    CHECK(ask() == DOCKET_TAKEN);
    terms.shared = false;
    world.now += 3000; /* over by the permit's own words; clocks drift */
    CHECK(ask() == DOCKET_TAKEN);
    world.now += 31;
    CHECK(ask() == DOCKET_GRANTED && docket.grant[at].serial > serial);
}

static void shared_ones_are_good_together_up_to_a_limit(void)
{
    clear();
    terms.shared = true;
    for (int i = 0; i < DOCKET_GRANTS_MAX; i++)
        CHECK(ask() == DOCKET_GRANTED);
    CHECK(ask() == DOCKET_CROWDED && docket.count == DOCKET_GRANTS_MAX);
    terms.shared = false;
    CHECK(ask() == DOCKET_TAKEN);
    CHECK(revoke(docket.grant[7].serial, "me") == DOCKET_GRANTED);
    terms.shared = true;
    uint64_t kept = docket.grant[6].serial, gone = docket.grant[7].serial;
    CHECK(ask() == DOCKET_GRANTED && docket.grant[7].serial == kept);
    for (uint32_t i = 0; i < docket.count; i++)
        CHECK(docket.grant[i].serial != gone); /* the one that was over made room */
}

static void the_same_ticket_finds_what_it_was_granted(void)
{
    clear();
    CHECK(grant() == DOCKET_GRANTED && is_new);
    uint64_t serial = docket.grant[0].serial;
    world.state[1] = LIVE_GONE;
    CHECK(grant() == DOCKET_GRANTED && !is_new && docket.grant[at].serial == serial);
    CHECK(docket.count == 1);
}

static void serials_are_drawn_from_the_tokens_and_grow(void)
{
    clear();
    uint64_t last = 0;
    terms.shared = true;
    for (int i = 0; i < 100; i++) {
        if (i % 8 == 0)
            world.floor += 100; /* somebody else drew tokens */
        CHECK(ask() == DOCKET_GRANTED && docket.grant[0].serial > last);
        last = docket.grant[0].serial;
        CHECK(last > terms.epoch && world.floor == last);
        CHECK(revoke(last, "me") == DOCKET_GRANTED);
    }
}

static void by_default_a_permit_ends_before_a_silent_leader_is_replaced(void)
{
    clear();
    terms.valid = SPAN(0);
    world.now += 4000;
    CHECK(ask() == DOCKET_GRANTED);
    const struct grant *g = &docket.grant[at];
    int64_t valid = g->not_after_ms - g->issued_ms;
    CHECK(valid < TTL - 4000 && valid > (TTL - 4000) * 98 / 100);
    CHECK(world.now + valid < world.until[1]);
    CHECK(g->until.ms <= world.until[1]); /* and so may the successor's be granted at once */
    world.until[1] = world.now + 100 * TTL; /* whatever a store says: not more than its ttl */
    CHECK(revoke(g->serial, "me") == DOCKET_GRANTED && ask() == DOCKET_GRANTED);
    g = &docket.grant[at];
    CHECK(g->not_after_ms - g->issued_ms < TTL);
}

static void where_a_silence_is_not_known_a_permit_is_good_for_half_a_ttl(void)
{
    clear();
    terms.valid = SPAN(0);
    struct facts f = world_facts();
    f.unheard = true;
    CHECK(docket_grant(&docket, &world.claim, &f, &f, &terms, &at, &is_new) == DOCKET_GRANTED);
    int64_t valid = docket.grant[0].not_after_ms - docket.grant[0].issued_ms;
    CHECK(valid < TTL / 2 && valid > TTL / 2 * 98 / 100);
}

static void a_tenure_near_its_end_is_granted_nothing_of_no_use(void)
{
    clear();
    terms.valid = SPAN(0);
    world.now = world.until[1] - 200;
    CHECK(ask() == DOCKET_TOO_LATE && docket.count == 0);
    world.now = world.until[1] - 220;
    CHECK(ask() == DOCKET_GRANTED);
}

static void a_store_that_does_not_know_the_time_counts_against_the_permit(void)
{
    clear();
    terms.valid = SPAN(0);
    struct facts f = world_facts();
    f.behind = SPAN(2000);
    CHECK(docket_grant(&docket, &world.claim, &f, &f, &terms, &at, &is_new) == DOCKET_GRANTED);
    CHECK(docket.grant[0].not_after_ms - docket.grant[0].issued_ms < TTL - 2000);
}

static void instants_of_role_and_docket_are_never_compared(void)
{
    clear();
    struct facts f = world_facts(), of_role = f;
    of_role.now = INSTANT(f.now.ms + 3600000); /* its clock is ahead, and its session alive */
    world.until[1] = of_role.now.ms + TTL;
    terms.valid = SPAN(0);
    CHECK(docket_grant(&docket, &world.claim, &of_role, &f, &terms, &at, &is_new) ==
          DOCKET_GRANTED);
    CHECK(docket.grant[0].until.ms <= f.now.ms + TTL);
    terms.ticket++;
    CHECK(docket_grant(&docket, &world.claim, &of_role, &f, &terms, &at, &is_new) == DOCKET_TAKEN);
    world.claim.ticket[0].until = INSTANT(of_role.now.ms - 1); /* its seat is over, by its clock */
    f.now = INSTANT(f.now.ms + TTL);
    CHECK(docket_grant(&docket, &world.claim, &of_role, &f, &terms, &at, &is_new) ==
          DOCKET_NOT_HELD);
}

static void who_was_told_to_stop_is_granted_none_beyond_its_seat(void)
{
    clear();
    world.claim.ticket[0].until = INSTANT(world.now + 1000);
    terms.valid = SPAN(0);
    CHECK(ask() == DOCKET_GRANTED);
    CHECK(docket.grant[0].not_after_ms - docket.grant[0].issued_ms < 1000);
}

static void what_is_taken_back_makes_room_and_is_taken_back_once(void)
{
    clear();
    CHECK(ask() == DOCKET_GRANTED);
    uint64_t serial = docket.grant[0].serial;
    CHECK(revoke(serial + 1, "me") == DOCKET_NONE);
    CHECK(revoke(serial, "me") == DOCKET_GRANTED && is_new);
    CHECK(revoke(serial, "me") == DOCKET_GRANTED && !is_new); /* a reply was lost */
    CHECK(revoke(serial, "you") == DOCKET_NONE);
    CHECK(ask() == DOCKET_GRANTED);
    world.now += TTL;
    CHECK(revoke(docket.grant[0].serial, "me") == DOCKET_NONE); /* over */
}

static void what_is_written_reads_back_and_what_is_cut_does_not(void)
{
    static unsigned char buf[32 * 1024], again[32 * 1024];
    static struct docket read;
    clear();
    terms.shared = true;
    for (int i = 0; i < DOCKET_GRANTS_MAX; i++)
        CHECK(ask() == DOCKET_GRANTED);
    CHECK(revoke(docket.grant[3].serial, "you") == DOCKET_GRANTED);
    size_t len = docket_encode(&docket, buf, sizeof buf);
    CHECK(len > 0 && docket_decode(buf, len, &read) == RECORD_FINE);
    CHECK(read.count == DOCKET_GRANTS_MAX && text_equal(read.grant[3].revoked_by, text_of("you")));
    CHECK(docket_encode(&read, again, sizeof again) == len && memcmp(buf, again, len) == 0);
    for (size_t n = 1; n < len; n++)
        CHECK(docket_decode(buf, n, &read) != RECORD_FINE);
    buf[len] = 0;
    CHECK(docket_decode(buf, len + 1, &read) == RECORD_TRAILING);
    buf[0] = 0x47;
    CHECK(docket_decode(buf, len, &read) == RECORD_FOREIGN);
    CHECK(docket_decode(NULL, 0, &read) == RECORD_FINE && read.count == 0);
}

int main(void)
{
    return TAP_RUN(TAP(only_the_tenure_that_stands_is_granted_one),
                   TAP(who_holds_together_with_others_is_granted_none),
                   TAP(one_permit_is_good_at_a_time),
                   TAP(shared_ones_are_good_together_up_to_a_limit),
                   TAP(the_same_ticket_finds_what_it_was_granted),
                   TAP(serials_are_drawn_from_the_tokens_and_grow),
                   TAP(by_default_a_permit_ends_before_a_silent_leader_is_replaced),
                   TAP(where_a_silence_is_not_known_a_permit_is_good_for_half_a_ttl),
                   TAP(a_tenure_near_its_end_is_granted_nothing_of_no_use),
                   TAP(a_store_that_does_not_know_the_time_counts_against_the_permit),
                   TAP(instants_of_role_and_docket_are_never_compared),
                   TAP(who_was_told_to_stop_is_granted_none_beyond_its_seat),
                   TAP(what_is_taken_back_makes_room_and_is_taken_back_once),
                   TAP(what_is_written_reads_back_and_what_is_cut_does_not));
}
