/* Timelines of a session with a ttl of 10 s; every row is "at, what happens, what is believed". */
#include "core/pulse.h"
#include "tap.h"

static struct pulse started(void)
{
    struct pulse p;
    struct timing t;
    timing_derive(SPAN(10000), SPAN(-1), &t, NULL);
    pulse_start(&p, &t, INSTANT(0));
    return p;
}

static void a_renewal_is_due_each_third_of_the_ttl(void)
{
    struct pulse p = started();
    CHECK(!pulse_step(&p, INSTANT(3332)).renew);
    CHECK(pulse_step(&p, INSTANT(3333)).renew);
    pulse_sent(&p, INSTANT(3333));
    CHECK(!pulse_step(&p, INSTANT(3334)).renew);
    pulse_answered(&p, INSTANT(3400), PULSE_RENEWED);
    CHECK(pulse_step(&p, INSTANT(3400)).next.ms == 6666);
}

/* P3: a slow answer must not extend the tenure by the time it took. */
static void the_deadline_is_counted_from_the_sending_not_from_the_answer(void)
{
    struct pulse p = started();
    pulse_sent(&p, INSTANT(4000));
    pulse_answered(&p, INSTANT(5600), PULSE_RENEWED);
    CHECK(pulse_deadline(&p).ms == 4000 + 9900);
}

static void one_silent_attempt_is_cut_off_and_repeated_at_once(void)
{
    struct pulse p = started();
    pulse_sent(&p, INSTANT(3333));
    CHECK(!pulse_step(&p, INSTANT(4998)).abandon);
    struct pulse_plan plan = pulse_step(&p, INSTANT(4999));
    CHECK(plan.abandon && plan.renew && plan.after == PULSE_SAFE);
    pulse_sent(&p, INSTANT(4999));
    pulse_answered(&p, INSTANT(5001), PULSE_RENEWED);
    CHECK(p.state == PULSE_SAFE && pulse_deadline(&p).ms == 4999 + 9900);
}

static void doubt_begins_at_half_the_ttl_and_ends_with_a_success(void)
{
    struct pulse p = started();
    CHECK(pulse_step(&p, INSTANT(4999)).after == PULSE_SAFE);
    struct pulse_plan plan = pulse_step(&p, INSTANT(5000));
    CHECK(plan.before == PULSE_SAFE && plan.after == PULSE_DOUBTFUL);
    pulse_sent(&p, INSTANT(5000));
    pulse_answered(&p, INSTANT(5001), PULSE_RENEWED);
    CHECK(p.state == PULSE_SAFE);
}

/* P3 */
static void it_is_lost_at_the_deadline_and_not_a_millisecond_later(void)
{
    struct pulse p = started();
    CHECK(pulse_step(&p, INSTANT(9899)).after == PULSE_DOUBTFUL);
    CHECK(pulse_step(&p, INSTANT(9900)).after == PULSE_LOST);
}

/* P4 */
static void an_answer_after_the_deadline_heals_nothing(void)
{
    struct pulse p = started();
    pulse_sent(&p, INSTANT(8000));
    pulse_answered(&p, INSTANT(9900), PULSE_RENEWED);
    CHECK(p.state == PULSE_LOST);
    CHECK(pulse_step(&p, INSTANT(9901)).after == PULSE_LOST);
    CHECK(!pulse_step(&p, INSTANT(20000)).renew);
}

static void the_word_of_the_store_that_it_is_dead_is_final(void)
{
    struct pulse p = started();
    pulse_sent(&p, INSTANT(3333));
    pulse_answered(&p, INSTANT(3334), PULSE_DEAD);
    CHECK(p.state == PULSE_LOST);
    pulse_answered(&p, INSTANT(3335), PULSE_RENEWED);
    CHECK(p.state == PULSE_LOST);
}

static void failed_attempts_are_repeated_without_a_busy_loop(void)
{
    struct pulse p = started();
    int attempts = 0;
    for (int64_t now = 0; now < 9900; now++) {
        if (!pulse_step(&p, INSTANT(now)).renew)
            continue;
        pulse_sent(&p, INSTANT(now));
        pulse_answered(&p, INSTANT(now), PULSE_SILENT);
        attempts++;
    }
    CHECK(attempts >= 4 && attempts <= 12);
}

static void a_process_that_slept_through_the_deadline_wakes_up_lost(void)
{
    struct pulse p = started();
    struct pulse_plan plan = pulse_step(&p, INSTANT(3600000));
    CHECK(plan.after == PULSE_LOST && !plan.renew && plan.next.ms == INSTANT_NEVER.ms);
}

int main(void)
{
    return TAP_RUN(TAP(a_renewal_is_due_each_third_of_the_ttl),
                   TAP(the_deadline_is_counted_from_the_sending_not_from_the_answer),
                   TAP(one_silent_attempt_is_cut_off_and_repeated_at_once),
                   TAP(doubt_begins_at_half_the_ttl_and_ends_with_a_success),
                   TAP(it_is_lost_at_the_deadline_and_not_a_millisecond_later),
                   TAP(an_answer_after_the_deadline_heals_nothing),
                   TAP(the_word_of_the_store_that_it_is_dead_is_final),
                   TAP(failed_attempts_are_repeated_without_a_busy_loop),
                   TAP(a_process_that_slept_through_the_deadline_wakes_up_lost));
}
