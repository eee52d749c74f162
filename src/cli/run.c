#include "cli/run.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "cli/describe.h"
#include "cli/exit.h"
#include "cli/guard.h"
#include "cli/client.h"
#include "cli/parse.h"
#include "cli/say.h"
#include "cli/timing.h"
#include "os/clock.h"
#include "os/pages.h"
#include "os/point.h"
#include "supervisor/supervisor.h"
#include "wire/duration.h"

#define OPEN_USUAL_MS 5000 /* for a store that does not answer: tenure_options.open_ms */
#define OPEN_LEAST_MS 1000 /* to reach a busy server takes a while, too */
#define RETRY_MS 1000 /* between two questions to a store that cannot be reached */

/* ---- trouble with the store ------------------------------------------------------------------ */

/* Says once that the store cannot be used, and once that it can be again, after how long. */
static void say_trouble(struct run *r, const tenure_error *err)
{
    char length[DURATION_BYTES];
    bool troubled = r->troubled.ms != INSTANT_NEVER.ms;
    if (err && !troubled) {
        say_change("%s: %s; going on trying", r->name, err->text);
        r->troubled = clock_now();
    } else if (!err && troubled) {
        say_change("%s: the store answers again, after %s", r->name,
                   duration_format(instant_diff(r->troubled, clock_now()), length));
        r->troubled = INSTANT_NEVER;
    }
}

/* Whether asking again can help.  Who stands for election outlives outages; once it has been in
 * line, also a store that is full, or cannot be read, for a while. */
static bool is_patient(const struct run *r, int code)
{
    tenure_error_class class = tenure_class(code);
    if (r->kind != TENURE_ELECTION || r->terms.wait_ms == 0)
        return false;
    return class == TENURE_CLASS_UNREACHABLE || class == TENURE_CLASS_UNSURE ||
           code == TENURE_NO_SPACE || (r->stood_before && class == TENURE_CLASS_DENIED);
}

/* ---- opening -------------------------------------------------------------------------------- */

static int check_settings(struct run *r)
{
    tenure_error err;
    const struct invocation *inv = r->inv;
    if (inv->argv && option_given(inv, OPT_JSON))
        return usage_fail(inv, "--json: with a command, stdout belongs to the command");
    if (!inv->argv && option_given(inv, OPT_PROBE))
        return usage_fail(inv, "--probe: without a command there is nothing to probe");
    if (option_given(inv, OPT_GUARD) &&
        guard_target_check(option_text(inv, OPT_GUARD, NULL), &err) < 0)
        return usage_fail(inv, "--guard %s", err.text);
    return timing_settings(inv, &r->timing);
}

/* Whoever runs a command has its guardian ready before the store is open: from the grant on others
 * wait, and the less memory there is the less a fork costs. */
static int get_ready(struct run *r, tenure_error *err)
{
    return r->inv->argv && !r->ready ? supervisor_stand_by(&r->ready, err) : 0;
}

static int get_ready_early(struct run *r)
{
    tenure_error err;
    int code = get_ready(r, &err);
    if (code >= 0)
        return EXIT_FINE;
    say_error("cannot start %s: %s", r->inv->argv[0], err.text);
    return exit_of(code);
}

static bool waits_not(const struct invocation *inv)
{
    return option_given(inv, OPT_NONBLOCK) || option_number(inv, OPT_WAIT, 1) == 0;
}

/* When the present wait has been long enough; the first one begins with the opening. */
static struct instant limit_of_wait(const struct run *r)
{
    struct instant since = r->stood_before ? clock_now() : r->began;
    return instant_add(since, SPAN(option_number(r->inv, OPT_WAIT, INT64_MAX)));
}

/* A wait that is short is over, too, when the store does not answer; who does not want to wait for
 * others waits for the store all the same. */
static int64_t open_ms(const struct run *r, struct instant limit)
{
    int64_t left = instant_diff(clock_now(), limit).ms;
    if (waits_not(r->inv) || left >= OPEN_USUAL_MS)
        return 0;
    return left < OPEN_LEAST_MS ? OPEN_LEAST_MS : left;
}

/* Who stands for election waits for a store that is not there yet, as it would later.  Signals
 * have not been taken yet: one that ends us finds nothing that is held. */
static int open_store(struct run *r, tenure_options *opt)
{
    tenure_error err;
    const char *where = option_text(r->inv, OPT_STORE, NULL);
    struct instant limit = limit_of_wait(r);
    pages_expect();
    for (;;) {
        opt->open_ms = open_ms(r, limit);
        int code = tenure_open(where, opt, &r->t, &err);
        bool may_come = tenure_class(code) == TENURE_CLASS_UNREACHABLE && is_patient(r, code);
        if (code >= 0) {
            client_note_kind(r->t);
            return EXIT_FINE;
        }
        if (!may_come || instant_reached(clock_now(), limit))
            return client_fail(&err);
        say_trouble(r, &err);
        struct instant again = instant_min(limit, instant_add(clock_now(), SPAN(RETRY_MS)));
        (void)poll(NULL, 0, run_poll_ms(again)); /* for time alone */
    }
}

