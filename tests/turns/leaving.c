/* tests/turns/leaving.c - a claim that is given up with the next question about its name. */
#include <stdio.h>
#include <string.h>

#include "claims.h"
#include "tap.h"

#define TTL 3000

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
                   TAP(a_store_that_is_stuck_keeps_nobody_longer_than_an_attempt));
}
