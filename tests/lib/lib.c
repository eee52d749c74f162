/* tests/lib/lib.c - libtenure through its public header, within one process.
 *
 *     lib memory | lib sqlite | lib postgres URL | lib etcd URL
 *
 * Every case opens its own store.  Times are generous limits, but where a case says so. */
#include <pthread.h>
#include <unistd.h>

#include "lib.h"

/* ---- one handle ------------------------------------------------------------------------------ */

static void an_acquired_lock_stands_until_it_is_released(void)
{
    fresh();
    tenure *t = open_as("a", 0);
    tenure_claim *c;
    CHECK(t && acquire(t, "x", 0, &c) == 0);
    CHECK(tenure_check(c) == TENURE_STANDING && tenure_claim_token(c) > 0);
    CHECK(tenure_claim_left(c) > 0 && tenure_claim_left(c) < TTL);
    CHECK(strchr(tenure_claim_ticket(c), '.') != NULL);
    CHECK(tenure_release(c, &err) == 0);
    CHECK(tenure_close(t) == NULL);
}

static void tokens_of_a_name_grow(void)
{
    fresh();
    tenure *keep = open_as("keep", 0), *t = open_as("a", 0); /* memory: ends with its last handle */
    tenure_token last = 0;
    for (int i = 0; i < 100; i++) {
        tenure_claim *c;
        CHECK(acquire(t, "x", 0, &c) == 0 && tenure_claim_token(c) > last);
        last = tenure_claim_token(c);
        CHECK(tenure_release(c, &err) == 0);
    }
    t = tenure_close(t);
    t = open_as("a", 0);
    tenure_claim *c;
    CHECK(acquire(t, "x", 0, &c) == 0 && tenure_claim_token(c) > last);
    tenure_close(t);
    tenure_close(keep);
}

static void bad_arguments_are_refused_with_value_and_rule(void)
{
    fresh();
    tenure *t = open_as("a", 0);
    tenure_claim *c;
    tenure_terms terms = TENURE_TERMS_INIT;
    CHECK(tenure_ask(t, "a//b", &terms, &c, &err) == TENURE_INVALID);
    CHECK(strstr(err.text, "a//b") && strstr(err.text, "segment"));
    terms.permits = 0;
    CHECK(tenure_ask(t, "a", &terms, &c, &err) == TENURE_INVALID && strstr(err.text, "permits"));
    tenure_options opt = TENURE_OPTIONS_INIT;
    opt.ttl_ms = 499;
    tenure *u;
    CHECK(tenure_open(url, &opt, &u, &err) == TENURE_INVALID && strstr(err.text, "499ms"));
    CHECK(tenure_open("sqllite:x", NULL, &u, &err) == TENURE_INVALID);
    CHECK(strstr(err.text, "sqllite") != NULL);
    CHECK(tenure_open("", NULL, &u, &err) == TENURE_INVALID);
    tenure_close(t);
}

static void one_session_holds_many_names(void)
{
    fresh();
    const int64_t ttl_ms = 2400; /* a sanitizer on a busy machine takes its time for so many */
    tenure *t = open_for("a", ttl_ms, 0);
    enum { N = 500 };
    static tenure_claim *c[N];
    char name[16];
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, "n%d", i);
        CHECK(acquire(t, name, 0, &c[i]) == 0);
    }
    int64_t end = now() + 2 * ttl_ms;
    while (now() < end) {
        struct pollfd p = {.fd = tenure_fd(t), .events = POLLIN};
        poll(&p, 1, 50);
        CHECK(tenure_process(t) == 0);
    }
    for (int i = 0; i < N; i++) { /* which may take longer than a renewal can wait */
        CHECK(tenure_process(t) == 0);
        CHECK(tenure_check(c[i]) == TENURE_STANDING && tenure_release(c[i], &err) == 0);
    }
    tenure_close(t);
}

/* ---- two handles ----------------------------------------------------------------------------- */

static void a_try_on_a_held_name_is_refused_and_names_the_holder(void)
{
    fresh();
    tenure *a = open_as("alice", TENURE_PUMP), *b = open_as("bob", 0);
    tenure_claim *c, *d;
    CHECK(acquire(a, "x", 0, &c) == 0);
    CHECK(acquire(b, "x", 0, &d) == TENURE_HELD && strstr(err.text, "alice"));
    CHECK(acquire(b, "x", 100, &d) == TENURE_TIMED_OUT);
    tenure_close(a);
    CHECK(acquire(b, "x", 0, &d) == 0);
    tenure_close(b);
}