static int take_signals(struct run *r)
{
    int rc = signals_open(&r->signals);
    if (rc < 0)
        say_error("cannot take signals: %s", strerror(-rc));
    return rc < 0 ? EXIT_INTERNAL : EXIT_FINE;
}

int run_open(struct run *r, const struct invocation *inv, tenure_kind kind)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    *r = (struct run){.inv = inv,
                      .name = inv->operand[0],
                      .kind = kind,
                      .began = clock_now(),
                      .troubled = INSTANT_NEVER};
    r->terms = (tenure_terms)TENURE_TERMS_INIT;
    r->terms.kind = kind;
    r->terms.shared = option_given(inv, OPT_SHARED);
    r->terms.permits = (unsigned)option_number(inv, OPT_PERMITS, 1);
    r->terms.priority = (int)option_number(inv, OPT_PRIORITY, 0);
    r->terms.value = option_text(inv, OPT_VALUE, NULL);
    r->terms.wait_ms = waits_not(inv) ? 0 : TENURE_FOREVER;
    int code = check_settings(r);
    if (code != EXIT_FINE)
        return code;
    opt.ttl_ms = r->timing.ttl.ms;
    opt.as = option_text(inv, OPT_AS, NULL);
    opt.flags = TENURE_LAZY;
    signals_look(&r->signals.origin);
    code = get_ready_early(r);
    if (code == EXIT_FINE)
        code = open_store(r, &opt);
    if (code == EXIT_FINE)
        code = take_signals(r);
    if (code != EXIT_FINE) {
        r->ready = supervisor_close(r->ready);
        r->t = tenure_close(r->t);
    }
    return code;
}

int run_close(struct run *r, int code)
{
    r->ready = supervisor_close(r->ready);
    r->t = tenure_close(r->t);
    signals_close(&r->signals);
    return code;
}

/* ---- standing in line ----------------------------------------------------------------------- */

static bool say_holder(void *arg, const tenure_name_info *info)
{
    bool *said = arg;
    char since[DURATION_BYTES];
    const tenure_ticket_info *h = info->tickets;
    if (name_holders(info) > 0) {
        say_change("waiting for %s, held by %s for %s (token %" PRIu64 ")", info->name, h->as,
                   duration_format(SPAN(h->since_ms), since), h->token);
        *said = true;
    }
    return false;
}

static void say_waiting(struct run *r)
{
    bool said = false;
    tenure_error err;
    if (look_at(r->t, r->name, say_holder, &said, &err) < 0 || !said)
        say_change("waiting for %s", r->name);
}

int run_signal(struct run *r)
{
    struct signals_event e;
    while (signals_next(&r->signals, &e)) {
        switch (e.signo) {
        case SIGCONT:
        case SIGWINCH:
            break;
        case SIGTSTP:
        case SIGTTIN:
        case SIGTTOU:
            signals_suspend(e.signo);
            break;
        default: /* whatever would end a program that does not care */
            return e.signo;
        }
    }
    return 0;
}

