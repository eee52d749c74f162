/* tests/turns/namesakes.c - several claims of one handle about one name. */
#include <stdio.h>

#include "claims.h"
#include "tap.h"

#define TTL 6000

/* P7: what the one in front watches hides nothing of what the one behind it does. */
static void each_claim_of_a_handle_is_told_of_the_death_before_it(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *first = script_open(TTL, 0), *between = script_open(TTL, 0);
    tenure_claim *h = asked(first, "x"), *a = asked(t, "x"), *x = asked(between, "x");
    tenure_claim *b = asked(t, "x");
    CHECK(h && a && x && b);
    script_run(2 * TTL); /* the first in line has looked again */
    CHECK(tenure_release(a, &err) == 0 && tenure_release(h, &err) == 0);
    script_run(5);
    CHECK(tenure_check(x) == TENURE_STANDING && tenure_check(b) == TENURE_WAITING);
    script_end_session(2);
    script_run_alone(0, 5);
    CHECK(tenure_check(b) == TENURE_STANDING);
    tenure_close(first);
    tenure_close(between);
    tenure_close(t);
}

/* P7 */
static void a_claim_behind_one_of_the_same_handle_takes_no_watch_away(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *holder = script_open(TTL, 0);
    tenure_claim *h = asked(holder, "x"), *a = asked(t, "x"), *b = asked(t, "x");
    CHECK(h && a && b);
    script_end_session(1);
    script_run_alone(0, 5);
    CHECK(tenure_check(a) == TENURE_STANDING && tenure_check(b) == TENURE_WAITING);
    tenure_close(holder);
    tenure_close(t);
}

/* P9: the store tells at once that a session is dead which it is to watch. */
static void what_one_watched_that_left_does_not_concern_the_other(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *first = script_open(TTL, 0), *between = script_open(TTL, 0);
    tenure_claim *h = asked(first, "x"), *a = asked(t, "x"), *x = asked(between, "x");
    tenure_claim *b = asked(t, "x");
    CHECK(h && a && x && b && tenure_leave(b, &err) == 0);
    script_refuse(0, CALL_UPDATE, 1);
    script_run_alone(0, 5);
    unsigned before = script_asked(0, CALL_UPDATE);
    script_end_session(2);
    script_run_alone(0, 5);
    CHECK(tenure_check(a) == TENURE_WAITING && script_asked(0, CALL_UPDATE) <= before + 2);
    tenure_close(first);
    tenure_close(between);
    tenure_close(t);
}

/* P9, P7 */
static void who_could_not_look_is_not_told_of_the_same_death_again_and_again(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *first = script_open(TTL, 0), *between = script_open(TTL, 0);
    tenure_claim *h = asked(first, "x"), *a = asked(t, "x"), *x = asked(between, "x");
    tenure_claim *b = asked(t, "x");
    CHECK(h && a && x && b);
    unsigned before = script_asked(0, CALL_UPDATE);
    script_end_session(2);
    script_refuse(0, CALL_UPDATE, 1);
    script_run_alone(0, 5);
    CHECK(script_asked(0, CALL_UPDATE) <= before + 3);
    script_run_alone(0, TTL / 6);
    CHECK(tenure_release(a, &err) == 0);
    script_end_session(1);
    script_run_alone(0, 5);
    CHECK(tenure_check(b) == TENURE_STANDING);
    tenure_close(first);
    tenure_close(between);
    tenure_close(t);
}

int main(void)
{
    return TAP_RUN(TAP(each_claim_of_a_handle_is_told_of_the_death_before_it),
                   TAP(a_claim_behind_one_of_the_same_handle_takes_no_watch_away),
                   TAP(what_one_watched_that_left_does_not_concern_the_other),
                   TAP(who_could_not_look_is_not_told_of_the_same_death_again_and_again));
}
