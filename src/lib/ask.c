/* lib/ask.c - the calls around a claim: ask, wait, acquire, check. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "lib/given.h"
#include "lib/handle.h"
#include "os/clock.h"

/* ---- what may be asked ----------------------------------------------------------------------- */

/* How much of a text that may hold anything can be shown in a message. */
static int shown(struct text t)
{
    int n = 0;
    while (n < 80 && (size_t)n < t.len && t.at[n] > ' ' && t.at[n] < 127)
        n++;
    return n;
}

int name_accept(const char *name, tenure_error *err)
{
    size_t at;
    struct text t = text_of(name);
    enum name_flaw flaw = name_check(t, &at);
    if (flaw == NAME_FINE)
        return 0;
    int n = shown(t);
    const char *rest = (size_t)n < t.len ? "..." : "";
    if (flaw == NAME_BAD_BYTE)
        return error_set(err, TENURE_INVALID, "\"%.*s%s\" is not a name: byte %zu (0x%02x): %s", n,
                         name, rest, at + 1, (unsigned char)name[at], name_flaw_text(flaw));
    return error_set(err, TENURE_INVALID, "\"%.*s%s\" is not a name: %s (at byte %zu)", n,
                     name ? name : "", rest, name_flaw_text(flaw), at + 1);
}

int text_accept(const char *what, const char *s, size_t max, tenure_error *err)
{
    struct text t = text_of(s);
    if (t.len <= max && text_is_clean(t))
        return 0;
    return error_set(err, TENURE_INVALID,
                     "the %s has %zu bytes: it is at most %zu bytes of UTF-8 without control "
                     "characters", what, t.len, max);
}

static int terms_check(const tenure_terms *terms, tenure_error *err)
{
    if (terms->kind != TENURE_LOCK && terms->kind != TENURE_ELECTION)
        return error_set(err, TENURE_INVALID, "kind %d cannot be asked for: it is TENURE_LOCK or "
                                              "TENURE_ELECTION", (int)terms->kind);
    if (terms->permits < 1 || terms->permits > CLAIM_PERMITS_MAX)
        return error_set(err, TENURE_INVALID, "%u permits: it is 1 to %d", terms->permits,
                         CLAIM_PERMITS_MAX);
    if (terms->shared && terms->permits != 1)
        return error_set(err, TENURE_INVALID, "shared mode and %u permits exclude each other",
                         terms->permits);
    if (terms->kind == TENURE_ELECTION && (terms->shared || terms->permits != 1))
        return error_set(err, TENURE_INVALID, "an election has one leader: neither shared mode nor "
                                              "permits");
    if (terms->priority < -CLAIM_PRIORITY_MAX || terms->priority > CLAIM_PRIORITY_MAX)
        return error_set(err, TENURE_INVALID, "priority %d: it is -%d to %d", terms->priority,
                         CLAIM_PRIORITY_MAX, CLAIM_PRIORITY_MAX);
    if (terms->wait_ms < TENURE_FOREVER)
        return error_set(err, TENURE_INVALID, "wait_ms %lld: it is TENURE_FOREVER, 0 or more",
                         (long long)terms->wait_ms);
    if (terms->wait_ms == 0 && terms->later)
        return error_set(err, TENURE_INVALID, "wait_ms 0 is a try, which is answered at once, and "
                                              "`later` does not wait for the answer");
    return text_accept("value", terms->value, CLAIM_VALUE_BYTES_MAX, err);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static tenure_claim *claim_new(tenure *t, const char *name, const tenure_terms *terms)
{
    tenure_claim *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->handle = t;
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->value, sizeof c->value, "%s", terms->value ? terms->value : "");
    c->key_hash = store_key_hash(name);
    c->kind = terms->kind;
    c->shared = terms->shared;
    c->permits = terms->permits;
    c->priority = terms->priority;
    c->try_only = terms->wait_ms == 0;
    c->phase = PHASE_ASKING;
    c->ends_at = INSTANT_NEVER;
    c->hidden = true;
    atomic_store(&c->standing, TENURE_WAITING);
    c->next = t->claims;
    if (t->claims)
        t->claims->previous = c;
    t->claims = c;
    return c;
}

