/* tests/turns/beliefs.c - what a handle may believe when answers come late, or never. */
#include "lib/handle.h"
#include "script.h"
#include "tap.h"

#define TTL 3000 /* renew 1000, attempt 500, doubt 1500, deadline 2970 */
#define RENEW (TTL / 3)

static tenure_error err;

static tenure_claim *acquired(tenure *t, const char *name)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c = NULL;
    terms.wait_ms = 0;
    return tenure_acquire(t, name, &terms, &c, &err) == 0 ? c : NULL;
}

static int64_t left_of(const tenure_claim *c)
{
    return tenure_claim_deadline(c) - tenure_now();
}

/* Handle 0 holds x, and held y, which was told to stop: so the next renewal comes with a notice,
 * and counts for x only when x was looked at.  No look is answered; the renewals are.  Now a look
 * at x is under way, and its deadline less than 400 ms ahead. */
static tenure_claim *holder_whose_look_hangs(tenure **ret)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *op = script_open(TTL, 0);
    tenure_claim *x = acquired(t, "x"), *y = acquired(t, "y");
    *ret = t;
    if (!x || !y || tenure_evict(op, "y", tenure_claim_token(y), "op", "test", &err) < 0 ||
        tenure_release(y, &err) < 0)
        return NULL;
    script_hold(0, CALL_UPDATE, true);
    int64_t end = tenure_now() + 2 * TTL;
    while (tenure_now() < end &&
           (left_of(x) > 400 || (left_of(x) > 0 && script_waiting(0, CALL_UPDATE) == 0)))
        script_run(10);
    tenure_close(op);
    return left_of(x) > 0 && left_of(x) <= 400 ? x : NULL;
}

/* P4: the session lives, and has been renewed beyond the deadline of this claim. */
static void a_late_look_extends_no_claim_whose_own_deadline_has_passed(void)
{
    tenure *t;
    tenure_claim *x = holder_whose_look_hangs(&t);
    CHECK(x != NULL);
    script_pass(left_of(x) + 10);
    script_serve(0, CALL_UPDATE); /* it is in the record as held, says the answer */
    script_turn();
    CHECK(tenure_check(x) == TENURE_LOST);
    script_hold(0, CALL_UPDATE, false);
    script_run(3 * TTL);
    CHECK(tenure_check(x) == TENURE_LOST && tenure_release(x, &err) == TENURE_LOST);
    tenure_close(t);
}

/* P4: what tenure_check() has said is final, whatever the handle hears afterwards. */
static void a_loss_that_check_has_shown_is_final(void)
{
    tenure *t;
    tenure_claim *x = holder_whose_look_hangs(&t);
    CHECK(x != NULL);
    script_pass(left_of(x) + 10);
    CHECK(tenure_check(x) == TENURE_LOST);
    script_serve(0, CALL_UPDATE);
    script_turn();
    CHECK(tenure_check(x) == TENURE_LOST);
    script_hold(0, CALL_UPDATE, false);
    script_run(3 * TTL);
    CHECK(tenure_check(x) == TENURE_LOST && tenure_release(x, &err) == TENURE_LOST);
    tenure_close(t);
}

/* P3: its seat ends a ttl after it was told to stop, so what was renewed meanwhile is no word. */
static void a_renewal_that_came_with_a_notice_counts_after_the_look_and_not_before(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *op = script_open(TTL, 0);
    tenure_claim *x = acquired(t, "x");
    CHECK(x != NULL);
    script_run(1500); /* one renewal has counted */
    int64_t deadline = tenure_claim_deadline(x);
    script_hold(0, CALL_UPDATE, true);
    CHECK(tenure_evict(op, "x", tenure_claim_token(x), "op", "test", &err) == 0);
    unsigned before = script_asked(0, CALL_RENEW);
    while (tenure_check(x) > 0 && tenure_now() < deadline + 20)
        script_run(10);
    CHECK(tenure_check(x) == TENURE_LOST);
    CHECK(script_asked(0, CALL_RENEW) >= before + 2); /* the session was never in doubt */
    CHECK(tenure_now() >= deadline);
    tenure_close(op);
    tenure_close(t);
}

