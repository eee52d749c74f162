/* lib/session.c - keeps the one session of a handle alive, and notices its end.
 *
 * Deadlines are counted from the moment a renewal is sent (core/pulse.h).  A lost session is
 * never revived: its claims are told, the store is told to forget it as soon as it can be
 * reached, and a new one is opened when something is asked for. */
#include <string.h>

#include "lib/handle.h"
#include "os/clock.h"
#include "os/point.h"

#define VERIFY_CLAIMS 16

bool session_is_ready(const tenure *t)
{
    const struct pulse *p = &t->session.pulse;
    return t->session.id != 0 && (p->state == PULSE_SAFE || p->state == PULSE_DOUBTFUL);
}

static bool is_needed(const tenure *t)
{
    for (const tenure_claim *c = t->claims; c; c = c->next) {
        if (c->phase == PHASE_ASKING && !c->refused)
            return true;
    }
    return false;
}

/* ---- housekeeping --------------------------------------------------------------------------- */

/* Looks at a few held claims, without a reason but that nothing tells, or may not have told, when
 * a record was taken away. */
static void verify_some(tenure *t)
{
    uint64_t vigil = store_vigil(t->store);
    unsigned left = VERIFY_CLAIMS;
    tenure_claim *start = t->verified ? t->verified->next : t->claims;
    tenure_claim *c = start ? start : t->claims;
    for (tenure_claim *first = c; c && left > 0;) {
        if (c->phase == PHASE_HELD && (vigil == 0 || c->vigil != vigil)) {
            c->look_due = true;
            left--;
        }
        t->verified = c;
        c = c->next ? c->next : t->claims;
        if (c == first)
            break;
    }
}

/* ---- the work of a session ------------------------------------------------------------------ */

bool session_holds(const tenure *t)
{
    const tenure_claim *c = t->claims;
    while (c && c->phase != PHASE_HELD)
        c = c->next;
    return c != NULL;
}

/* Whether records may name it as one that holds. */
static bool is_named(const tenure *t)
{
    const tenure_claim *c = t->claims;
    while (c && c->phase != PHASE_HELD && !c->must_leave)
        c = c->next;
    return c != NULL;
}

static void lose(tenure *t, const char *why)
{
    struct session *s = &t->session;
    if (s->work == SESSION_RENEWS) { /* whatever its answer: it would come too late */
        if (!s->op.renew.op.done)
            t->store->ops->abandon(t->store, &s->op.renew.op);
        s->work = SESSION_RESTS;
    }
    s->pulse.state = PULSE_LOST;
    s->stale = s->id;
    s->stale_held = is_named(t);
    s->id = 0;
    claims_lost(t, why);
}

static void opened(tenure *t, struct instant now)
{
    struct session *s = &t->session;
    struct store_session_open *op = &s->op.open;
    if (op->op.code < 0) {
        s->trouble = op->op.error;
        s->retry = instant_add(now, SPAN(t->timing.attempt.ms / 2));
        return;
    }
    s->trouble.code = 0;
    s->id = op->session;
    s->next_serial = 1;
    pulse_start(&s->pulse, &t->timing, s->sent);
    if (instant_reached(now, pulse_deadline(&s->pulse)))
        lose(t, "the store took longer than the ttl to open the session");
}

static void renewed(tenure *t, struct instant now)
{
    struct session *s = &t->session;
    struct store_session_renew *op = &s->op.renew;
    enum pulse_state before = s->pulse.state;
    int code = op->op.code;
    pulse_answered(&s->pulse, now,
                   code == 0             ? PULSE_RENEWED
                   : code == TENURE_LOST ? PULSE_DEAD
                                         : PULSE_SILENT);
    if (s->pulse.state == PULSE_LOST) {
        lose(t, code == TENURE_LOST ? "the store says that the session is dead"
                                    : "no renewal succeeded before the deadline");
        return;
    }
    if (code < 0)
        s->trouble = op->op.error;
    else
        s->trouble.code = 0;
    if (before == PULSE_SAFE && s->pulse.state == PULSE_DOUBTFUL)
        claims_doubtful(t, true); /* the attempt took until after ttl/2 */
    if (code < 0)
        return;
    if (op->noticed)
        claims_noticed(t);
    claims_renewed(t);
    if (before == PULSE_DOUBTFUL && s->pulse.state == PULSE_SAFE)
        claims_doubtful(t, false);
    verify_some(t);
    sweep_renewed(t, now);
}

static void closed(tenure *t, struct instant now)
{
    struct session *s = &t->session;
    const struct store_op *op = &s->op.close.op;
    s->trouble.code = 0;
    if (op->code == 0) {
        s->stale = 0;
        return;
    }
    s->trouble = op->error;
    s->retry = instant_add(now, SPAN(t->timing.attempt.ms / 2));
    if (!is_needed(t) && instant_reached(now, instant_add(s->pulse.sent,
                                                          SPAN(2 * t->timing.ttl.ms))))
        s->stale = 0; /* it expires without our help, and nobody waits for that */
}