int run_poll_ms(struct instant until)
{
    if (until.ms == INSTANT_NEVER.ms)
        return -1;
    int64_t left = instant_diff(clock_now(), until).ms;
    return left <= 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

/* Until a signal, work for the library, or `until`. */
static void wait_for_news(struct run *r, struct instant until)
{
    struct pollfd p[] = {{.fd = r->signals.fd, .events = POLLIN},
                         {.fd = tenure_fd(r->t), .events = POLLIN}};
    int n = poll(p, 2, run_poll_ms(until));
    assert(n >= 0 || errno == EINTR || errno == ENOMEM);
}

bool run_rest(struct run *r, struct instant until, int *ret_code)
{
    while (!instant_reached(clock_now(), until)) {
        int signo = run_signal(r);
        if (signo) {
            *ret_code = EXIT_SIGNAL + signo;
            return false;
        }
        wait_for_news(r, until);
        tenure_process(r->t);
    }
    return true;
}

static void give_up_claim(struct run *r)
{
    tenure_error err;
    if (tenure_release(r->claim, &err) < 0)
        say_detail("%s", err.text);
    r->claim = NULL;
}

/* Not acquired, and why; the exit code. */
static int refused(struct run *r, const tenure_error *err)
{
    int code = exit_of(err->code);
    if (code == EXIT_REFUSED)
        code = (int)option_number(r->inv, OPT_CONFLICT_CODE, EXIT_REFUSED);
    if (err->code == TENURE_HELD || err->code == TENURE_TIMED_OUT)
        say_change("%s", err->text);
    else
        say_error("%s", err->text);
    return code;
}

/* Gets a place in line: true and r->claim, or false and the exit code. */
static bool ask(struct run *r, struct instant limit, int *ret_code)
{
    tenure_error err;
    for (;;) {
        int code = tenure_ask(r->t, r->name, &r->terms, &r->claim, &err);
        if (code >= 0) {
            r->stood_before = true;
            return true;
        }
        r->claim = NULL;
        if (!is_patient(r, code) || instant_reached(clock_now(), limit)) {
            *ret_code = refused(r, &err);
            return false;
        }
        say_trouble(r, &err);
        struct instant again = instant_add(clock_now(), SPAN(RETRY_MS));
        if (!run_rest(r, instant_min(limit, again), ret_code))
            return false;
    }
}

/* Waits for our turn: 0, TENURE_LOST when it came and went, or another code with *err filled; a
 * signal is *ret_signo. */
static int wait_turn(struct run *r, struct instant limit, int *ret_signo, tenure_error *err)
{
    bool said = false;
    for (;;) {
        tenure_error trouble;
        int code = tenure_wait(r->claim, 0, err);
        if (code != TENURE_TIMED_OUT)
            return code;
        *ret_signo = run_signal(r);
        if (*ret_signo != 0 || instant_reached(clock_now(), limit))
            return code;
        if (!said) {
            say_waiting(r);
            (void)get_ready(r, &trouble); /* what is wrong is told when the term begins */
        }
        said = true;
        say_trouble(r, tenure_trouble(r->t, &trouble) < 0 ? &trouble : NULL);
        wait_for_news(r, limit);
        tenure_process(r->t);
    }
}

static void say_grant(const struct run *r)
{
    tenure_token token = tenure_claim_token(r->claim);
    if (r->kind == TENURE_ELECTION)
        say_change("leading %s, epoch %" PRIu64, r->name, token);
    else
        say_detail("acquired %s, token %" PRIu64, r->name, token);
}

bool run_stand(struct run *r, int *ret_code)
{
    struct instant limit = limit_of_wait(r);
    tenure_error err;
    r->cut = r->lost = false;
    r->ended_by = 0;
    while (ask(r, limit, ret_code)) {
        int signo = 0;
        int code = wait_turn(r, limit, &signo, &err);
        if (code == 0) {
            say_trouble(r, NULL);
            say_grant(r);
            return true;
        }
        give_up_claim(r);
        if (signo != 0) {
            *ret_code = EXIT_SIGNAL + signo;
            return false;
        }
        if (tenure_class(code) != TENURE_CLASS_LOST) {
            *ret_code = refused(r, &err);
            return false;
        }
    }
    return false;
}

/* ---- a term --------------------------------------------------------------------------------- */

bool run_turn(struct run *r)
{
    tenure_event e;
    tenure_process(r->t);
    while (tenure_next_event(r->t, &e) > 0) {
        if (e.claim != r->claim)
            continue;
        switch (e.kind) {
        case TENURE_EVENT_GRANTED:
        case TENURE_EVENT_REFUSED: /* whoever stands in line sees it */
            break;
        case TENURE_EVENT_DOUBTFUL:
            say_change("%s is in doubt: %s", r->name, e.reason);
            break;
        case TENURE_EVENT_SAFE:
            say_change("%s is safe again", r->name);
            break;
        case TENURE_EVENT_ASKED_TO_STOP:
            say_change("%s is to end: %s", r->name, e.reason);
            r->cut = true;
            break;
        case TENURE_EVENT_LOST:
            say_error("%s: the tenure with token %" PRIu64 " is lost: %s", r->name,
                      tenure_claim_token(e.claim), e.reason);
            r->cut = r->lost = true;
            break;
        }
    }
    return r->lost || tenure_check(r->claim) < 0;
}

void run_report(struct run *r, bool *must)
{
    tenure_error err;
    if (!*must || r->cut)
        return;
    int code = tenure_serving(r->claim, &err);
    *must = code < 0 && tenure_class(code) != TENURE_CLASS_LOST;
    if (code < 0)
        say_detail("%s", err.text);
}

/* The exit code when the guard did not take the announcement: the work must not start. */
static int announce(struct run *r)
{
    tenure_error err;
    const char *target = option_text(r->inv, OPT_GUARD, NULL);
    if (!target)
        return EXIT_FINE;
    int code = guard_announce(target, r->name, tenure_claim_token(r->claim), &err);
    if (code >= 0)
        return EXIT_FINE;
    say_error("the guard was not told, the command is not started: %s", err.text);
    /* A guard that knows a newer token than the store gives out belongs to another store. */
    return code == TENURE_NOT_OWNED ? EXIT_DENIED : exit_of(code);
}

/* The tree is gone: lets the next one in. */
static int give_back(struct run *r, int code)
{
    tenure_error err;
    POINT("kill-release");
    int rc = tenure_release(r->claim, &err);
    r->claim = NULL;
    if (tenure_class(rc) == TENURE_CLASS_LOST) {
        if (!r->lost)
            say_error("%s", err.text);
        r->cut = true;
    } else if (rc < 0) {
        say_change("%s; it ends with the session", err.text);
    } else {
        say_detail("gave back %s", r->name);
    }
    return r->cut ? EXIT_LOST : code;
}

int run_term(struct run *r)
{
    int code = announce(r);
    if (code != EXIT_FINE) {
        give_up_claim(r);
        return code;
    }
    return give_back(r, r->inv->argv ? serve_term(r) : hold_term(r));
}
