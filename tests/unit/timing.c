#include "core/timing.h"
#include "tap.h"

static void every_number_follows_from_the_ttl(void)
{
    struct timing t;
    CHECK(timing_derive(SPAN(10000), SPAN(-1), &t, NULL) == TIMING_FINE);
    CHECK(t.renew.ms == 3333 && t.attempt.ms == 1666 && t.doubt.ms == 5000);
    CHECK(t.deadline.ms == 9900 && t.grace.ms == 2500 && t.margin.ms == 500);
    CHECK(t.stop.ms == 7400 && t.kill.ms == 9400);
}

/* P3, P12: at every TTL and grace that is accepted, what has to come first comes first. */
static void the_order_of_a_failing_renewal_is_never_violated(void)
{
    for (int64_t ttl = TIMING_TTL_FLOOR_MS; ttl <= TIMING_TTL_CEILING_MS; ttl += ttl / 7 + 1) {
        for (int64_t grace = -1; grace <= ttl; grace += ttl / 50 + 1) {
            struct timing t;
            if (timing_derive(SPAN(ttl), SPAN(grace), &t, NULL) != TIMING_FINE)
                continue;
            CHECK(0 < t.attempt.ms && t.attempt.ms < t.renew.ms && t.renew.ms < t.doubt.ms);
            CHECK(t.doubt.ms <= t.stop.ms && t.stop.ms < t.kill.ms && t.kill.ms < t.deadline.ms);
            CHECK(t.deadline.ms < t.ttl.ms);
            CHECK(timing_overlap_max(&t).ms == 0);
            CHECK(timing_gap_max(&t).ms > t.ttl.ms);
        }
    }
}

/* P13 */
static void unsafe_settings_are_refused_with_the_bound_they_break(void)
{
    struct timing t = {.ttl = SPAN(1)};
    struct span bound;
    CHECK(timing_derive(SPAN(499), SPAN(-1), &t, &bound) == TIMING_TTL_TOO_SHORT);
    CHECK(bound.ms == TIMING_TTL_FLOOR_MS);
    CHECK(timing_derive(SPAN(INT64_MAX), SPAN(-1), &t, &bound) == TIMING_TTL_TOO_LONG);
    CHECK(bound.ms == TIMING_TTL_CEILING_MS);
    CHECK(timing_derive(SPAN(10000), SPAN(999), &t, &bound) == TIMING_GRACE_TOO_SHORT);
    CHECK(bound.ms == 1000);
    CHECK(timing_derive(SPAN(10000), SPAN(4901), &t, &bound) == TIMING_GRACE_TOO_LONG);
    CHECK(bound.ms == 4900);
    CHECK(t.ttl.ms == 1);
}

static void the_default_grace_fits_every_ttl(void)
{
    struct timing t;
    for (int64_t ttl = TIMING_TTL_FLOOR_MS; ttl <= 100000; ttl++)
        CHECK(timing_derive(SPAN(ttl), SPAN(-1), &t, NULL) == TIMING_FINE);
}

static void arithmetic_on_instants_saturates(void)
{
    CHECK(instant_add(INSTANT_NEVER, SPAN(-5)).ms == INT64_MAX);
    CHECK(instant_add(INSTANT(INT64_MAX - 1), SPAN(5)).ms == INT64_MAX);
    CHECK(instant_add(INSTANT(INT64_MIN + 1), SPAN(-5)).ms == INT64_MIN);
    CHECK(instant_diff(INSTANT(INT64_MIN), INSTANT(INT64_MAX)).ms == INT64_MAX);
    CHECK(instant_diff(INSTANT(5), INSTANT(3)).ms == -2);
}

int main(void)
{
    return TAP_RUN(TAP(every_number_follows_from_the_ttl),
                   TAP(the_order_of_a_failing_renewal_is_never_violated),
                   TAP(unsafe_settings_are_refused_with_the_bound_they_break),
                   TAP(the_default_grace_fits_every_ttl), TAP(arithmetic_on_instants_saturates));
}