/* P3: also while a question is under way, which has an attempt's time. */
static void the_loss_is_said_at_the_deadline_and_not_when_a_look_is_given_up(void)
{
    tenure *t;
    tenure_event e;
    tenure_claim *x = holder_whose_look_hangs(&t);
    CHECK(x != NULL);
    while (script_waiting(0, CALL_UPDATE) > 0)
        script_run(1); /* that look is given up; a hint makes it look again at once */
    tenure *op = script_open(TTL, 0);
    CHECK(tenure_evict(op, "x", tenure_claim_token(x), "op", "test", &err) == 0);
    int64_t deadline = tenure_claim_deadline(x);
    script_run(left_of(x) - 1);
    CHECK(tenure_now() == deadline - 1 && script_waiting(0, CALL_UPDATE) == 1);
    script_run(1);
    bool lost = false;
    while (tenure_next_event(t, &e) > 0)
        lost |= e.kind == TENURE_EVENT_LOST && e.claim == x;
    CHECK(lost);
    tenure_close(op);
    tenure_close(t);
}

/* A question that nobody answers is asked again after ttl/6 and a pause. */
static void a_look_has_the_time_of_one_attempt(void)
{
    script_begin();
    tenure *t = script_open(60000, 0), *op = script_open(TTL, 0);
    tenure_claim *x = acquired(t, "x");
    CHECK(x != NULL);
    script_hold(0, CALL_UPDATE, true);
    CHECK(tenure_evict(op, "x", tenure_claim_token(x), "op", "test", &err) == 0);
    unsigned before = script_asked(0, CALL_UPDATE);
    script_run(19000); /* no renewal yet */
    CHECK(script_asked(0, CALL_UPDATE) == before + 2);
    tenure_close(op);
    tenure_close(t);
}

static void a_renewal_without_a_notice_extends_what_is_held(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *x = acquired(t, "x");
    CHECK(x != NULL);
    script_run(20 * TTL);
    CHECK(tenure_check(x) == TENURE_STANDING && left_of(x) > TTL / 2);
    tenure_close(t);
}

/* P4, P6: the question was asked when it was held; that nobody answered it is no news any more. */
static void what_a_lost_claim_had_asked_changes_nothing(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *op = script_open(TTL, 0);
    tenure_claim *x = acquired(t, "x");
    CHECK(x != NULL);
    script_run(200);
    script_hold(0, CALL_UPDATE, true);
    CHECK(tenure_evict(op, "x", tenure_claim_token(x), "op", "test", &err) == 0);
    script_run(700);
    script_end_session(0);
    while (tenure_check(x) > 0)
        script_run(10); /* the renewal after 1000 ms brings the loss, while a look is under way */
    CHECK(tenure_check(x) == TENURE_LOST && script_waiting(0, CALL_UPDATE) == 1);
    script_run(TTL); /* nobody answers */
    tenure_event e;
    bool lost = false;
    while (tenure_next_event(t, &e) > 0)
        lost |= e.kind == TENURE_EVENT_LOST && e.code == TENURE_LOST && strstr(e.reason, "session");
    CHECK(lost);
    CHECK(tenure_release(x, &err) == TENURE_LOST && err.code == TENURE_LOST);
    CHECK(strstr(err.text, "session"));
    tenure_close(op);
    tenure_close(t);
}

/* P3: the program was stopped in the middle of the request.  The grant is a day old. */
static void a_grant_that_comes_after_the_end_of_its_session_is_not_believed(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *x;
    tenure_terms terms = TENURE_TERMS_INIT;
    script_slow(0, CALL_UPDATE, 24 * 3600 * 1000);
    CHECK(tenure_acquire(t, "x", &terms, &x, &err) == 0);
    CHECK(tenure_check(x) == TENURE_STANDING && left_of(x) > TTL / 2);
    tenure_event e;
    CHECK(tenure_next_event(t, &e) == 1 && e.kind == TENURE_EVENT_GRANTED);
    CHECK(tenure_next_event(t, &e) == 0);
    tenure_close(t);
}

/* P3: counted from the sending, even if the answer takes nearly all of the time. */
static void a_slow_renewal_extends_from_its_sending(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *x = acquired(t, "x");
    CHECK(x != NULL);
    script_run(990);
    script_slow(0, CALL_RENEW, 450);
    script_run(20); /* the renewal is sent at 1000, and answered at 1450 */
    CHECK(left_of(x) <= 2970 - 450 && left_of(x) > 2970 - 480);
    tenure_close(t);
}

/* P2, P6: nobody knows whether it was granted.  It is taken back as soon as the store answers. */
static void a_try_that_was_not_answered_leaves_nothing(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    CHECK(acquired(t, "own") != NULL);
    script_hold(0, CALL_UPDATE, true);
    CHECK(acquired(t, "x") == NULL && err.code == TENURE_UNSURE);
    script_hold(0, CALL_UPDATE, false);
    script_run(TTL);
    CHECK(acquired(other, "x") != NULL);
    tenure_close(other);
    tenure_close(t);
}

static bool count_tickets(void *arg, const tenure_name_info *info)
{
    *(unsigned *)arg += (unsigned)info->ticket_count;
    return true;
}

