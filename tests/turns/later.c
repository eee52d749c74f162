/* tests/turns/later.c - a question whose answer nobody waits for, and the events that tell it. */
#include <stdio.h>
#include <string.h>

#include "claims.h"
#include "tap.h"

#define TTL 3000

static void who_asks_for_later_does_not_wait(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    for (enum call held_back = 0; held_back < CALL_KINDS; held_back++)
        script_hold(0, held_back, true);
    int64_t before = tenure_now();
    tenure_claim *c = asked_later(t, "x", 1);
    CHECK(c != NULL && tenure_now() == before && tenure_check(c) == TENURE_WAITING);
    script_serve(0, CALL_OPEN);
    script_turn();
    CHECK(script_waiting(0, CALL_UPDATE) == 1 && !heard(t, c, TENURE_EVENT_GRANTED, 0));
    script_serve(0, CALL_UPDATE);
    script_turn();
    CHECK(tenure_check(c) == TENURE_STANDING && heard(t, c, TENURE_EVENT_GRANTED, 0));
    for (enum call held_back = 0; held_back < CALL_KINDS; held_back++)
        script_hold(0, held_back, false);
    tenure_close(t);
}

/* An event loop fetches them after tenure_process(); who asks after that would wait for the next
 * renewal. */
static void an_event_that_a_call_brought_about_wakes_the_event_loop(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *c = asked_later(t, "x", 1);
    CHECK(c && tenure_fd(t) >= 0 && script_is_readable(0)); /* it asks before it polls */
    CHECK(tenure_process(t) == 0 && heard(t, c, TENURE_EVENT_GRANTED, 0));
    CHECK(!script_is_readable(0));
    CHECK(tenure_leave(c, &err) == 0 && (c = asked_later(t, "x", 1)) != NULL);
    CHECK(script_is_readable(0));
    CHECK(asked_later(t, "y", 1) != NULL && script_is_readable(0));
    script_pass(TTL / 3); /* a call does what is due */
    CHECK(asked_later(t, "v", 1) != NULL && script_asked(0, CALL_RENEW) == 1);
    CHECK(script_is_readable(0));
    CHECK(tenure_process(t) == 0 && heard(t, c, TENURE_EVENT_GRANTED, 0));
    CHECK(!script_is_readable(0)); /* all were fetched */
    CHECK(asked_later(t, "z", 1) != NULL && tenure_process(t) == 0);
    CHECK(tenure_trouble(t, NULL) == 0 && !script_is_readable(0)); /* not for ever */
    tenure_close(t);
}

/* On this store whatever is asked for is held at once, and could be told first for ever. */
static void events_of_all_claims_are_heard_in_turn(void)
{
    enum { NAMES = 4, ROUNDS = 40 };
    script_begin();
    tenure *t = script_open(TTL, 0);
    unsigned granted[NAMES] = {0};
    char name[16];
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "%d", i);
        CHECK(asked_later(t, name, 1) != NULL);
    }
    tenure_event e;
    for (int i = 0; i < NAMES * ROUNDS; i++) {
        CHECK(tenure_next_event(t, &e) == 1 && e.kind == TENURE_EVENT_GRANTED);
        snprintf(name, sizeof name, "%s", tenure_claim_name(e.claim));
        granted[name[0] - '0']++;
        CHECK(tenure_leave(e.claim, &err) == 0 && asked_later(t, name, 1) != NULL);
    }
    for (int i = 0; i < NAMES; i++)
        CHECK(granted[i] == ROUNDS);
    tenure_close(t);
}

static void who_releases_and_asks_again_is_not_heard_alone(void)
{
    enum { NAMES = 3, ROUNDS = 20 };
    script_begin();
    tenure *t = script_open(TTL, 0);
    int granted[NAMES] = {0};
    char name[16];
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "%d", i);
        CHECK(asked_later(t, name, 1) != NULL);
    }
    tenure_event e;
    for (int i = 0; i < NAMES * ROUNDS; i++) {
        CHECK(tenure_next_event(t, &e) == 1 && e.kind == TENURE_EVENT_GRANTED);
        snprintf(name, sizeof name, "%s", tenure_claim_name(e.claim));
        granted[name[0] - '0']++;
        CHECK(tenure_release(e.claim, &err) == 0 && asked_later(t, name, 1) != NULL);
    }
    for (int i = 0; i < NAMES; i++)
        CHECK(granted[i] >= ROUNDS / 2);
    tenure_close(t);
}