static void a_waiter_is_granted_when_the_holder_releases(void)
{
    fresh();
    tenure *a = open_as("a", TENURE_PUMP), *b = open_as("b", 0);
    tenure_claim *c, *d;
    tenure_event e;
    tenure_terms terms = TENURE_TERMS_INIT;
    CHECK(acquire(a, "x", 0, &c) == 0);
    tenure_token first = tenure_claim_token(c);
    CHECK(tenure_ask(b, "x", &terms, &d, &err) == 0 && tenure_check(d) == TENURE_WAITING);
    CHECK(tenure_release(c, &err) == 0);
    CHECK(heard(b, TENURE_EVENT_GRANTED, &e) && e.claim == d);
    CHECK(tenure_check(d) == TENURE_STANDING && tenure_claim_token(d) > first);
    tenure_close(b);
    tenure_close(a);
}

/* P1, P2: each job has a token of its own, and who leaves is out of the way. */
static void who_leaves_and_asks_again_takes_turns_with_who_waits(void)
{
    fresh();
    tenure *a = open_as("a", TENURE_PUMP), *b = open_as("b", TENURE_PUMP);
    tenure_claim *c, *w;
    tenure_token last = 0;
    CHECK(a && b);
    for (int i = 0; i < 30; i++) {
        CHECK(acquire(a, "x", 20000, &c) == 0 && tenure_claim_token(c) > last);
        last = tenure_claim_token(c);
        CHECK(tenure_leave(c, &err) == 0);
    }
    CHECK(acquire(b, "x", 20000, &w) == 0 && tenure_claim_token(w) > last);
    last = tenure_claim_token(w);
    CHECK(tenure_ask(a, "x", NULL, &c, &err) == 0 && tenure_check(c) == TENURE_WAITING);
    CHECK(tenure_leave(w, &err) == 0);
    CHECK(tenure_ask(b, "x", NULL, &w, &err) == 0);
    CHECK(tenure_wait(c, 20000, &err) == 0 && tenure_claim_token(c) > last);
    CHECK(tenure_check(w) == TENURE_WAITING);
    tenure_close(a);
    CHECK(tenure_wait(w, 20000, &err) == 0);
    tenure_close(b);
}

static tenure_claim *ask_later(tenure *t, int i)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c = NULL;
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    terms.later = true;
    return tenure_ask(t, name, &terms, &c, &err) == 0 ? c : NULL;
}

static void an_event_loop_asks_and_leaves_without_waiting(void)
{
    enum { NAMES = 20, ROUNDS = 10 };
    fresh();
    tenure *t = open_as("a", 0), *other = open_as("b", 0);
    tenure_claim *c;
    tenure_event e;
    tenure_token last[NAMES] = {0};
    CHECK(t && other);
    for (int i = 0; i < NAMES; i++)
        CHECK(ask_later(t, i) != NULL);
    for (int granted = 0; granted < NAMES * ROUNDS; granted++) {
        CHECK(heard(t, TENURE_EVENT_GRANTED, &e));
        int i = atoi(tenure_claim_name(e.claim) + 1);
        CHECK(tenure_claim_token(e.claim) > last[i]); /* P1 */
        last[i] = tenure_claim_token(e.claim);
        CHECK(tenure_leave(e.claim, &err) == 0 && ask_later(t, i) != NULL);
    }
    tenure_close(t);
    for (int i = 0; i < NAMES; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        CHECK(acquire(other, name, 20000, &c) == 0 && tenure_claim_token(c) > last[i]);
    }
    tenure_close(other);
}

static void a_waiter_is_granted_when_a_silent_holder_expires(void)
{
    fresh();
    tenure *a = open_as("a", 0), *b = open_as("b", 0);
    tenure_claim *c, *d;
    CHECK(acquire(a, "x", 0, &c) == 0);
    int64_t deadline = tenure_claim_deadline(c);
    CHECK(acquire(b, "x", 20000, &d) == 0);
    CHECK(now() >= deadline); /* P3 */
    CHECK(tenure_check(c) == TENURE_LOST);
    CHECK(tenure_release(c, &err) == TENURE_LOST);
    CHECK(tenure_check(d) == TENURE_STANDING);
    tenure_close(b);
    tenure_close(a);
}

