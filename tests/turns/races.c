/* tests/turns/races.c - two things that happen at once, in both orders, on an engine whose answers
 * come later.  tests/e2e/scenarios/test_races.py does the same to real processes. */
#include "script.h"
#include "tap.h"

#define TTL 3000 /* renew 1000, attempt 500, deadline 2970 */

static tenure_error err;

static tenure_claim *acquired(tenure *t, const char *name)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c = NULL;
    terms.wait_ms = 0;
    return tenure_acquire(t, name, &terms, &c, &err) == 0 ? c : NULL;
}

/* Handle 0, whose answers come later from now on, has asked for x, and does not know more. */
static tenure_claim *asking(tenure **ret, tenure **ret_other)
{
    tenure_claim *c;
    script_begin();
    *ret = script_open(TTL, 0);
    *ret_other = script_open(TTL, 0);
    if (!acquired(*ret, "own")) /* so it has a session */
        return NULL;
    script_hold(0, CALL_UPDATE, true);
    if (tenure_ask(*ret, "x", NULL, &c, &err) < 0)
        return NULL;
    while (script_waiting(0, CALL_UPDATE) == 0)
        script_run(1);
    return c;
}

/* P2: between grant and reply it gives up.  Grant first: its leaving takes the grant back. */
static void who_gives_up_after_its_grant_and_before_the_reply_leaves_nothing(void)
{
    tenure *t, *other;
    tenure_claim *c = asking(&t, &other);
    CHECK(c != NULL);
    script_swallow(0, CALL_UPDATE); /* granted, and nobody knows */
    CHECK(acquired(other, "x") == NULL && err.code == TENURE_HELD);
    script_hold(0, CALL_UPDATE, false);
    CHECK(tenure_release(c, &err) == 0);
    CHECK(acquired(other, "x") != NULL);
    tenure_close(other);
    tenure_close(t);
}

/* ... giving up first: the question never takes effect, whatever became of it. */
static void who_gives_up_before_its_question_arrives_is_never_granted(void)
{
    tenure *t, *other;
    tenure_claim *c = asking(&t, &other);
    CHECK(c != NULL);
    script_hold(0, CALL_UPDATE, false); /* what waits still waits; the leaving passes it */
    CHECK(tenure_release(c, &err) == 0);
    CHECK(script_waiting(0, CALL_UPDATE) == 0); /* it was given up: store.h, ASYNCHRONY */
    script_run(TTL);
    CHECK(acquired(other, "x") != NULL);
    tenure_close(other);
    tenure_close(t);
}

/* P3: the store hears of the eviction, then of a renewal: that comes with the notice. */
static void a_renewal_that_the_store_receives_after_the_eviction_extends_nothing(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *op = script_open(TTL, 0);
    tenure_claim *x = acquired(t, "x");
    CHECK(x != NULL);
    script_hold(0, CALL_RENEW, true);
    script_run_alone(0, 1010);
    CHECK(script_waiting(0, CALL_RENEW) == 1);
    int64_t deadline = tenure_claim_deadline(x), evicted = tenure_now();
    CHECK(tenure_evict(op, "x", tenure_claim_token(x), "op", "test", &err) == 0);
    script_hold(0, CALL_UPDATE, true);
    script_serve(0, CALL_RENEW);
    script_run_alone(0, 10);
    CHECK(tenure_claim_deadline(x) == deadline); /* it has not looked yet */
    script_hold(0, CALL_RENEW, false);
    script_hold(0, CALL_UPDATE, false);
    script_serve(0, CALL_UPDATE);
    script_run(2 * TTL);
    CHECK(tenure_check(x) == TENURE_EVICTED);
    CHECK(acquired(op, "x") != NULL && tenure_now() >= evicted + TTL);
    tenure_close(op);
    tenure_close(t);
}

/* ... the renewal first: it counts, and the seat ends a ttl after the eviction all the same. */
static void a_renewal_that_the_store_receives_before_the_eviction_counts_and_no_longer(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *op = script_open(TTL, 0);
    tenure_claim *x = acquired(t, "x");
    CHECK(x != NULL);
    script_hold(0, CALL_RENEW, true);
    script_run_alone(0, 1010);
    int64_t before = tenure_claim_deadline(x);
    script_serve(0, CALL_RENEW); /* received; its answer is under way */
    int64_t evicted = tenure_now();
    CHECK(tenure_evict(op, "x", tenure_claim_token(x), "op", "test", &err) == 0);
    script_hold(0, CALL_RENEW, false);
    script_run_alone(0, 10);
    CHECK(tenure_claim_deadline(x) > before);
    CHECK(tenure_claim_deadline(x) <= evicted + TTL - TTL / 100);
    while (tenure_check(x) > 0 && tenure_now() < evicted + 2 * TTL)
        script_run(1);
    CHECK(tenure_check(x) == TENURE_EVICTED && tenure_now() < evicted + TTL);
    tenure_close(op);
    tenure_close(t);
}

/* Between expiry and renewal.  A renewal that arrives in time and is answered late counts from its
 * sending; one that arrives after the expiry is refused, and heals nothing (P4). */
static void a_renewal_arrives_before_the_expiry_or_after_it(void)
{
    for (int late = 0; late <= 1; late++) {
        script_begin();
        tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
        tenure_claim *x = acquired(t, "x"), *next;
        CHECK(x != NULL && tenure_ask(other, "x", NULL, &next, &err) == 0);
        script_hold(0, CALL_RENEW, true);
        script_run(1010);
        script_pass(late ? 2000 : 1950); /* all are stopped; the ttl ends at 3000 */
        script_serve(0, CALL_RENEW);
        script_hold(0, CALL_RENEW, false);
        script_run(TTL / 10);
        CHECK((tenure_check(x) > 0) == !late);
        script_run(2 * TTL);
        CHECK((tenure_check(x) == TENURE_STANDING) == !late);
        CHECK((tenure_check(next) == TENURE_STANDING) == late);
        tenure_close(other);
        tenure_close(t);
    }
}

/* Between look and listen: the waiter's question says "wait", and before it hears that, the one in
 * front of it leaves.  Or after. */
static void who_is_in_front_leaves_before_the_waiter_listens_or_afterwards(void)
{
    for (int after = 0; after <= 1; after++) {
        script_begin();
        tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
        tenure_claim *x = acquired(other, "x"), *c;
        CHECK(x && acquired(t, "own") != NULL);
        script_hold(0, CALL_UPDATE, true);
        CHECK(tenure_ask(t, "x", NULL, &c, &err) == 0);
        while (script_waiting(0, CALL_UPDATE) == 0)
            script_run(1);
        script_serve(0, CALL_UPDATE); /* "wait", and the answer is under way */
        script_hold(0, CALL_UPDATE, false);
        if (after)
            script_turn();
        CHECK(tenure_release(x, &err) == 0);
        script_run(10);
        CHECK(tenure_check(c) == TENURE_STANDING);
        tenure_close(other);
        tenure_close(t);
    }
}

int main(void)
{
    return TAP_RUN(TAP(who_gives_up_after_its_grant_and_before_the_reply_leaves_nothing),
                   TAP(who_gives_up_before_its_question_arrives_is_never_granted),
                   TAP(a_renewal_that_the_store_receives_after_the_eviction_extends_nothing),
                   TAP(a_renewal_that_the_store_receives_before_the_eviction_counts_and_no_longer),
                   TAP(a_renewal_arrives_before_the_expiry_or_after_it),
                   TAP(who_is_in_front_leaves_before_the_waiter_listens_or_afterwards));
}
