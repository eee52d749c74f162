/* tests/turns/leaving.c - a claim that is given up with the next question about its name, and a
 * question whose answer nobody waits for. */
#include <stdio.h>
#include <string.h>

#include "script.h"
#include "tap.h"

#define TTL 3000

static tenure_error err;

static tenure_claim *held(tenure *t, const char *name)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c = NULL;
    terms.wait_ms = 0;
    return tenure_acquire(t, name, &terms, &c, &err) == 0 ? c : NULL;
}

static tenure_claim *asked(tenure *t, const char *name)
{
    tenure_claim *c = NULL;
    return tenure_ask(t, name, NULL, &c, &err) == 0 ? c : NULL;
}

static tenure_claim *asked_later(tenure *t, const char *name, unsigned permits)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c = NULL;
    terms.later = true;
    terms.permits = permits;
    return tenure_ask(t, name, &terms, &c, &err) == 0 ? c : NULL;
}

static bool heard(tenure *t, const tenure_claim *c, tenure_event_kind kind, int code)
{
    tenure_event e;
    bool found = false;
    while (tenure_next_event(t, &e) > 0)
        found |= e.claim == c && e.kind == kind && e.code == code;
    return found;
}

struct seen {
    size_t tickets, past;
    char cause[16];
};

static bool see(void *arg, const tenure_name_info *info)
{
    struct seen *s = arg;
    s->tickets = info->ticket_count;
    s->past = info->past_count;
    if (s->past > 0)
        strncpy(s->cause, info->past[0].cause, sizeof s->cause - 1);
    return true;
}

static struct seen look_at(tenure *t, const char *name)
{
    struct seen s = {0};
    if (tenure_look(t, name, see, &s, &err) < 0)
        s.tickets = 99;
    return s;
}

/* ---- leaving --------------------------------------------------------------------------------- */

static void who_leaves_and_asks_again_asks_the_store_once(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *c = held(t, "x");
    CHECK(c != NULL);
    for (int i = 0; i < 10; i++) {
        unsigned before = script_asked(0, CALL_UPDATE);
        tenure_token token = tenure_claim_token(c);
        CHECK(tenure_leave(c, &err) == 0);
        CHECK((c = held(t, "x")) != NULL && tenure_claim_token(c) > token); /* P1 */
        CHECK(script_asked(0, CALL_UPDATE) == before + 1);
    }
    CHECK(look_at(t, "x").tickets == 1 && look_at(t, "x").past == 10);
    script_run(10);
    CHECK(look_at(t, "x").tickets == 1);
    tenure_close(t);
}

static void who_leaves_and_asks_no_more_is_gone_within_two_milliseconds(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    tenure_claim *c = held(t, "x"), *w = asked(other, "x");
    CHECK(c && w && tenure_leave(c, &err) == 0);
    CHECK(tenure_check(w) == TENURE_WAITING);
    script_run(3);
    CHECK(tenure_check(w) == TENURE_STANDING);
    CHECK(strcmp(look_at(t, "x").cause, "released") == 0);
    tenure_close(other);
    tenure_close(t);
}

/* P8 */
static void who_waits_comes_before_who_leaves_and_asks_again(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    tenure_claim *c = held(t, "x"), *w = asked(other, "x");
    CHECK(c && w && tenure_leave(c, &err) == 0);
    CHECK((c = asked(t, "x")) != NULL && tenure_check(c) == TENURE_WAITING);
    script_turn();
    CHECK(tenure_check(w) == TENURE_STANDING);
    CHECK(tenure_leave(w, &err) == 0 && (w = asked(other, "x")) != NULL);
    script_turn();
    CHECK(tenure_check(c) == TENURE_STANDING && tenure_check(w) == TENURE_WAITING);
    tenure_close(other);
    tenure_close(t);
}

/* Both are of one session, and the one that waits is told although its session asked. */
static void another_claim_of_the_handle_is_told_that_it_was_served(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *c = held(t, "x"), *w = asked(t, "x");
    CHECK(c && w && tenure_leave(c, &err) == 0 && asked(t, "x") != NULL);
    script_run(1);
    CHECK(tenure_check(w) == TENURE_STANDING && heard(t, w, TENURE_EVENT_GRANTED, 0));
    tenure_close(t);
}

/* P2, P6: it happened, and nobody knows. */
static void a_lost_answer_leaves_nothing_behind(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    tenure_claim *c = held(t, "x"), *w = asked(other, "x");
    CHECK(c && w && tenure_leave(c, &err) == 0);
    script_lose(0, CALL_UPDATE, 1);
    CHECK((c = asked(t, "x")) != NULL);
    script_run(TTL);
    CHECK(tenure_check(w) == TENURE_STANDING && tenure_check(c) == TENURE_WAITING);
    CHECK(look_at(t, "x").tickets == 2);
    CHECK(tenure_release(w, &err) == 0);
    script_run(10);
    CHECK(tenure_check(c) == TENURE_STANDING && look_at(t, "x").tickets == 1);
    tenure_close(other);
    tenure_close(t);
}