/* P3: as seen by check(), the loss comes before the ttl is over, without any call in between. */
static void who_does_not_renew_is_told_by_check_before_the_store_gives_it_on(void)
{
    fresh();
    tenure *a = open_as("a", 0);
    tenure_claim *c;
    CHECK(acquire(a, "x", 0, &c) == 0);
    int64_t deadline = tenure_claim_deadline(c);
    CHECK(deadline < now() + TTL);
    bool doubtful = false, late = false;
    int s;
    do {
        int64_t before = now();
        s = tenure_check(c);
        doubtful |= s == TENURE_DOUBTFUL;
        late |= s > 0 && before >= deadline;
    } while (s > 0);
    CHECK(s == TENURE_LOST && doubtful && !late);
    CHECK(tenure_process(a) == 0 && tenure_check(c) == TENURE_LOST); /* P4 */
    tenure_event e;
    CHECK(heard(a, TENURE_EVENT_LOST, &e) && e.code == TENURE_LOST);
    CHECK(tenure_release(c, &err) == TENURE_LOST);
    CHECK(acquire(a, "x", 2000, &c) == 0); /* a new session and a new token */
    tenure_close(a);
}

static void a_pump_keeps_it_while_the_program_does_nothing(void)
{
    fresh();
    tenure *a = open_as("a", TENURE_PUMP), *b = open_as("b", 0);
    tenure_claim *c, *d;
    CHECK(acquire(a, "x", 0, &c) == 0);
    CHECK(acquire(b, "x", 3 * TTL, &d) == TENURE_TIMED_OUT);
    CHECK(tenure_check(c) == TENURE_STANDING);
    tenure_close(b);
    tenure_close(a);
}

static void a_worker_that_does_not_check_in_loses_it_in_spite_of_the_pump(void)
{
    fresh();
    tenure_options opt = TENURE_OPTIONS_INIT;
    opt.ttl_ms = TTL;
    opt.flags = TENURE_PUMP;
    opt.max_silence_ms = 200;
    tenure *a, *b = open_as("b", 0);
    tenure_claim *c, *d;
    CHECK(tenure_open(url, &opt, &a, &err) == 0);
    CHECK(acquire(a, "x", 0, &c) == 0);
    for (int64_t end = now() + 2 * TTL; now() < end; usleep(10000))
        tenure_checkin(a);
    CHECK(tenure_check(c) == TENURE_STANDING);
    CHECK(acquire(b, "x", 20000, &d) == 0);
    CHECK(tenure_check(c) == TENURE_LOST);
    tenure_close(a);
    tenure_close(b);
}

static void a_withheld_session_ends_in_the_ordinary_course(void)
{
    fresh();
    tenure *a = open_as("a", 0);
    tenure_claim *c;
    tenure_event e;
    CHECK(acquire(a, "x", 0, &c) == 0);
    tenure_withhold(a, true);
    CHECK(heard(a, TENURE_EVENT_DOUBTFUL, &e));
    CHECK(heard(a, TENURE_EVENT_LOST, &e));
    tenure_close(a);
}

static void waiters_are_served_in_order(void)
{
    fresh();
    enum { N = 8 };
    tenure *t[N];
    tenure_claim *c[N];
    tenure_terms terms = TENURE_TERMS_INIT;
    for (int i = 0; i < N; i++) {
        t[i] = open_as("w", TENURE_PUMP);
        CHECK(tenure_ask(t[i], "x", &terms, &c[i], &err) == 0);
    }
    for (int i = 0; i < N; i++) {
        CHECK(tenure_wait(c[i], 20000, &err) == 0);
        for (int k = i + 1; k < N; k++)
            CHECK(tenure_check(c[k]) == TENURE_WAITING);
        CHECK(tenure_release(c[i], &err) == 0);
    }
    for (int i = 0; i < N; i++)
        tenure_close(t[i]);
}

static void shared_holders_hold_together_and_keep_writers_out(void)
{
    fresh();
    tenure *a = open_as("a", TENURE_PUMP), *b = open_as("b", TENURE_PUMP);
    tenure_claim *c, *d, *e;
    tenure_terms terms = TENURE_TERMS_INIT;
    terms.shared = true;
    CHECK(tenure_acquire(a, "x", &terms, &c, &err) == 0);
    CHECK(tenure_acquire(b, "x", &terms, &d, &err) == 0);
    CHECK(tenure_claim_token(c) != tenure_claim_token(d));
    CHECK(acquire(a, "x", 0, &e) == TENURE_HELD);
    tenure_close(b);
    tenure_close(a);
}