/* P6: the ticket tells what became of the question, so it is asked again with the same one. */
static void a_question_whose_answer_was_lost_is_asked_again_with_the_same_ticket(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    tenure_claim *x, *y = acquired(t, "y");
    tenure_terms terms = TENURE_TERMS_INIT;
    terms.permits = 3; /* a second ticket would be granted, too */
    script_hold(0, CALL_UPDATE, true);
    CHECK(y && tenure_ask(t, "x", &terms, &x, &err) == 0 && tenure_check(x) == TENURE_WAITING);
    while (script_waiting(0, CALL_UPDATE) == 0)
        script_run(10);
    script_swallow(0, CALL_UPDATE);
    script_hold(0, CALL_UPDATE, false);
    script_run(TTL);
    unsigned tickets = 0;
    CHECK(tenure_check(x) == TENURE_STANDING);
    CHECK(tenure_look(other, "x", count_tickets, &tickets, &err) == 0 && tickets == 1);
    tenure_close(other);
    tenure_close(t);
}

/* P6, P2: not known is what it says, and the store hears of it all the same. */
static void a_release_that_was_not_answered_is_unsure_and_made_good_later(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *other = script_open(TTL, 0);
    tenure_claim *x = acquired(t, "x"), *y = acquired(t, "y");
    CHECK(x && y);
    script_hold(0, CALL_UPDATE, true);
    CHECK(tenure_release(x, &err) == TENURE_UNSURE);
    CHECK(acquired(other, "x") == NULL && err.code == TENURE_HELD);
    script_hold(0, CALL_UPDATE, false);
    script_run(TTL / 2);
    CHECK(acquired(other, "x") != NULL);
    CHECK(tenure_check(y) == TENURE_STANDING);
    tenure_close(other);
    tenure_close(t);
}

/* P3: its seat ends when the store's clock says so, and that may run faster by the drift bound. */
static void who_is_told_to_stop_counts_on_the_safe_side_of_the_stores_clock(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *op = script_open(TTL, 0);
    tenure_claim *x = acquired(t, "x");
    CHECK(x != NULL);
    script_run(RENEW - 10);
    CHECK(tenure_evict(op, "x", tenure_claim_token(x), "op", "test", &err) == 0);
    int64_t told = tenure_now();
    script_run(TTL / 2);
    CHECK(tenure_check(x) == TENURE_DOUBTFUL);
    CHECK(tenure_claim_deadline(x) <= told + TTL - TTL / 100);
    CHECK(tenure_claim_deadline(x) >= told + TTL / 2);
    tenure_close(op);
    tenure_close(t);
}

static void a_record_that_was_taken_away_is_noticed_by_its_holder(void)
{
    enum { N = 40, GONE = 7 };
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_claim *c[N];
    char name[16];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "n%d", i);
        c[i] = acquired(t, name);
        CHECK(c[i] != NULL);
    }
    script_put("n7", NULL, 0);
    script_run(2 * TTL);
    CHECK(tenure_check(c[GONE]) == TENURE_LOST);
    for (int i = 0; i < N; i++)
        CHECK(i == GONE || tenure_check(c[i]) == TENURE_STANDING);
    tenure_close(t);
}

static void who_is_silent_for_longer_than_allowed_is_not_renewed(void)
{
    script_begin();
    tenure *t = script_open(TTL, 500);
    tenure_claim *x = acquired(t, "x");
    CHECK(x != NULL);
    for (int i = 0; i < 30; i++) {
        tenure_checkin(t);
        script_run(450);
    }
    CHECK(tenure_check(x) == TENURE_STANDING);
    script_run(TTL + 500);
    CHECK(tenure_check(x) == TENURE_LOST);
    tenure_close(t);
}

/* A call that waits cannot check in: who holds nothing keeps its place; the grant counts. */
static void who_waits_keeps_its_place_however_silent_it_is(void)
{
    script_begin();
    tenure *holder = script_open(TTL, 0), *t = script_open(TTL, 500), *after = script_open(TTL, 0);
    tenure_claim *x = acquired(holder, "x"), *c = NULL, *d = NULL;
    CHECK(x && tenure_ask(t, "x", NULL, &c, &err) == 0);
    CHECK(tenure_ask(after, "x", NULL, &d, &err) == 0);
    script_run(5 * TTL);
    CHECK(tenure_release(x, &err) == 0);
    script_run(10);
    CHECK(tenure_check(c) == TENURE_STANDING && tenure_check(d) == TENURE_WAITING);
    CHECK(left_of(c) > TTL / 2);
    script_run(TTL + 500 + 10);
    CHECK(tenure_check(c) == TENURE_LOST && tenure_check(d) == TENURE_STANDING);
    tenure_close(after);
    tenure_close(t);
    tenure_close(holder);
}

