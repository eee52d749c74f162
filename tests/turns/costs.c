/* tests/turns/costs.c - what a handle asks of its store while nothing changes (P9), and what its
 * housekeeping costs and does on an engine whose answers come later. */
#include "script.h"
#include "tap.h"

#define TTL 3000
#define RENEW (TTL / 3)
#define NOTICE 1000

static tenure_error err;

static tenure_claim *asked(tenure *t, const char *name)
{
    tenure_claim *c = NULL;
    return tenure_ask(t, name, NULL, &c, &err) == 0 ? c : NULL;
}

struct seen {
    unsigned tickets;
    bool found;
};

static bool see(void *arg, const tenure_name_info *info)
{
    struct seen *s = arg;
    s->found = true;
    s->tickets += (unsigned)info->ticket_count;
    return true;
}

/* Tickets that the record of a name has, dead ones included. */
static struct seen tickets_of(tenure *t, const char *name)
{
    struct seen s = {0};
    if (tenure_look(t, name, see, &s, &err) < 0)
        s.found = false;
    return s;
}

static void a_holder_renews_once_per_interval_however_much_it_holds(void)
{
    enum { N = 100, INTERVALS = 24 };
    script_begin();
    tenure *t = script_open(TTL, 0);
    char name[16];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "n%d", i);
        CHECK(asked(t, name) != NULL);
    }
    unsigned renewals = script_asked(0, CALL_RENEW), updates = script_asked(0, CALL_UPDATE);
    script_run(INTERVALS * RENEW);
    CHECK(script_asked(0, CALL_RENEW) - renewals <= INTERVALS + 1);
    CHECK(script_asked(0, CALL_RENEW) - renewals >= INTERVALS - 1);
    CHECK(script_asked(0, CALL_UPDATE) - updates <= 16 * (INTERVALS + 1)); /* looks, by turns */
    CHECK(script_asked(0, CALL_READ) <= INTERVALS / 8 + 1);
    tenure_close(t);
}

/* The store tells who waits when a session ends; a look of its own is only for the case that it
 * does not.  It used to come with each expiry that was read: 2.4 times a second here. */
static void the_first_waiter_behind_a_short_ttl_looks_once_a_second(void)
{
    enum { SECONDS = 60 };
    script_begin();
    tenure *holder = script_open(500, 0), *waiter = script_open(10000, 0);
    CHECK(asked(holder, "x") != NULL);
    tenure_claim *c = asked(waiter, "x");
    CHECK(c != NULL && tenure_check(c) == TENURE_WAITING);
    unsigned before = script_asked(1, CALL_UPDATE);
    script_run(SECONDS * 1000);
    CHECK(tenure_check(c) == TENURE_WAITING);
    CHECK(script_asked(1, CALL_UPDATE) - before <= SECONDS + 1);
    tenure_close(waiter);
    tenure_close(holder);
}

/* ... and yet the gap that `tenure timing` prints is a bound, at each moment of the interval. */
static void the_first_waiter_is_in_within_the_printed_gap(void)
{
    for (int64_t at = 0; at < 1200; at += 19) {
        script_begin();
        tenure *holder = script_open(500, 0), *waiter = script_open(10000, 0);
        CHECK(asked(holder, "x") != NULL);
        tenure_claim *c = asked(waiter, "x");
        CHECK(c != NULL);
        script_run(3000 + at);
        int64_t vanished = tenure_now(); /* from here on it is stopped, and nothing tells */
        while (tenure_check(c) == TENURE_WAITING && tenure_now() - vanished < 10000)
            script_run_alone(1, 1);
        CHECK(tenure_check(c) == TENURE_STANDING);
        CHECK(tenure_now() - vanished <= 500 + NOTICE);
        CHECK(tenure_now() - vanished >= 500 * 2 / 3 - 1); /* P3: not before its ttl */
        tenure_close(waiter);
        tenure_close(holder);
    }
}

/* Handle 0 holds a name, and a dead session is left in "dead"; reads and updates of 0 are held. */
static tenure *walker(tenure **ret_other)
{
    script_begin();
    tenure *t = script_open(TTL, 0), *dead = script_open(TTL, 0);
    *ret_other = script_open(TTL, 0);
    if (!asked(t, "mine") || !asked(dead, "dead"))
        return NULL;
    script_end_session(1);
    script_hold(0, CALL_READ, true);
    script_hold(0, CALL_UPDATE, true);
    return t;
}

static void the_walk_tidies_up_what_the_dead_left_also_when_answers_come_later(void)
{
    tenure *other, *t = walker(&other);
    CHECK(t && tickets_of(other, "dead").tickets == 1);
    script_run_alone(0, RENEW + 10);
    CHECK(script_waiting(0, CALL_READ) == 1);
    script_serve(0, CALL_READ);
    script_run_alone(0, 10);
    CHECK(script_waiting(0, CALL_UPDATE) >= 1);
    script_serve(0, CALL_UPDATE);
    script_run_alone(0, 10);
    struct seen left = tickets_of(other, "dead");
    CHECK(left.found && left.tickets == 0);
    CHECK(tickets_of(other, "mine").tickets == 1);
    tenure_close(other);
    tenure_close(t);
}

static void a_walk_that_is_not_answered_is_given_up_and_goes_on_later(void)
{
    tenure *other, *t = walker(&other);
    CHECK(t != NULL);
    script_hold(0, CALL_UPDATE, false);
    script_run_alone(0, 20 * RENEW);
    CHECK(script_asked(0, CALL_READ) >= 2 && script_waiting(0, CALL_READ) <= 1);
    script_hold(0, CALL_READ, false);
    script_run_alone(0, 9 * RENEW);
    CHECK(tickets_of(other, "dead").tickets == 0);
    tenure_close(other);
    tenure_close(t);
}

static void the_walk_passes_through_a_store_of_any_size(void)
{
    enum { N = 200 };
    script_begin();
    tenure *dead = script_open(TTL, 0), *t = script_open(TTL, 0);
    char name[16];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "n%d", i);
        CHECK(asked(dead, name) != NULL);
    }
    CHECK(asked(t, "mine") != NULL);
    script_end_session(0);
    CHECK(tickets_of(t, "n").tickets == N);
    script_run_alone(1, 20 * RENEW); /* while it finds something it goes on with each renewal */
    CHECK(tickets_of(t, "n").tickets == 0);
    tenure_close(t);
    tenure_close(dead);
}

static void a_handle_is_closed_in_the_middle_of_a_walk(void)
{
    tenure *other, *t = walker(&other);
    CHECK(t != NULL);
    script_run_alone(0, RENEW + 10);
    CHECK(script_waiting(0, CALL_READ) == 1);
    tenure_close(t);
    CHECK(script_waiting(0, CALL_READ) == 0);
    tenure_close(other);
}

int main(void)
{
    return TAP_RUN(TAP(a_holder_renews_once_per_interval_however_much_it_holds),
                   TAP(the_first_waiter_behind_a_short_ttl_looks_once_a_second),
                   TAP(the_first_waiter_is_in_within_the_printed_gap),
                   TAP(the_walk_tidies_up_what_the_dead_left_also_when_answers_come_later),
                   TAP(a_walk_that_is_not_answered_is_given_up_and_goes_on_later),
                   TAP(the_walk_passes_through_a_store_of_any_size),
                   TAP(a_handle_is_closed_in_the_middle_of_a_walk));
}