static tenure *shared;
static int heard_meanwhile;

static void another_thread_looks_for_events(void)
{
    tenure_event e;
    script_serve(0, CALL_UPDATE);
    if (tenure_process(shared) == 0)
        heard_meanwhile += tenure_next_event(shared, &e);
}

/* A claim that the call which asked for it does not give to anybody: who was told of it could only
 * do with it what must not be done with what is freed. */
static void nobody_is_told_of_a_claim_that_its_program_has_not_got(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    tenure_event e;
    CHECK(held(other, "x") && held(t, "mine") && tenure_next_event(t, &e) == 1);
    shared = t;
    script_hold(0, CALL_UPDATE, true);
    terms.permits = 3;
    script_meanwhile(another_thread_looks_for_events);
    CHECK(tenure_ask(t, "x", &terms, &c, &err) == TENURE_CONFLICT && heard_meanwhile == 0);
    terms.permits = 1;
    terms.wait_ms = 0;
    script_meanwhile(another_thread_looks_for_events);
    CHECK(tenure_acquire(t, "x", &terms, &c, &err) == TENURE_HELD && heard_meanwhile == 0);
    script_meanwhile(another_thread_looks_for_events);
    CHECK(tenure_ask(t, "y", NULL, &c, &err) == 0 && heard_meanwhile == 0);
    CHECK(heard(t, c, TENURE_EVENT_GRANTED, 0));
    script_hold(0, CALL_UPDATE, false);
    tenure_close(other);
    tenure_close(t);
}

/* Of two threads that wait for the same descriptor the other one took the answer. */
static void who_waits_hears_of_what_another_thread_was_told(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    CHECK(held(t, "mine") != NULL);
    shared = t;
    script_hold(0, CALL_UPDATE, true);
    script_meanwhile(another_thread_looks_for_events);
    int64_t before = tenure_now();
    CHECK(tenure_acquire(t, "x", &terms, &c, &err) == 0 && tenure_now() - before <= 5);
    script_hold(0, CALL_UPDATE, false);
    tenure_close(t);
}

static void another_thread_goes_on(void)
{
    tenure_event e;
    script_run_alone(0, TTL);
    heard_meanwhile += tenure_next_event(shared, &e);
}

/* The same when the store's first answer came too late for tenure_ask(). */
static void nobody_is_told_of_a_claim_that_is_still_acquired(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    tenure_event e;
    CHECK(held(other, "x") && held(t, "mine") && tenure_next_event(t, &e) == 1);
    shared = t;
    heard_meanwhile = 0;
    script_lose(0, CALL_UPDATE, 1);
    script_meanwhile(another_thread_goes_on);
    terms.permits = 3;
    CHECK(tenure_acquire(t, "x", &terms, &c, &err) == TENURE_CONFLICT && heard_meanwhile == 0);
    tenure_close(other);
    tenure_close(t);
}

static void what_cannot_be_asked_for_comes_as_an_event(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    CHECK(held(other, "x") && held(t, "mine"));
    script_hold(0, CALL_UPDATE, true);
    tenure_claim *c = asked_later(t, "x", 3);
    CHECK(c != NULL);
    script_serve(0, CALL_UPDATE);
    script_turn();
    CHECK(heard(t, c, TENURE_EVENT_REFUSED, TENURE_CONFLICT));
    CHECK(tenure_check(c) == TENURE_CONFLICT && tenure_claim_left(c) == 0);
    CHECK(tenure_trouble(t, NULL) == 0); /* the store can be used */
    CHECK(tenure_wait(c, 0, &err) == TENURE_CONFLICT && tenure_release(c, &err) == 0);
    script_hold(0, CALL_UPDATE, false);
    tenure_close(other);
    tenure_close(t);
}