/* ---- operators ------------------------------------------------------------------------------- */

static void an_evicted_holder_is_told_and_the_next_comes_in_when_it_has_stopped(void)
{
    fresh();
    tenure *a = open_as("a", TENURE_PUMP), *b = open_as("b", TENURE_PUMP), *op = open_as("op", 0);
    tenure_claim *c, *d;
    tenure_event e;
    tenure_terms terms = TENURE_TERMS_INIT;
    CHECK(acquire(a, "x", 0, &c) == 0);
    tenure_token token = tenure_claim_token(c);
    CHECK(tenure_ask(b, "x", &terms, &d, &err) == 0);
    CHECK(tenure_evict(op, "x", token + 1000, "op", "wrong", &err) == TENURE_NOT_OWNED);
    CHECK(tenure_evict(op, "x", token, "op", "hung", &err) == 0);
    CHECK(heard(a, TENURE_EVENT_ASKED_TO_STOP, &e) && strstr(e.reason, "hung"));
    CHECK(tenure_check(c) == TENURE_DOUBTFUL && tenure_check(d) == TENURE_WAITING);
    CHECK(tenure_release(c, &err) == 0);
    CHECK(tenure_wait(d, 20000, &err) == 0 && tenure_claim_token(d) > token);
    tenure_close(b);
    tenure_close(a);
    tenure_close(op);
}

static void an_evicted_holder_that_goes_on_is_lost_in_spite_of_its_renewals(void)
{
    fresh();
    tenure *a = open_as("a", TENURE_PUMP), *b = open_as("b", TENURE_PUMP);
    tenure_claim *c, *d;
    tenure_event e;
    CHECK(acquire(a, "x", 0, &c) == 0);
    CHECK(tenure_evict(b, "x", tenure_claim_token(c), "op", "hung", &err) == 0);
    CHECK(acquire(b, "x", 20000, &d) == 0);
    CHECK(tenure_check(c) < 0); /* P3: told before, or at, the moment at which b came in */
    CHECK(heard(a, TENURE_EVENT_LOST, &e) && e.code == tenure_check(c));
    CHECK(tenure_class(tenure_release(c, &err)) == TENURE_CLASS_LOST);
    tenure_close(b);
    tenure_close(a);
}

static void *serve(void *arg)
{
    tenure_claim *c = arg;
    return (void *)(intptr_t)(tenure_wait(c, 20000, NULL) == 0 && tenure_serving(c, NULL) == 0);
}

static void *hand_over(void *arg)
{
    tenure_claim *c = arg;
    while (tenure_check(c) == TENURE_STANDING)
        usleep(1000);
    return (void *)(intptr_t)(tenure_release(c, NULL) == 0);
}

static void a_transfer_reaches_the_named_candidate_and_waits_until_it_serves(void)
{
    fresh();
    tenure *t[3] = {open_as("one", TENURE_PUMP), open_as("two", TENURE_PUMP),
                    open_as("three", TENURE_PUMP)};
    tenure *op = open_as("op", 0);
    tenure_claim *c[3];
    tenure_terms terms = TENURE_TERMS_INIT;
    terms.kind = TENURE_ELECTION;
    for (int i = 0; i < 3; i++)
        CHECK(tenure_ask(t[i], "role", &terms, &c[i], &err) == 0);
    CHECK(tenure_wait(c[0], 20000, &err) == 0 && tenure_serving(c[0], &err) == 0);
    tenure_token epoch = tenure_claim_token(c[0]), next = 0;
    pthread_t leader, candidate;
    pthread_create(&leader, NULL, hand_over, c[0]);
    pthread_create(&candidate, NULL, serve, c[2]);
    CHECK(tenure_transfer(op, "role", "nobody", "op", 1000, &next, &err) == TENURE_NOT_OWNED);
    CHECK(tenure_transfer(op, "role", "three", "op", 20000, &next, &err) == 0);
    void *ok[2];
    pthread_join(leader, &ok[0]);
    pthread_join(candidate, &ok[1]);
    CHECK(ok[0] && ok[1]);
    CHECK(next > epoch && next == tenure_claim_token(c[2]));
    CHECK(tenure_check(c[1]) == TENURE_WAITING);
    for (int i = 0; i < 3; i++)
        tenure_close(t[i]);
    tenure_close(op);
}