static void a_question_that_does_not_happen_takes_nobody_along(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    tenure_claim *c = held(t, "x"), *w = asked(other, "x");
    CHECK(c && w && tenure_leave(c, &err) == 0);
    script_refuse(0, CALL_UPDATE, 1);
    CHECK(asked(t, "x") == NULL && tenure_class(err.code) == TENURE_CLASS_UNREACHABLE);
    script_run(3);
    CHECK(tenure_check(w) == TENURE_STANDING && look_at(t, "x").tickets == 1);
    tenure_close(other);
    tenure_close(t);
}

/* The question is given up while it is under way, and with it whom it was to take along. */
static void who_gives_up_its_question_still_lets_go_of_what_it_held(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    tenure_claim *c = held(t, "x"), *w = asked(other, "x");
    CHECK(c && w && tenure_leave(c, &err) == 0);
    script_hold(0, CALL_UPDATE, true);
    CHECK((c = asked_later(t, "x", 1)) != NULL && script_waiting(0, CALL_UPDATE) == 1);
    CHECK(tenure_leave(c, &err) == 0);
    script_hold(0, CALL_UPDATE, false);
    script_run(TTL);
    CHECK(tenure_check(w) == TENURE_STANDING && look_at(t, "x").tickets == 1);
    tenure_close(other);
    tenure_close(t);
}

static void a_claim_that_leaves_before_its_answer_leaves_after_it(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    CHECK(held(t, "mine") != NULL);
    script_hold(0, CALL_UPDATE, true);
    tenure_claim *c = asked_later(t, "x", 1);
    CHECK(c != NULL && tenure_leave(c, &err) == 0);
    script_serve(0, CALL_UPDATE); /* granted, to nobody */
    script_hold(0, CALL_UPDATE, false);
    script_run(10);
    CHECK(look_at(other, "x").tickets == 0 && held(other, "x") != NULL);
    tenure_close(other);
    tenure_close(t);
}

static void who_closes_the_handle_lets_go_of_what_it_left(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    tenure_claim *c = held(t, "x");
    CHECK(c && tenure_leave(c, &err) == 0);
    tenure_close(t);
    CHECK(look_at(other, "x").tickets == 0 && strcmp(look_at(other, "x").cause, "released") == 0);
    tenure_close(other);
}

/* P4 */
static void what_was_lost_is_said_to_be_lost(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *c = held(t, "x");
    CHECK(c != NULL);
    script_pass(2 * TTL);
    CHECK(tenure_leave(c, &err) == TENURE_LOST);
    CHECK((c = held(t, "x")) != NULL && tenure_leave(c, &err) == 0);
    script_pass(2 * TTL); /* it left, and its session ends before it was said */
    CHECK((c = held(t, "x")) != NULL && look_at(t, "x").tickets == 1);
    tenure_close(t);
}

static void nobody_is_taken_along_to_another_name(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *x = held(t, "x"), *y = held(t, "y");
    CHECK(x && y && tenure_leave(x, &err) == 0 && tenure_leave(y, &err) == 0);
    unsigned before = script_asked(0, CALL_UPDATE);
    CHECK(held(t, "z") && held(t, "y") && script_asked(0, CALL_UPDATE) == before + 2);
    CHECK(look_at(t, "x").tickets == 1 && look_at(t, "y").tickets == 1);
    script_run(3);
    CHECK(look_at(t, "x").tickets == 0 && look_at(t, "y").tickets == 1);
    tenure_close(t);
}

/* Each renewal looks at what is held. */
static void who_leaves_while_it_is_looked_at_leaves_with_the_next_question(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *c = held(t, "x");
    script_hold(0, CALL_UPDATE, true);
    script_run(TTL / 3 + 1);
    CHECK(c && script_waiting(0, CALL_UPDATE) == 1 && tenure_leave(c, &err) == 0);
    script_hold(0, CALL_UPDATE, false);
    CHECK((c = held(t, "x")) != NULL);
    script_serve(0, CALL_UPDATE);
    script_run(10);
    CHECK(c && tenure_check(c) == TENURE_STANDING && look_at(t, "x").tickets == 1);
    tenure_close(t);
}

static void who_leaves_before_its_answer_leaves_with_the_next_question(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    CHECK(held(t, "mine") != NULL);
    script_hold(0, CALL_UPDATE, true);
    tenure_claim *c = asked_later(t, "x", 1);
    CHECK(c && tenure_leave(c, &err) == 0);
    script_hold(0, CALL_UPDATE, false);
    CHECK((c = held(t, "x")) != NULL); /* its question comes first */
    script_serve(0, CALL_UPDATE);
    script_run(10);
    CHECK(c && tenure_check(c) == TENURE_STANDING && look_at(t, "x").tickets == 1); /* P2 */
    tenure_close(t);
}