/* Why a claim that still asks has no answer; 0 when it has one, or none is known yet. */
static int trouble_of(const tenure_claim *c, tenure_error *err)
{
    if (c->phase != PHASE_ASKING)
        return 0;
    if (c->trouble.code < 0)
        return error_copy(err, &c->trouble);
    const tenure_error *s = &c->handle->session.trouble;
    if (!session_is_ready(c->handle) && s->code < 0)
        return error_copy(err, s);
    return 0;
}

/* The first attempt is sent: the session if there is none, then the question. */
static void begin_attempt(tenure_claim *c)
{
    tenure *t = c->handle;
    struct instant now = clock_now();
    struct instant next = INSTANT_NEVER;
    if (!session_is_ready(t)) {
        t->session.retry = now; /* whatever it was before, this is a new attempt */
        next = session_turn(t, now);
    }
    if (session_is_ready(t))
        next = instant_min(next, claim_turn(c, clock_now()));
    if (session_is_ready(t))
        next = instant_min(next, t->session.pulse.next);
    handle_arm(t, instant_min(next, handle_store_due(t))); /* its safety net, too */
}

/* ... and comes to its end. */
static void finish_attempt(tenure_claim *c)
{
    struct instant give_up = instant_add(clock_now(), SPAN(2 * c->handle->timing.attempt.ms));
    while (c->phase == PHASE_ASKING && !c->refused && trouble_of(c, NULL) == 0 &&
           !instant_reached(clock_now(), give_up))
        claim_wait(c, give_up);
}

/* Returns a claim that is hidden: whoever gives it to its program shows it. */
static int ask(tenure *t, const char *name, const tenure_terms *terms, tenure_claim **ret,
               tenure_error *err)
{
    tenure_claim *c = claim_new(t, name, terms);
    if (!c)
        return error_set(err, TENURE_NO_MEMORY, "out of memory");
    /* What is known already keeps nobody from asking; for a new attempt it does not count. */
    bool waits_out = terms->later && !session_is_ready(t) && t->session.trouble.code < 0;
    if (!session_is_ready(t) && !waits_out)
        t->session.trouble.code = 0;
    begin_attempt(c);
    if (!terms->later)
        finish_attempt(c);
    int code = waits_out && !c->refused ? 0 : trouble_of(c, err);
    bool unanswered = c->phase == PHASE_ASKING && !c->refused;
    bool stands = unanswered && !c->try_only && (code == 0 || code == TENURE_UNSURE);
    if (code == 0 && unanswered && c->try_only)
        code = error_set(err, TENURE_UNSURE, "%s: the store did not answer", name);
    if (code < 0 && !stands) {
        if (c->asked && session_is_ready(t)) { /* it may have been granted: take it back */
            phase_move(&c->phase, PHASE_LEAVING);
            c->must_leave = true;
            leave_later(c, c->look_at);
            claim_turn(c, clock_now());
        } else {
            claim_free(c);
        }
        return code;
    }
    *ret = c;
    return 0;
}

/* Takes the terms and the mutex; neither when that fails. */
static int enter_to_ask(tenure *t, const char *name, const tenure_terms *given, tenure_terms *ret,
                        tenure_error *err)
{
    *ret = (tenure_terms)TENURE_TERMS_INIT;
    int code = name_accept(name, err);
    if (code == 0 && given)
        code = given_take(ret, sizeof *ret, GIVEN_LEAST(tenure_terms, value), given,
                          "TENURE_TERMS_INIT", err);
    if (code == 0)
        code = terms_check(ret, err);
    if (code == 0 && !handle_enter(t))
        code = error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    return code;
}