static void *serve_and_leave(void *arg)
{
    tenure_claim *c = arg;
    return (void *)(intptr_t)(serve(c) && tenure_release(c, NULL) == 0);
}

/* P6: although it has ended before the operator looked. */
static void a_transfer_to_one_that_serves_for_a_moment_is_done(void)
{
    fresh();
    tenure *a = open_as("one", TENURE_PUMP), *b = open_as("two", TENURE_PUMP);
    tenure *op = open_as("op", 0);
    tenure_claim *c, *d;
    tenure_terms terms = TENURE_TERMS_INIT;
    terms.kind = TENURE_ELECTION;
    CHECK(tenure_acquire(a, "role", &terms, &c, &err) == 0);
    CHECK(tenure_ask(b, "role", &terms, &d, &err) == 0);
    tenure_token epoch = tenure_claim_token(c), next = 0;
    pthread_t leader, candidate;
    pthread_create(&leader, NULL, hand_over, c);
    pthread_create(&candidate, NULL, serve_and_leave, d);
    CHECK(tenure_transfer(op, "role", "two", "op", 3000, &next, &err) == 0 && next > epoch);
    void *ok;
    pthread_join(leader, NULL);
    pthread_join(candidate, &ok);
    CHECK(ok);
    tenure_close(a);
    tenure_close(b);
    tenure_close(op);
}

static void a_transfer_to_one_that_does_not_serve_is_rolled_back(void)
{
    fresh();
    tenure *a = open_as("one", TENURE_PUMP), *b = open_as("two", TENURE_PUMP);
    tenure *op = open_as("op", 0);
    tenure_claim *c, *d, *again;
    tenure_event e;
    tenure_terms terms = TENURE_TERMS_INIT;
    terms.kind = TENURE_ELECTION;
    CHECK(tenure_acquire(a, "role", &terms, &c, &err) == 0);
    CHECK(tenure_ask(b, "role", &terms, &d, &err) == 0);
    pthread_t leader;
    pthread_create(&leader, NULL, hand_over, c);
    tenure_token next = 0;
    int64_t wait_ms = server ? 4000 : 300;
    CHECK(tenure_transfer(op, "role", "two", "op", wait_ms, &next, &err) == TENURE_TIMED_OUT);
    CHECK(strstr(err.text, "rolled back"));
    pthread_join(leader, NULL);
    CHECK(tenure_ask(a, "role", &terms, &again, &err) == 0);
    CHECK(heard(b, TENURE_EVENT_ASKED_TO_STOP, &e));
    CHECK(tenure_release(d, &err) == 0);
    CHECK(tenure_wait(again, 20000, &err) == 0);
    tenure_close(a);
    tenure_close(b);
    tenure_close(op);
}

/* ---- leases ---------------------------------------------------------------------------------- */

static void a_lease_outlives_the_handle_and_is_renewed_by_its_token(void)
{
    fresh();
    tenure *keep = open_as("keep", 0), *t = open_as("a", 0);
    tenure_token token, other;
    CHECK(tenure_lease_take(t, "l", "cron@h1", 60000, &token, &err) == 0);
    tenure_close(t);
    t = open_as("b", 0);
    CHECK(tenure_lease_take(t, "l", NULL, 60000, &other, &err) == TENURE_HELD);
    CHECK(strstr(err.text, "cron@h1"));
    CHECK(tenure_lease_renew(t, "l", token, 60000, &err) == 0);
    CHECK(tenure_lease_renew(t, "l", token + 1, 60000, &err) == TENURE_NOT_OWNED);
    CHECK(tenure_lease_drop(t, "l", token, &err) == 0);
    CHECK(tenure_lease_drop(t, "l", token, &err) == TENURE_NOT_OWNED);
    CHECK(tenure_lease_take(t, "l", NULL, 60000, &other, &err) == 0 && other > token);
    tenure_close(t);
    tenure_close(keep);
}

static void an_expired_lease_is_not_renewed(void)
{
    fresh();
    tenure *t = open_as("a", 0);
    tenure_token token, other;
    CHECK(tenure_lease_take(t, "l", NULL, 500, &token, &err) == 0);
    int code = TENURE_HELD;
    int64_t end = now() + 20000;
    while (now() < end &&
           (code = tenure_lease_take(t, "l", NULL, 500, &other, &err)) == TENURE_HELD)
        usleep(5000);
    CHECK(code == 0 && other > token);
    CHECK(tenure_lease_renew(t, "l", token, 500, &err) == TENURE_NOT_OWNED);
    tenure_close(t);
}