/* P2: what could not be given back does not stand in our own way. */
static void what_the_store_did_not_hear_of_leaves_with_the_next_question(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *c = held(t, "x");
    script_refuse(0, CALL_UPDATE, 1);
    CHECK(c && tenure_class(tenure_release(c, &err)) == TENURE_CLASS_UNREACHABLE);
    CHECK((c = held(t, "x")) != NULL);
    script_refuse(0, CALL_UPDATE, 1);
    CHECK(c && tenure_leave(c, &err) == 0);
    script_run(5);
    CHECK(look_at(t, "x").tickets == 1 && (c = held(t, "x")) != NULL);
    CHECK(c && tenure_release(c, &err) == 0);
    script_lose(0, CALL_UPDATE, 1);
    CHECK(held(t, "x") == NULL && err.code == TENURE_UNSURE);
    CHECK((c = held(t, "x")) != NULL && look_at(t, "x").tickets == 1);
    script_run(TTL);
    CHECK(tenure_check(c) == TENURE_STANDING && look_at(t, "x").tickets == 1);
    tenure_close(t);
}

/* When its question is given up it goes alone, and at once. */
static void who_leaves_with_an_older_claim_does_not_wait_for_its_next_attempt(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c, *p;
    CHECK(held(t, "mine") != NULL);
    terms.permits = 2;
    script_lose(0, CALL_UPDATE, 1);
    CHECK(tenure_ask(t, "x", &terms, &c, &err) == 0); /* asks again after a twelfth of the ttl */
    CHECK(tenure_acquire(t, "x", &terms, &p, &err) == 0);
    script_run(TTL / 12 - 1);
    CHECK(tenure_leave(p, &err) == 0);
    script_hold(0, CALL_UPDATE, true);
    script_run(1);
    CHECK(script_waiting(0, CALL_UPDATE) == 1);
    script_hold(0, CALL_UPDATE, false);
    script_run(TTL / 6 + 2);
    CHECK(tenure_check(c) == TENURE_WAITING && look_at(t, "x").tickets == 1);
    tenure_close(t);
}

static void a_store_that_is_stuck_keeps_nobody_longer_than_an_attempt(void)
{
    enum { NAMES = 6 };
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *c[NAMES];
    char name[16];
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "%d", i);
        CHECK((c[i] = held(t, name)) != NULL);
    }
    for (int i = 0; i < NAMES; i++)
        CHECK(tenure_leave(c[i], &err) == 0);
    script_pass(3);
    script_jam(0, CALL_UPDATE, TTL / 6);
    int64_t before = tenure_now();
    CHECK(tenure_process(t) == 0 && tenure_now() - before <= TTL / 6);
    before = tenure_now();
    tenure_close(t);
    CHECK(tenure_now() - before <= TTL / 6);
}

/* ---- asking without waiting ------------------------------------------------------------------ */

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
    return TAP_RUN(TAP(who_leaves_and_asks_again_asks_the_store_once),
                   TAP(who_leaves_and_asks_no_more_is_gone_within_two_milliseconds),
                   TAP(who_waits_comes_before_who_leaves_and_asks_again),
                   TAP(another_claim_of_the_handle_is_told_that_it_was_served),
                   TAP(a_lost_answer_leaves_nothing_behind),
                   TAP(a_question_that_does_not_happen_takes_nobody_along),
                   TAP(who_gives_up_its_question_still_lets_go_of_what_it_held),
                   TAP(a_claim_that_leaves_before_its_answer_leaves_after_it),
                   TAP(who_closes_the_handle_lets_go_of_what_it_left),
                   TAP(what_was_lost_is_said_to_be_lost),
                   TAP(nobody_is_taken_along_to_another_name),
                   TAP(who_leaves_while_it_is_looked_at_leaves_with_the_next_question),
                   TAP(who_leaves_before_its_answer_leaves_with_the_next_question),
                   TAP(what_the_store_did_not_hear_of_leaves_with_the_next_question),
                   TAP(who_leaves_with_an_older_claim_does_not_wait_for_its_next_attempt),
                   TAP(a_store_that_is_stuck_keeps_nobody_longer_than_an_attempt),
                   TAP(who_asks_for_later_does_not_wait),
                   TAP(an_event_that_a_call_brought_about_wakes_the_event_loop),
                   TAP(events_of_all_claims_are_heard_in_turn),
                   TAP(who_releases_and_asks_again_is_not_heard_alone),
                   TAP(nobody_is_told_of_a_claim_that_its_program_has_not_got),
                   TAP(who_waits_hears_of_what_another_thread_was_told),
                   TAP(nobody_is_told_of_a_claim_that_is_still_acquired),
                   TAP(what_cannot_be_asked_for_comes_as_an_event),
                   TAP(who_asked_for_later_goes_on_asking_through_an_outage),
                   TAP(a_try_is_no_question_for_later));
}