/* Holds y, waits for x behind another handle, and has looked at it under the vigil 1. */
static tenure_claim *waiter_that_looks(tenure **ret, tenure **ret_other, tenure_claim **ret_y)
{
    tenure_claim *c = NULL;
    script_begin();
    script_vigil(1);
    tenure *other = script_open(TTL, 0), *t = script_open(TTL, 0);
    *ret = t;
    *ret_other = other;
    *ret_y = acquired(t, "y");
    if (!*ret_y || !acquired(other, "x") || tenure_ask(t, "x", NULL, &c, &err) < 0)
        return NULL;
    script_run(TTL);
    return c;
}

/* Whether the last look at it could have been answered by news. */
static bool may_hear_news(const tenure_claim *c)
{
    return tenure_check(c) == TENURE_WAITING && c->decision.rule == DECIDE_LOOK &&
           c->decision.undisturbed;
}

/* P3, GRANTS in store/store.h: the state that tells of it may be from before what undid it. */
static void news_may_be_old_only_while_nothing_can_have_taken_the_grant_back(void)
{
    tenure *t, *other;
    tenure_claim *y, *c = waiter_that_looks(&t, &other, &y);
    CHECK(c && may_hear_news(c));
    script_vigil(2); /* a record was deleted, or the server is another one */
    script_run(TTL);
    CHECK(tenure_check(c) == TENURE_WAITING && !may_hear_news(c));
    script_vigil(1);
    script_run(TTL);
    CHECK(may_hear_news(c));
    script_vigil(0); /* nobody hears of deletions now */
    script_run(TTL);
    CHECK(tenure_check(c) == TENURE_WAITING && !may_hear_news(c));
    tenure_close(t);
    tenure_close(other);

    c = waiter_that_looks(&t, &other, &y); /* somebody is told to stop: x, for all that one knows */
    CHECK(c && may_hear_news(c));
    CHECK(tenure_evict(other, "y", tenure_claim_token(y), "op", "test", &err) == 0);
    CHECK(tenure_release(y, &err) == 0);
    script_run(TTL);
    CHECK(tenure_check(c) == TENURE_WAITING && !may_hear_news(c));
    tenure_close(t);
    tenure_close(other);
}

/* The first time it may have been granted, and its record been taken away since. */
static void news_are_not_of_a_ticket_that_was_asked_for_again(void)
{
    tenure *t, *other;
    tenure_claim *y, *c = waiter_that_looks(&t, &other, &y), *d = NULL;
    CHECK(c && acquired(other, "z"));
    script_lose(1, CALL_UPDATE, 1);
    tenure_terms later = TENURE_TERMS_INIT;
    later.later = true;
    CHECK(tenure_ask(t, "z", &later, &d, &err) == 0);
    script_run(TTL);
    script_run(TTL);
    CHECK(tenure_check(d) == TENURE_WAITING && d->decision.rule == DECIDE_LOOK);
    CHECK(!may_hear_news(d) && may_hear_news(c));
    tenure_close(t);
    tenure_close(other);
}

int main(void)
{
    return TAP_RUN(TAP(news_may_be_old_only_while_nothing_can_have_taken_the_grant_back),
                   TAP(news_are_not_of_a_ticket_that_was_asked_for_again),
                   TAP(a_late_look_extends_no_claim_whose_own_deadline_has_passed),
                   TAP(who_waits_keeps_its_place_however_silent_it_is),
                   TAP(a_loss_that_check_has_shown_is_final),
                   TAP(a_renewal_that_came_with_a_notice_counts_after_the_look_and_not_before),
                   TAP(the_loss_is_said_at_the_deadline_and_not_when_a_look_is_given_up),
                   TAP(a_look_has_the_time_of_one_attempt),
                   TAP(a_renewal_without_a_notice_extends_what_is_held),
                   TAP(what_a_lost_claim_had_asked_changes_nothing),
                   TAP(a_grant_that_comes_after_the_end_of_its_session_is_not_believed),
                   TAP(a_slow_renewal_extends_from_its_sending),
                   TAP(a_try_that_was_not_answered_leaves_nothing),
                   TAP(a_question_whose_answer_was_lost_is_asked_again_with_the_same_ticket),
                   TAP(a_release_that_was_not_answered_is_unsure_and_made_good_later),
                   TAP(who_is_told_to_stop_counts_on_the_safe_side_of_the_stores_clock),
                   TAP(a_record_that_was_taken_away_is_noticed_by_its_holder),
                   TAP(who_is_silent_for_longer_than_allowed_is_not_renewed));
}