EXPORT int tenure_ask(tenure *t, const char *name, const tenure_terms *given, tenure_claim **ret,
                      tenure_error *err)
{
    tenure_terms terms;
    int code = enter_to_ask(t, name, given, &terms, err);
    if (code < 0)
        return code;
    code = ask(t, name, &terms, ret, err);
    if (code == 0)
        (*ret)->hidden = false;
    handle_leave(t);
    return code;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static struct instant limit_of(int64_t wait_ms)
{
    return wait_ms == TENURE_FOREVER ? INSTANT_NEVER : instant_add(clock_now(), SPAN(wait_ms));
}

static int wait_until(tenure_claim *c, struct instant limit, tenure_error *err)
{
    for (;;) {
        if (c->phase == PHASE_HELD && atomic_load(&c->standing) == TENURE_STANDING)
            return 0;
        if (c->phase == PHASE_LOST || c->refused)
            return error_copy(err, &c->trouble);
        if (instant_reached(clock_now(), limit))
            return error_set(err, TENURE_TIMED_OUT, "%s was not acquired within the time allowed",
                             c->name);
        claim_wait(c, limit);
    }
}

EXPORT int tenure_wait(tenure_claim *c, int64_t wait_ms, tenure_error *err)
{
    if (wait_ms < TENURE_FOREVER)
        return error_set(err, TENURE_INVALID, "wait_ms %lld: it is TENURE_FOREVER, 0 or more",
                         (long long)wait_ms);
    if (!handle_enter(c->handle))
        return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    int code = wait_until(c, limit_of(wait_ms), err);
    handle_leave(c->handle);
    return code;
}

static int acquire(tenure *t, const char *name, const tenure_terms *terms, tenure_claim **ret,
                   tenure_error *err)
{
    tenure_claim *c;
    int code = ask(t, name, terms, &c, err);
    if (code < 0)
        return code;
    code = wait_until(c, limit_of(terms->wait_ms), err);
    if (code < 0) {
        claim_release(c, instant_add(clock_now(), t->timing.attempt), NULL);
    } else {
        c->hidden = false;
        *ret = c;
    }
    return code;
}

EXPORT int tenure_acquire(tenure *t, const char *name, const tenure_terms *given,
                          tenure_claim **ret, tenure_error *err)
{
    tenure_terms terms;
    int code = enter_to_ask(t, name, given, &terms, err);
    if (code < 0)
        return code;
    terms.later = false;
    code = acquire(t, name, &terms, ret, err);
    handle_leave(t);
    return code;
}

/* ---- looking at it --------------------------------------------------------------------------- */

EXPORT int tenure_check(const tenure_claim *c)
{
    if (!handle_is_ours(c->handle))
        return TENURE_FORKED;
    /* The loss that the clock shows is noted in the claim: what the caller sees does not change. */
    _Atomic int *standing = &((tenure_claim *)(uintptr_t)c)->standing;
    int s = atomic_load_explicit(standing, memory_order_acquire);
    if (s != TENURE_STANDING)
        return s;
    int64_t now = clock_now().ms;
    if (now >= atomic_load_explicit(&c->deadline_ms, memory_order_acquire)) {
        atomic_compare_exchange_strong(standing, &s, TENURE_LOST);
        return s == TENURE_STANDING ? TENURE_LOST : s;
    }
    return now >= atomic_load_explicit(&c->doubt_ms, memory_order_relaxed) ? TENURE_DOUBTFUL
                                                                           : TENURE_STANDING;
}

EXPORT tenure_token tenure_claim_token(const tenure_claim *c)
{
    return atomic_load(&c->token);
}

EXPORT const char *tenure_claim_name(const tenure_claim *c)
{
    return c->name;
}

EXPORT const char *tenure_claim_ticket(const tenure_claim *c)
{
    return c->ticket_text;
}

EXPORT int64_t tenure_claim_deadline(const tenure_claim *c)
{
    return atomic_load(&c->standing) == TENURE_STANDING ? atomic_load(&c->deadline_ms) : 0;
}

EXPORT int64_t tenure_claim_left(const tenure_claim *c)
{
    int64_t left = tenure_claim_deadline(c) - clock_now().ms;
    return left > 0 ? left : 0;
}

EXPORT int tenure_trouble(tenure *t, tenure_error *ret)
{
    if (!handle_enter(t))
        return TENURE_FORKED;
    int code = 0;
    if (t->session.trouble.code < 0)
        code = error_copy(ret, &t->session.trouble);
    for (tenure_claim *c = t->claims; c && code == 0; c = c->next) {
        bool waits = c->phase == PHASE_WAITING || (c->phase == PHASE_ASKING && !c->refused);
        if (waits && c->trouble.code < 0)
            code = error_copy(ret, &c->trouble);
    }
    handle_leave(t);
    return code;
}