static struct store_op *op_of(struct session *s)
{
    switch (s->work) {
    case SESSION_OPENS:
        return &s->op.open.op;
    case SESSION_RENEWS:
        return &s->op.renew.op;
    case SESSION_CLOSES:
        return &s->op.close.op;
    case SESSION_RESTS:
        break;
    }
    return NULL;
}

/* Takes the reply of the work in flight, if it is there. */
static void finish(tenure *t, struct instant now)
{
    struct session *s = &t->session;
    struct store_op *op = op_of(s);
    if (!op || !op->done)
        return;
    enum session_work work = s->work;
    s->work = SESSION_RESTS;
    if (work == SESSION_OPENS)
        opened(t, now);
    else if (work == SESSION_RENEWS)
        renewed(t, now);
    else
        closed(t, now);
}

static void start_open(tenure *t, struct instant now)
{
    struct session *s = &t->session;
    s->op.open = (struct store_session_open){.ttl = t->timing.ttl};
    s->work = SESSION_OPENS;
    s->sent = now;
    store_session_open(t->store, &s->op.open);
}

static void start_close(tenure *t, struct instant now)
{
    struct session *s = &t->session;
    s->op.close = (struct store_session_close){
        .session = s->stale, .claims_left = s->stale_held};
    s->work = SESSION_CLOSES;
    s->sent = now;
    store_session_close(t->store, &s->op.close);
}

/* Who holds nothing has nothing to be silent about: it may be in a call that waits. */
static bool is_withheld(tenure *t, struct instant now)
{
    if (atomic_load(&t->withheld))
        return true;
    int64_t silent = now.ms - atomic_load(&t->checkin_ms);
    return t->max_silence.ms > 0 && silent > t->max_silence.ms && session_holds(t);
}

static struct instant pulse_turn(tenure *t, struct instant now)
{
    struct session *s = &t->session;
    struct pulse_plan plan = pulse_step(&s->pulse, now);
    if (plan.after == PULSE_LOST) {
        lose(t, "no renewal succeeded before the deadline");
        return now;
    }
    if (plan.before == PULSE_SAFE && plan.after == PULSE_DOUBTFUL)
        claims_doubtful(t, true);
    if (plan.abandon && s->work == SESSION_RENEWS) {
        t->store->ops->abandon(t->store, &s->op.renew.op);
        s->work = SESSION_RESTS;
    }
    if (plan.renew && s->work == SESSION_RESTS) {
        if (is_withheld(t, now))
            return instant_min(pulse_edge(&s->pulse),
                               instant_add(now, SPAN(t->timing.attempt.ms / 2)));
        s->op.renew = (struct store_session_renew){.session = s->id};
        s->work = SESSION_RENEWS;
        pulse_sent(&s->pulse, now);
        POINT("send-renew");
        store_session_renew(t->store, &s->op.renew);
        finish(t, clock_now());
    }
    return session_is_ready(t) ? pulse_step(&s->pulse, now).next : now;
}

struct instant session_turn(tenure *t, struct instant now)
{
    struct session *s = &t->session;
    struct instant give_up = instant_add(s->sent, t->timing.attempt);
    finish(t, now);
    if ((s->work == SESSION_OPENS || s->work == SESSION_CLOSES) && instant_reached(now, give_up)) {
        t->store->ops->abandon(t->store, op_of(s));
        finish(t, now);
    }
    if (session_is_ready(t))
        return pulse_turn(t, now);
    if (s->work != SESSION_RESTS)
        return instant_add(s->sent, t->timing.attempt);
    bool wanted = s->stale != 0 || is_needed(t);
    if (!wanted)
        return INSTANT_NEVER;
    if (!instant_reached(now, s->retry))
        return s->retry;
    if (s->stale != 0)
        start_close(t, now);
    else
        start_open(t, now);
    finish(t, clock_now());
    if (session_is_ready(t))
        return s->pulse.next;
    return s->work == SESSION_RESTS ? instant_min(s->retry, instant_add(now, SPAN(1)))
                                    : instant_add(now, t->timing.attempt);
}

void session_ended(tenure *t, uint64_t id)
{
    if (session_is_ready(t) && t->session.id == id)
        lose(t, "the store says that the session is dead");
}

void session_end(tenure *t, struct instant limit)
{
    struct session *s = &t->session;
    struct store_op *op = op_of(s);
    if (op && !op->done)
        t->store->ops->abandon(t->store, op);
    finish(t, clock_now());
    if (s->id != 0)
        lose(t, "the handle was closed");
    if (s->stale == 0)
        return;
    start_close(t, clock_now());
    while (!s->op.close.op.done && !instant_reached(clock_now(), limit))
        handle_wait(t, limit);
    if (!s->op.close.op.done)
        t->store->ops->abandon(t->store, &s->op.close.op);
    finish(t, clock_now());
}
