/* lib/claim.c - the life of a claim: asking, waiting, held, lost, leaving (core/phase.h). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/handle.h"
#include "os/clock.h"
#include "os/point.h"

/* ---- events and standing --------------------------------------------------------------------- */

void claim_note(tenure_claim *c, tenure_event_kind kind, const char *format, ...)
{
    unsigned doubt = 1u << TENURE_EVENT_DOUBTFUL;
    if (kind == TENURE_EVENT_SAFE && (c->pending & doubt)) {
        c->pending &= ~doubt; /* a doubt that nobody heard of is over */
        return;
    }
    if (c->pending & 1u << TENURE_EVENT_LOST)
        return; /* the reason of the loss stands */
    va_list args;
    va_start(args, format);
    vsnprintf(c->reason, sizeof c->reason, format, args);
    va_end(args);
    c->reason_of = kind;
    c->pending |= 1u << kind;
    c->handle->unheard = true;
}

/* Publishes for tenure_check() until when the tenure may be believed. */
static void publish_times(tenure_claim *c)
{
    const struct timing *timing = &c->handle->timing;
    struct instant doubt = instant_add(c->counted, timing->doubt);
    struct instant deadline = instant_min(instant_add(c->counted, timing->deadline), c->ends_at);
    if (c->told)
        doubt = INSTANT(0); /* told to stop: never safe again */
    atomic_store(&c->doubt_ms, doubt.ms);
    atomic_store(&c->deadline_ms, deadline.ms);
}

/* Whether the claim has been looked at since the last notice.  A renewal that came with a notice
 * counts only for claims that have: the store may have told one of them to stop, and what it was
 * told ends its ttl after that, whatever is renewed later (P3). */
static bool has_taken_notice(const tenure_claim *c)
{
    return c->notices_known == c->handle->session.notices;
}

/* Whether its deadline has passed or tenure_check() has said that it is lost: nothing extends it
 * any more (P4), its next turn ends it. */
static bool is_over(const tenure_claim *c)
{
    return atomic_load(&c->standing) != TENURE_STANDING ||
           instant_reached(clock_now(), INSTANT(atomic_load(&c->deadline_ms)));
}

/* Ends a held claim for good.  tenure_check() may have seen it first: then its word stands. */
static void lose(tenure_claim *c, int code, const char *why)
{
    int standing = TENURE_STANDING;
    atomic_compare_exchange_strong(&c->standing, &standing, code);
    phase_move(&c->phase, PHASE_LOST);
    error_set(&c->trouble, atomic_load(&c->standing), "%s: the tenure with token %llu is lost: %s",
              c->name, (unsigned long long)atomic_load(&c->token), why);
    claim_note(c, TENURE_EVENT_LOST, "%s", why);
}

void claims_renewed(tenure *t)
{
    for (tenure_claim *c = t->claims; c; c = c->next) {
        if (c->phase != PHASE_HELD || !has_taken_notice(c) || is_over(c))
            continue;
        c->counted = t->session.pulse.sent;
        publish_times(c);
    }
}

void claims_noticed(tenure *t)
{
    t->session.notices++;
    for (tenure_claim *c = t->claims; c; c = c->next)
        c->look_due |= c->phase == PHASE_HELD || c->phase == PHASE_WAITING;
}

void claims_doubtful(tenure *t, bool on)
{
    for (tenure_claim *c = t->claims; c; c = c->next) {
        if (c->phase != PHASE_HELD)
            continue;
        if (on && t->session.trouble.code < 0)
            claim_note(c, TENURE_EVENT_DOUBTFUL, "no renewal since half the ttl: %s",
                       t->session.trouble.text);
        else if (on)
            claim_note(c, TENURE_EVENT_DOUBTFUL, "no renewal since half the ttl");
        else
            claim_note(c, TENURE_EVENT_SAFE, "renewed");
    }
}

