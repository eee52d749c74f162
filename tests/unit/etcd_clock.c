/* tests/unit/etcd_clock.c - what may be known of time in a cluster that shows none (P3, P11). */
#include "core/timing.h"
#include "store/etcd_clock.h"
#include "tap.h"

enum { LEASE = 7, WHOLE_S = 1000000 };

/* The leader of `term` has counted `ms`, and is asked at `at`; a read before and one after it. */
static void look(struct etcd_clock *c, uint64_t term, int64_t ms, int64_t at, uint64_t term_after)
{
    etcd_clock_read(c, 10, term, INSTANT(at - 2));
    etcd_clock_take(c, LEASE, term, WHOLE_S, WHOLE_S - (ms + 999) / 1000, INSTANT(at - 1),
                    INSTANT(at));
    etcd_clock_read(c, 10, term_after, INSTANT(at + 1));
}

static int64_t age(const struct etcd_clock *c, struct etcd_tick tick, int64_t seen, int64_t now)
{
    return etcd_clock_age_low(c, &tick, INSTANT(seen), INSTANT(now)).ms;
}

static void who_watches_a_version_sees_it_age_a_little_slower_than_its_own_clock(void)
{
    struct etcd_clock c = {0};
    struct etcd_tick none = {0};
    CHECK(age(&c, none, 5000, 5000) == 0);
    CHECK(age(&c, none, 5000, 15000) == 9900);
    CHECK(age(&c, none, 5000, 4000) == 0);
}

static void who_comes_later_knows_by_the_leader_how_old_a_version_is(void)
{
    struct etcd_clock writer = {0}, reader = {0};
    look(&writer, 3, 100000, 50, 3);
    struct etcd_tick tick = etcd_clock_tick(&writer, INSTANT(50));
    look(&reader, 3, 160000, 900000, 3); /* a minute later, and its own clock says nothing of it */
    int64_t least = age(&reader, tick, 900000, 900000);
    CHECK(least > 57000 && least <= 60000);
}

static void a_reading_counts_only_when_its_term_is_confirmed_before_and_after(void)
{
    struct etcd_clock c = {0};
    look(&c, 3, 100000, 50, 4); /* a leader of term 4 had begun: who counted, and from when? */
    CHECK(etcd_clock_tick(&c, INSTANT(60)).clock == 0);
    etcd_clock_read(&c, 10, 4, INSTANT(70));
    etcd_clock_take(&c, LEASE, 3, WHOLE_S, WHOLE_S - 100, INSTANT(80), INSTANT(81));
    etcd_clock_read(&c, 10, 3, INSTANT(90));
    CHECK(etcd_clock_tick(&c, INSTANT(90)).clock == 0);
    look(&c, 4, 1000, 100, 4);
    CHECK(etcd_clock_tick(&c, INSTANT(101)).clock == LEASE);
}

static void a_read_that_was_sent_before_the_reading_came_confirms_nothing(void)
{
    struct etcd_clock c = {0};
    etcd_clock_read(&c, 10, 3, INSTANT(10));
    etcd_clock_take(&c, LEASE, 3, WHOLE_S, WHOLE_S - 100, INSTANT(20), INSTANT(30));
    etcd_clock_read(&c, 10, 3, INSTANT(29));
    CHECK(etcd_clock_tick(&c, INSTANT(40)).clock == 0);
    etcd_clock_read(&c, 10, 3, INSTANT(30));
    CHECK(etcd_clock_tick(&c, INSTANT(40)).clock == LEASE);
}

static void a_new_leader_has_counted_no_longer_than_since_the_last_reading_of_the_old_one(void)
{
    struct etcd_clock writer = {0}, reader = {0};
    look(&writer, 3, 100000, 0, 3);
    struct etcd_tick tick = etcd_clock_tick(&writer, INSTANT(40000)); /* 40 s after its reading */
    look(&reader, 4, 30000, 500, 4);
    CHECK(age(&reader, tick, 500, 500) == 0); /* the leader may have begun before the stamp */
    look(&reader, 4, 60000, 30500, 4);
    CHECK(age(&reader, tick, 30500, 30500) > 0);
    CHECK(age(&reader, tick, 30500, 30500) <= 20000);
}

static void a_leader_of_the_past_says_nothing_about_a_younger_stamp(void)
{
    struct etcd_clock reader = {0};
    struct etcd_tick tick = {.clock = LEASE, .term = 4, .high = SPAN(1000)};
    look(&reader, 3, 900000, 500, 3);
    CHECK(age(&reader, tick, 500, 500) == 0);
    tick.clock = LEASE + 1;
    tick.term = 3;
    CHECK(age(&reader, tick, 500, 500) == 0);
}

static void a_version_is_no_older_than_when_it_was_last_known_not_to_be(void)
{
    struct etcd_clock c = {0};
    CHECK(etcd_clock_age_high(&c, 20, INSTANT(5000)).ms > TIMING_TTL_CEILING_MS);
    etcd_clock_read(&c, 19, 3, INSTANT(1000));
    etcd_clock_read(&c, 25, 3, INSTANT(9000));
    CHECK(etcd_clock_age_high(&c, 20, INSTANT(10000)).ms == 9090);
    CHECK(etcd_clock_age_high(&c, 26, INSTANT(10000)).ms == 1010);
    CHECK(etcd_clock_age_high(&c, 19, INSTANT(10000)).ms > TIMING_TTL_CEILING_MS);
}

static void many_reads_forget_only_what_is_long_ago(void)
{
    struct etcd_clock c = {0};
    for (int64_t i = 0; i < 1000; i++)
        etcd_clock_read(&c, 100 + i, 3, INSTANT(100 * i));
    CHECK(etcd_clock_age_high(&c, 1099, INSTANT(100000)).ms <= 2 * 100 + 10);
    CHECK(etcd_clock_age_high(&c, 1090, INSTANT(100000)).ms >= 1000);
    CHECK(etcd_clock_age_high(&c, 200, INSTANT(100000)).ms > TIMING_TTL_CEILING_MS);
}

static void an_absurd_stamp_is_not_old(void)
{
    struct etcd_clock c = {0};
    struct etcd_tick tick = {.clock = LEASE, .term = 3, .high = SPAN(((int64_t)1 << 60) - 1)};
    look(&c, 3, 5000, 50, 3);
    CHECK(age(&c, tick, 60, 60) == 0);
}

int main(void)
{
    return TAP_RUN(
        TAP(who_watches_a_version_sees_it_age_a_little_slower_than_its_own_clock),
        TAP(who_comes_later_knows_by_the_leader_how_old_a_version_is),
        TAP(a_reading_counts_only_when_its_term_is_confirmed_before_and_after),
        TAP(a_read_that_was_sent_before_the_reading_came_confirms_nothing),
        TAP(a_new_leader_has_counted_no_longer_than_since_the_last_reading_of_the_old_one),
        TAP(a_leader_of_the_past_says_nothing_about_a_younger_stamp),
        TAP(a_version_is_no_older_than_when_it_was_last_known_not_to_be),
        TAP(many_reads_forget_only_what_is_long_ago), TAP(an_absurd_stamp_is_not_old));
}