/* ---- looking --------------------------------------------------------------------------------- */

struct seen {
    int names, tickets, past;
    char holder[64], cause[32];
};

static bool see(void *arg, const tenure_name_info *info)
{
    struct seen *s = arg;
    s->names++;
    s->tickets += (int)info->ticket_count;
    s->past += (int)info->past_count;
    if (info->ticket_count > 0)
        snprintf(s->holder, sizeof s->holder, "%s", info->tickets[0].as);
    if (info->past_count > 0)
        snprintf(s->cause, sizeof s->cause, "%s", info->past[0].cause);
    return true;
}

static void who_holds_and_who_waits_can_be_seen(void)
{
    fresh();
    tenure *a = open_as("alice", TENURE_PUMP), *b = open_as("bob", TENURE_PUMP);
    tenure_claim *c, *d;
    tenure_terms terms = TENURE_TERMS_INIT;
    CHECK(acquire(a, "p/x", 0, &c) == 0 && acquire(a, "q", 0, &d) == 0);
    CHECK(tenure_release(d, &err) == 0);
    CHECK(tenure_ask(b, "p/x", &terms, &d, &err) == 0);
    struct seen s = {0};
    CHECK(tenure_look(b, "p/", see, &s, &err) == 0);
    CHECK(s.names == 1 && s.tickets == 2 && strcmp(s.holder, "alice") == 0);
    CHECK(tenure_look(b, "", see, &s, &err) == 0);
    CHECK(strcmp(s.cause, "released") == 0);
    tenure_close(a);
    tenure_close(b);
}

static void a_watcher_is_told_of_a_change(void)
{
    fresh();
    tenure *a = open_as("a", 0), *b = open_as("b", 0);
    tenure_claim *c;
    CHECK(tenure_watch(b, 0, &err) == 1); /* the first look is due anyway */
    while (tenure_watch(b, 50, &err) == 1)
        ;
    CHECK(acquire(a, "x", 0, &c) == 0);
    CHECK(tenure_watch(b, 20000, &err) == 1);
    tenure_close(a);
    tenure_close(b);
}

int main(int argc, char **argv)
{
    is_sqlite = argc > 1 && strcmp(argv[1], "sqlite") == 0;
    server = argc > 2 ? argv[2] : NULL;
    return TAP_RUN(TAP(an_acquired_lock_stands_until_it_is_released), TAP(tokens_of_a_name_grow),
                   TAP(bad_arguments_are_refused_with_value_and_rule),
                   TAP(one_session_holds_many_names),
                   TAP(a_try_on_a_held_name_is_refused_and_names_the_holder),
                   TAP(a_waiter_is_granted_when_the_holder_releases),
                   TAP(who_leaves_and_asks_again_takes_turns_with_who_waits),
                   TAP(an_event_loop_asks_and_leaves_without_waiting),
                   TAP(a_waiter_is_granted_when_a_silent_holder_expires),
                   TAP(who_does_not_renew_is_told_by_check_before_the_store_gives_it_on),
                   TAP(a_pump_keeps_it_while_the_program_does_nothing),
                   TAP(a_worker_that_does_not_check_in_loses_it_in_spite_of_the_pump),
                   TAP(a_withheld_session_ends_in_the_ordinary_course),
                   TAP(waiters_are_served_in_order),
                   TAP(shared_holders_hold_together_and_keep_writers_out),
                   TAP(an_evicted_holder_is_told_and_the_next_comes_in_when_it_has_stopped),
                   TAP(an_evicted_holder_that_goes_on_is_lost_in_spite_of_its_renewals),
                   TAP(a_transfer_reaches_the_named_candidate_and_waits_until_it_serves),
                   TAP(a_transfer_to_one_that_serves_for_a_moment_is_done),
                   TAP(a_transfer_to_one_that_does_not_serve_is_rolled_back),
                   TAP(a_lease_outlives_the_handle_and_is_renewed_by_its_token),
                   TAP(an_expired_lease_is_not_renewed), TAP(who_holds_and_who_waits_can_be_seen),
                   TAP(a_watcher_is_told_of_a_change));
}