/* The ticket of a dead session is dead, too: who still waits asks again with a new one. */
static void ask_anew(tenure_claim *c)
{
    if (c->question != QUESTION_NONE && !c->op.op.done)
        c->handle->store->ops->abandon(c->handle->store, &c->op.op);
    c->question = QUESTION_NONE;
    leave_answered(c, false);
    c->id = (struct ticket_id){0, 0};
    c->asked = false;
    c->look_due = false;
    c->look_at = INSTANT(0);
    if (c->phase == PHASE_WAITING)
        phase_move(&c->phase, PHASE_ASKING);
    watch_end(c);
}

void claims_lost(tenure *t, const char *why)
{
    for (tenure_claim *c = t->claims; c; c = c->next) {
        if (c->phase == PHASE_HELD)
            lose(c, TENURE_LOST, why);
        else if (c->phase == PHASE_WAITING || c->phase == PHASE_ASKING)
            ask_anew(c);
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

static void draw_ticket(tenure_claim *c)
{
    tenure *t = c->handle;
    c->id = (struct ticket_id){t->session.id, t->session.next_serial++};
    snprintf(c->ticket_text, sizeof c->ticket_text, "%llu.%llu", (unsigned long long)c->id.session,
             (unsigned long long)c->id.serial);
    c->vigil_drawn = store_vigil(t->store);
    c->notices_drawn = t->session.notices;
}

/* Whether nobody can have taken back what the ticket was granted, whenever that was: that shows in
 * a renewal that is answered with a notice, in another vigil, or in asking for it again. */
static bool is_undisturbed(const tenure_claim *c)
{
    return c->vigil_drawn != 0 && c->vigil_drawn == c->vigil_asked &&
           c->notices_drawn == c->handle->session.notices;
}

void claim_send(tenure_claim *c, enum claim_question question, struct instant now)
{
    tenure *t = c->handle;
    struct decision *d = &c->decision;
    c->vigil_asked = store_vigil(t->store);
    d->scratch = &t->scratch;
    d->id = c->id;
    d->token = atomic_load(&c->token);
    switch (question) {
    case QUESTION_ASK:
        if (c->id.session == 0)
            draw_ticket(c);
        else
            c->vigil_drawn = 0; /* it may have been granted, and taken away, before */
        d->rule = DECIDE_ASK;
        d->ask = (struct ask){
            .id = c->id,
            .instead = leave_with(c),
            .kind = c->kind,
            .shared = c->shared,
            .try_only = c->try_only,
            .permits = c->permits,
            .priority = c->priority,
            .ttl = t->timing.ttl,
            .as = text_of(t->as),
            .value = text_of(c->value),
        };
        break;
    case QUESTION_LOOK:
        d->rule = DECIDE_LOOK;
        d->undisturbed = is_undisturbed(c);
        c->look_due = false;
        break;
    case QUESTION_LEAVE:
        d->rule = DECIDE_LEAVE;
        break;
    case QUESTION_NONE:
        return;
    }
    c->op = (struct store_update){
        .count = 1,
        .key = {c->name},
        .decide = decision_apply,
        .arg = d,
        .look_first = question == QUESTION_LOOK,
        .ephemeral = true,
    };
    c->asked = true;
    t->questions++;
    c->question = question;
    c->sent = now;
    c->notices_asked = t->session.notices;
    store_update(t->store, &c->op);
    if (c->op.op.done)
        claim_answered(c, clock_now());
}

/* ---- answers --------------------------------------------------------------------------------- */

/* A reading of the store's clock as one of ours, not later than it is meant: counted from the
 * moment the question was sent, from the latest that the store's clock can have shown, and
 * shortened by the drift bound. */
static struct instant our_clock(const tenure_claim *c, struct instant theirs)
{
    if (theirs.ms == INSTANT_NEVER.ms)
        return INSTANT_NEVER;
    struct instant latest = instant_add(c->decision.now, c->decision.behind);
    int64_t left = instant_diff(latest, theirs).ms;
    return instant_add(c->sent, SPAN(left - (left * TIMING_DRIFT_PERCENT + 99) / 100));
}

#define REASON_BYTES sizeof(((tenure_event *)NULL)->reason)

/* "evicted by anna: it hangs", "transferred by anna to node-b" */
static void describe_end(const struct standing *s, char ret[REASON_BYTES])
{
    const char *before_reason = cause_names_successor(s->cause) ? " to " : ": ";
    snprintf(ret, REASON_BYTES, "%s%s%.*s%s%.*s",
             s->cause == CAUSE_NONE ? "its entry was removed" : cause_text(s->cause),
             s->by.len ? " by " : "", (int)s->by.len, s->by.len ? s->by.at : "",
             s->reason.len ? before_reason : "", (int)s->reason.len,
             s->reason.len ? s->reason.at : "");
}

static void note_told(tenure_claim *c)
{
    const struct standing *s = &c->decision.standing;
    if (s->state != TENURE_TICKET_ENDING)
        return;
    struct instant ends = our_clock(c, s->until);
    if (c->told && ends.ms >= c->ends_at.ms)
        return;
    c->ends_at = ends;
    if (!c->told) {
        c->told = true;
        char why[REASON_BYTES];
        describe_end(s, why);
        claim_note(c, TENURE_EVENT_ASKED_TO_STOP, "%s", why);
    }
    publish_times(c);
}

/* It is in the record as held: until when that may be believed. */
static void count_from(tenure_claim *c, struct instant at_least)
{
    const struct pulse *p = &c->handle->session.pulse;
    c->notices_known = c->notices_asked;
    c->counted = has_taken_notice(c) ? p->sent : instant_min(p->sent, at_least);
    publish_times(c);
}

static void take_grant(tenure_claim *c, struct instant now)
{
    const struct standing *s = &c->decision.standing;
    tenure *t = c->handle;
    c->look_at = INSTANT_NEVER;
    c->vigil = c->vigil_asked;
    if (c->phase == PHASE_HELD && !is_over(c)) {
        count_from(c, c->counted);
        note_told(c);
    }
    if (c->phase == PHASE_HELD)
        return;
    if (!session_is_ready(t) || c->id.session != t->session.id ||
        instant_reached(now, pulse_deadline(&t->session.pulse)))
        return; /* granted to a session that is over: never believed */
    if (t->max_silence.ms > 0 && !session_holds(t))
        atomic_store(&t->checkin_ms, now.ms); /* its silence counts from here on */
    phase_move(&c->phase, PHASE_HELD);
    c->ends_at = INSTANT_NEVER;
    atomic_store(&c->token, s->token);
    count_from(c, c->sent); /* it was granted later than that */
    atomic_store(&c->standing, TENURE_STANDING);
    claim_note(c, TENURE_EVENT_GRANTED, "granted with token %llu", (unsigned long long)s->token);
    watch_end(c);
    note_told(c);
}

static void take_place(tenure_claim *c, struct instant now)
{
    const struct standing *s = &c->decision.standing;
    if (c->phase == PHASE_ASKING)
        phase_move(&c->phase, PHASE_WAITING);
    c->trouble.code = 0;
    POINT("look-listen");
    watch_begin(c, s->watch, s->watch_count);
    int64_t left = s->look_at.ms == INSTANT_NEVER.ms
                       ? INT64_MAX
                       : instant_diff(c->decision.now, s->look_at).ms;
    c->look_at = instant_add(now, SPAN(left < 1 ? 1 : left));
}

static void refuse(tenure_claim *c, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void refuse(tenure_claim *c, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    c->trouble.code = code;
    vsnprintf(c->trouble.text, sizeof c->trouble.text, format, args);
    va_end(args);
    c->refused = true;
    c->asked = false;
    atomic_store(&c->standing, code);
    claim_note(c, TENURE_EVENT_REFUSED, "%s", c->trouble.text);
}

static const char *kind_text(tenure_kind kind)
{
    return kind == TENURE_LOCK ? "a lock" : kind == TENURE_LEASE ? "a lease" : "an election";
}

static void take_conflict(tenure_claim *c)
{
    const struct decision *d = &c->decision;
    if (d->kind != c->kind)
        refuse(c, TENURE_CONFLICT, "%s is in use as %s, not as %s", c->name,
               kind_text(d->kind), kind_text(c->kind));
    else
        refuse(c, TENURE_CONFLICT, "%s is in use with permits=%u, not %u: all who ask must agree",
               c->name, d->permits, c->permits);
}

/* The ticket is not in the record (any more). */
static void take_absence(tenure_claim *c)
{
    const struct standing *s = &c->decision.standing;
    if (c->phase == PHASE_HELD) {
        char why[REASON_BYTES];
        bool told = s->cause >= CAUSE_EVICTED;
        describe_end(s, why);
        lose(c, told ? TENURE_EVICTED : TENURE_LOST, why);
    } else if (c->phase == PHASE_WAITING) {
        ask_anew(c); /* taken for dead, or removed behind our back: stand in line again */
    }
}

static void take_verdict(tenure_claim *c, enum verdict verdict, struct instant now)
{
    const struct standing *s = &c->decision.standing;
    switch (verdict) {
    case VERDICT_HELD:
        take_grant(c, now);
        break;
    case VERDICT_WAITING:
        take_place(c, now);
        break;
    case VERDICT_REFUSED:
        refuse(c, TENURE_HELD, "%s is held by %.*s (token %llu)", c->name, (int)s->as.len,
               s->as.len ? s->as.at : "", (unsigned long long)s->token);
        break;
    case VERDICT_CONFLICT:
        take_conflict(c);
        break;
    case VERDICT_CROWDED:
        refuse(c, TENURE_CROWDED, "%s has %d tickets: no more can wait", c->name,
               CLAIM_TICKETS_MAX);
        break;
    case VERDICT_DEAD:
        /* The store's word about the session, which is final. */
        c->handle->session.pulse.next = now;
        ask_anew(c);
        c->look_at = instant_add(now, SPAN(c->handle->timing.attempt.ms / 2));
        break;
    case VERDICT_GONE:
        take_absence(c);
        break;
    case VERDICT_DONE:
        break;
    }
}

int claim_op_error(const tenure_claim *c, tenure_error *err)
{
    const tenure_error *e = &c->op.op.error;
    if (e->code == TENURE_CORRUPT || e->code == TENURE_FOREIGN)
        return error_set(err, e->code, "the record of %s cannot be used: %s", c->name,
                         c->decision.flaw != RECORD_FINE ? record_flaw_text(c->decision.flaw)
                                                         : e->text);
    return error_copy(err, e);
}

static void take_error(tenure_claim *c, struct instant now)
{
    c->look_at = instant_add(now, SPAN(c->handle->timing.attempt.ms / 2));
    claim_op_error(c, &c->trouble);
}

void claim_answered(tenure_claim *c, struct instant now)
{
    enum claim_question question = c->question;
    c->question = QUESTION_NONE;
    if (question == QUESTION_ASK)
        leave_answered(c, c->op.op.code >= 0);
    if (question == QUESTION_LEAVE) {
        c->must_leave &= c->op.op.code < 0;
        return;
    }
    if (c->phase == PHASE_LOST || c->phase == PHASE_LEAVING)
        return; /* it was asked before: nothing that it says is believed any more (P4) */
    if (c->op.op.code < 0)
        take_error(c, now);
    else
        take_verdict(c, (enum verdict)c->op.verdict, now);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* One attempt is all the time that a question has. */
static struct instant give_up_at(const tenure_claim *c)
{
    return instant_add(c->sent, c->handle->timing.attempt);
}

/* When the clock ends it, unless a renewal comes before. */
static struct instant ends_at(const tenure_claim *c)
{
    return c->phase == PHASE_HELD ? INSTANT(atomic_load(&c->deadline_ms)) : INSTANT_NEVER;
}

static void give_up_question(tenure_claim *c, struct instant now)
{
    if (c->question == QUESTION_NONE)
        return;
    if (!c->op.op.done)
        c->handle->store->ops->abandon(c->handle->store, &c->op.op);
    claim_answered(c, now);
}

/* The clock, or tenure_check() in another thread, may have ended it. */
static void age(tenure_claim *c, struct instant now)
{
    if (c->phase != PHASE_HELD)
        return;
    bool ended = instant_reached(now, INSTANT(atomic_load(&c->deadline_ms)));
    if (!ended && atomic_load(&c->standing) == TENURE_STANDING)
        return;
    bool evicted = c->told && instant_reached(now, c->ends_at);
    c->must_leave = true;
    c->look_at = now;
    lose(c, evicted ? TENURE_EVICTED : TENURE_LOST,
         evicted ? "it was told to stop, and did not stop in time"
                 : "no renewal succeeded before the deadline");
}

/* Tells the store that the ticket is given up, again and again until it has heard. */
static struct instant leave_turn(tenure_claim *c, struct instant now)
{
    tenure *t = c->handle;
    if (t->session.id != c->id.session)
        c->must_leave = false; /* the session is over, and the ticket with it */
    if (c->must_leave && instant_reached(now, c->look_at)) {
        c->look_at = instant_add(now, t->timing.attempt);
        claim_send(c, QUESTION_LEAVE, now);
    }
    if (c->must_leave)
        return c->look_at;
    if (c->phase == PHASE_LEAVING && !c->awaited)
        claim_free(c);
    return INSTANT_NEVER;
}

static struct instant look_turn(tenure_claim *c, struct instant now)
{
    bool due = c->look_due || instant_reached(now, c->look_at);
    if (due && session_is_ready(c->handle))
        claim_send(c, QUESTION_LOOK, now);
    struct instant next = c->question != QUESTION_NONE ? give_up_at(c) : c->look_at;
    return instant_min(next, ends_at(c));
}

static struct instant ask_turn(tenure_claim *c, struct instant now)
{
    if (c->refused || !session_is_ready(c->handle))
        return INSTANT_NEVER; /* the session's turn comes first */
    if (instant_reached(now, c->look_at))
        claim_send(c, QUESTION_ASK, now);
    return c->question != QUESTION_NONE ? give_up_at(c) : c->look_at;
}

void claim_catch_up(tenure_claim *c, struct instant now)
{
    if (c->question != QUESTION_NONE) {
        if (c->op.op.done)
            claim_answered(c, now);
        else if (instant_reached(now, give_up_at(c)))
            give_up_question(c, now);
    }
    age(c, now);
}

struct instant claim_turn(tenure_claim *c, struct instant now)
{
    claim_catch_up(c, now);
    if (c->question != QUESTION_NONE)
        return instant_min(give_up_at(c), ends_at(c));
    switch (c->phase) {
    case PHASE_ASKING:
        return ask_turn(c, now);
    case PHASE_WAITING:
    case PHASE_HELD:
        return look_turn(c, now);
    case PHASE_LOST:
    case PHASE_LEAVING:
        return leave_turn(c, now);
    }
    return INSTANT_NEVER;
}

tenure_claim *claim_free(tenure_claim *c)
{
    tenure *t = c->handle;
    if (handle_is_ours(t)) {
        if (c->question != QUESTION_NONE && !c->op.op.done)
            t->store->ops->abandon(t->store, &c->op.op);
        watch_end(c);
        leave_forget(c);
    }
    if (c->previous)
        c->previous->next = c->next;
    else
        t->claims = c->next;
    if (c->next)
        c->next->previous = c->previous;
    if (t->verified == c)
        t->verified = c->previous;
    if (t->heard_next == c)
        t->heard_next = c->next;
    if (t->following == c)
        t->following = c->next;
    free(c);
    return NULL;
}
