/* lib/leave.c - giving a claim up: at once, or together with the next question about its name. */
#include <string.h>

#include "lib/handle.h"
#include "os/clock.h"

/* How long one that has left waits for somebody who asks for the same name. */
#define LEAVE_WITHIN_MS 2

/* ---- what is over ---------------------------------------------------------------------------- */

/* What needs no word to the store: no ticket that it knows of is left. */
static bool is_unknown(const tenure_claim *c)
{
    return !c->asked || c->refused || !session_is_ready(c->handle);
}

static int leave_unknown(tenure_claim *c)
{
    claim_free(c);
    return 0;
}

static int leave_lost(tenure_claim *c, tenure_error *err)
{
    int code = error_copy(err, &c->trouble);
    c->pending = 0;
    phase_move(&c->phase, PHASE_LEAVING);
    claim_turn(c, clock_now());
    return code;
}

/* ---- at once --------------------------------------------------------------------------------- */

/* Sends the question and waits for its answer.  The claim is ours meanwhile: no turn frees it.
 * False when it was given up, and perhaps asked again: an answer to that says nothing of what the
 * first one did. */
static bool send_leave(tenure_claim *c, struct instant give_up)
{
    struct instant now = clock_now();
    phase_move(&c->phase, PHASE_LEAVING);
    c->must_leave = true;
    c->awaited = true;
    c->pending = 0;
    c->look_at = instant_add(now, c->handle->timing.attempt);
    claim_send(c, QUESTION_LEAVE, now);
    while (c->question == QUESTION_LEAVE && c->sent.ms == now.ms &&
           !instant_reached(clock_now(), give_up))
        claim_wait(c, give_up);
    c->awaited = false;
    return c->question != QUESTION_LEAVE && c->sent.ms == now.ms;
}

/* Asks the store to take the ticket out, for at most one attempt. */
static int leave(tenure_claim *c, tenure_error *err)
{
    tenure *t = c->handle;
    struct instant give_up = instant_add(clock_now(), t->timing.attempt);
    while (c->question != QUESTION_NONE && !instant_reached(clock_now(), give_up))
        claim_wait(c, give_up);
    if (c->phase == PHASE_LOST)
        return leave_lost(c, err);
    if (is_unknown(c))
        return leave_unknown(c);
    if (c->question != QUESTION_NONE)
        t->store->ops->abandon(t->store, &c->op.op);
    leave_answered(c, false);
    bool held = c->phase == PHASE_HELD;
    bool answered = send_leave(c, give_up);
    if (!answered || c->must_leave) {
        handle_arm(t, c->look_at);
        if (!answered)
            return error_set(err, TENURE_UNSURE, "%s: the store did not answer the release",
                             c->name);
        return claim_op_error(c, err);
    }
    int code = 0;
    if (held && c->op.verdict == VERDICT_GONE)
        code = error_set(err, TENURE_LOST, "%s: the tenure had ended before it was released",
                         c->name);
    claim_free(c);
    return code;
}

int claim_release(tenure_claim *c, tenure_error *err)
{
    claim_turn(c, clock_now()); /* only the clock may have ended it since */
    if (c->phase == PHASE_LOST)
        return leave_lost(c, err);
    if (is_unknown(c))
        return leave_unknown(c);
    return leave(c, err);
}

EXPORT int tenure_release(tenure_claim *c, tenure_error *err)
{
    if (!c)
        return 0;
    tenure *t = c->handle;
    if (!handle_enter(t))
        return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    int code = claim_release(c, err);
    handle_leave(t);
    return code;
}

/* ---- with the next question ------------------------------------------------------------------ */

static void part(tenure_claim *c, struct instant at)
{
    tenure *t = c->handle;
    c->look_at = at; /* then it goes alone */
    c->parting_next = t->parting;
    t->parting = c;
    handle_arm(t, at);
}

void leave_alone(tenure_claim *c)
{
    tenure_claim **at = &c->handle->parting;
    while (*at && *at != c)
        at = &(*at)->parting_next;
    if (*at)
        *at = c->parting_next;
}

struct ticket_id leave_with(tenure_claim *c)
{
    tenure_claim *p = c->handle->parting;
    while (p && (p->key_hash != c->key_hash || p->question != QUESTION_NONE ||
                 p->id.session != c->id.session || strcmp(p->name, c->name) != 0))
        p = p->parting_next;
    if (!p)
        return (struct ticket_id){0, 0};
    leave_alone(p);
    p->look_at = INSTANT_NEVER;
    p->taken_by = c;
    c->takes = p;
    return p->id;
}

/* The one that it takes along, which it takes no longer; NULL when there is none. */
static tenure_claim *put_down(tenure_claim *c)
{
    tenure_claim *p = c->takes;
    if (p)
        p->taken_by = c->takes = NULL;
    return p;
}

void leave_answered(tenure_claim *c, bool done)
{
    tenure_claim *p = put_down(c);
    if (p && done)
        claim_free(p);
    else if (p)
        part(p, INSTANT(0)); /* the store may have heard of it or not: once more does no harm */
}

void leave_forget(tenure_claim *c)
{
    leave_alone(c);
    leave_answered(c, false);
    if (c->taken_by)
        put_down(c->taken_by);
}

EXPORT int tenure_leave(tenure_claim *c, tenure_error *err)
{
    if (!c)
        return 0;
    tenure *t = c->handle;
    if (!handle_enter(t))
        return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    struct instant now = clock_now();
    int code = 0;
    claim_turn(c, now); /* only the clock may have ended it since */
    if (c->phase == PHASE_LOST) {
        code = leave_lost(c, err);
    } else if (is_unknown(c)) {
        leave_unknown(c);
    } else {
        phase_move(&c->phase, PHASE_LEAVING);
        c->must_leave = true;
        c->pending = 0;
        part(c, instant_add(now, SPAN(LEAVE_WITHIN_MS)));
    }
    handle_leave(t);
    return code;
}
