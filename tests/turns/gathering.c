/* tests/turns/gathering.c - a store that sends what it is asked when its caller has nothing more to
 * ask (`due` in src/store/store.h): nothing waits for longer than until then. */
#include <stdio.h>

#include "claims.h"
#include "tap.h"

#define TTL 3000
#define NAMES 5

static bool asked_for_all(tenure *t, tenure_claim *c[NAMES])
{
    char name[8];
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "x%d", i);
        if (!(c[i] = asked_later(t, name, 1)))
            return false;
    }
    return true;
}

static bool are_held(tenure_claim *c[NAMES])
{
    for (int i = 0; i < NAMES; i++) {
        if (tenure_check(c[i]) != TENURE_STANDING)
            return false;
    }
    return true;
}

/* A handle with a session, whose store gathers; `other` waits for "mine". */
static tenure *begin(tenure **ret_other, tenure_claim **ret_mine, tenure_claim **ret_waits)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    *ret_other = script_open(TTL, 0);
    *ret_mine = held(t, "mine");
    *ret_waits = asked(*ret_other, "mine");
    script_gather(0);
    return t;
}

static void an_event_loop_is_told_until_it_comes_and_all_of_it_goes_together(void)
{
    tenure *other, *t;
    tenure_claim *mine, *w, *c[NAMES];
    t = begin(&other, &mine, &w);
    CHECK(mine && w && tenure_fd(t) >= 0 && heard(t, mine, TENURE_EVENT_GRANTED, 0));
    script_run(1);
    CHECK(!script_is_readable(0));
    CHECK(asked_for_all(t, c) && tenure_leave(mine, &err) == 0);
    CHECK(script_waiting(0, CALL_UPDATE) == NAMES);
    CHECK(script_is_readable(0) && tenure_trouble(t, NULL) == 0 && script_is_readable(0));
    CHECK(tenure_process(t) == 0 && are_held(c));
    script_run(3);
    CHECK(tenure_check(w) == TENURE_STANDING);
    tenure_close(other);
    tenure_close(t);
}

/* Who calls tenure_process() now and then hears of no descriptor. */
static void what_a_turn_asks_is_sent_with_it_when_nobody_polls(void)
{
    tenure *other, *t;
    tenure_claim *mine, *w, *c[NAMES];
    t = begin(&other, &mine, &w);
    CHECK(mine && w && tenure_leave(mine, &err) == 0 && asked_for_all(t, c));
    script_pass(3); /* now it goes alone */
    CHECK(tenure_process(t) == 0 && script_waiting(0, CALL_UPDATE) == 0 && are_held(c));
    script_run_alone(1, 3);
    CHECK(tenure_check(w) == TENURE_STANDING);
    tenure_close(other);
    tenure_close(t);
}

static void who_waits_sends_what_others_asked(void)
{
    tenure *other, *t;
    tenure_claim *mine, *w, *c[NAMES];
    t = begin(&other, &mine, &w);
    CHECK(mine && w && asked_for_all(t, c) && script_waiting(0, CALL_UPDATE) == NAMES);
    CHECK(tenure_release(mine, &err) == 0 && are_held(c));
    tenure_close(other);
    tenure_close(t);
}

static void who_closes_sends_what_it_has_to_give_back(void)
{
    tenure *other, *t;
    tenure_claim *mine, *w, *c[NAMES];
    t = begin(&other, &mine, &w);
    CHECK(mine && w && asked_for_all(t, c) && tenure_leave(mine, &err) == 0);
    tenure_close(t);
    script_run_alone(1, 3);
    CHECK(tenure_check(w) == TENURE_STANDING);
    CHECK(look_at(other, "x0").tickets == 0);
    tenure_close(other);
}

int main(void)
{
    return TAP_RUN(TAP(an_event_loop_is_told_until_it_comes_and_all_of_it_goes_together),
                   TAP(what_a_turn_asks_is_sent_with_it_when_nobody_polls),
                   TAP(who_waits_sends_what_others_asked),
                   TAP(who_closes_sends_what_it_has_to_give_back));
}