/* P2: no grant that comes after an outage is one too many. */
static void who_asked_for_later_goes_on_asking_through_an_outage(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    CHECK(held(t, "mine") != NULL);
    script_lose(0, CALL_UPDATE, 1);
    script_refuse(0, CALL_UPDATE, 2);
    tenure_claim *c = asked_later(t, "x", 1);
    CHECK(c && tenure_check(c) == TENURE_WAITING);
    script_run(TTL);
    CHECK(c && tenure_check(c) == TENURE_STANDING && look_at(t, "x").tickets == 1);
    tenure_close(t);
}

/* An outage is not over because somebody asks. */
static void who_asks_in_an_outage_does_not_end_it(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *c = held(t, "mine");
    CHECK(c != NULL);
    script_refuse(0, CALL_RENEW, 1000);
    script_refuse(0, CALL_CLOSE, 1000);
    script_refuse(0, CALL_OPEN, 1000);
    script_run(2 * TTL);
    CHECK(tenure_check(c) == TENURE_LOST && tenure_release(c, &err) == TENURE_LOST);
    CHECK(tenure_trouble(t, &err) < 0);
    CHECK((c = asked_later(t, "x", 1)) != NULL);
    for (int i = 0; i < 2 * TTL; i += 10) {
        CHECK(tenure_trouble(t, &err) < 0 && tenure_check(c) == TENURE_WAITING);
        script_run(10);
    }
    script_refuse(0, CALL_RENEW, 0);
    script_refuse(0, CALL_OPEN, 0);
    unsigned before = script_asked(0, CALL_OPEN);
    script_run(TTL); /* the store is told of the end of the lost session before a new one begins */
    CHECK(script_asked(0, CALL_OPEN) == before && tenure_check(c) == TENURE_WAITING);
    script_refuse(0, CALL_CLOSE, 0);
    script_run(TTL);
    CHECK(tenure_check(c) == TENURE_STANDING && tenure_trouble(t, &err) == 0);
    CHECK(look_at(t, "mine").tickets == 0);
    tenure_close(t);
}

/* Each event says why by itself, also when it is fetched after another one was noted. */
static void an_event_has_its_own_reason(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *c = held(t, "x");
    tenure_event e;
    CHECK(c != NULL);
    script_pass(2 * TTL);
    script_turn();
    CHECK(tenure_next_event(t, &e) == 1 && e.kind == TENURE_EVENT_GRANTED);
    CHECK(strstr(e.reason, "granted") != NULL);
    while (tenure_next_event(t, &e) == 1 && e.kind != TENURE_EVENT_LOST)
        CHECK(!strstr(e.reason, "deadline"));
    CHECK(e.kind == TENURE_EVENT_LOST && strstr(e.reason, "deadline"));
    tenure_close(t);
}

static void a_try_is_no_question_for_later(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    terms.later = true;
    terms.wait_ms = 0;
    CHECK(tenure_ask(t, "x", &terms, &c, &err) == TENURE_INVALID && strstr(err.text, "later"));
    tenure_close(t);
}

int main(void)
{
    return TAP_RUN(TAP(who_asks_for_later_does_not_wait),
                   TAP(an_event_that_a_call_brought_about_wakes_the_event_loop),
                   TAP(events_of_all_claims_are_heard_in_turn),
                   TAP(who_releases_and_asks_again_is_not_heard_alone),
                   TAP(nobody_is_told_of_a_claim_that_its_program_has_not_got),
                   TAP(who_waits_hears_of_what_another_thread_was_told),
                   TAP(nobody_is_told_of_a_claim_that_is_still_acquired),
                   TAP(what_cannot_be_asked_for_comes_as_an_event),
                   TAP(who_asked_for_later_goes_on_asking_through_an_outage),
                   TAP(who_asks_in_an_outage_does_not_end_it),
                   TAP(an_event_has_its_own_reason),
                   TAP(a_try_is_no_question_for_later));
}
