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

static int leave_lost(tenure_claim *c, tenure_error *err)
{
    int code = error_copy(err, &c->trouble);
    c->pending = 0;
    phase_move(&c->phase, PHASE_LEAVING);
    if (c->must_leave)
        leave_later(c, c->look_at);
    claim_turn(c, clock_now());
    return code;
}

/* Ends what is over without a word to the store that anybody waits for; says whether it was. */
static bool leave_if_over(tenure_claim *c, int *ret_code, tenure_error *err)
{
    *ret_code = 0;
    if (c->phase == PHASE_LOST)
        *ret_code = leave_lost(c, err);
    else if (is_unknown(c))
        claim_free(c);
    else
        return false;
    return true;
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

/* Asks the store to take the ticket out. */
static int leave(tenure_claim *c, struct instant give_up, tenure_error *err)
{
    tenure *t = c->handle;
    while (c->question != QUESTION_NONE && !instant_reached(clock_now(), give_up))
        claim_wait(c, give_up);
    int code;
    if (leave_if_over(c, &code, err))
        return code;
    if (c->question != QUESTION_NONE)
        t->store->ops->abandon(t->store, &c->op.op);
    leave_answered(c, false);
    bool held = c->phase == PHASE_HELD;
    bool answered = send_leave(c, give_up);
    if (!answered || c->must_leave) {
        leave_later(c, c->look_at);
        if (!answered)
            return error_set(err, TENURE_UNSURE, "%s: the store did not answer the release",
                             c->name);
        return claim_op_error(c, err);
    }
    if (held && c->op.verdict == VERDICT_GONE)
        code = error_set(err, TENURE_LOST, "%s: the tenure had ended before it was released",
                         c->name);
    claim_free(c);
    return code;
}

int claim_release(tenure_claim *c, struct instant give_up, tenure_error *err)
{
    int code;
    claim_catch_up(c, clock_now());
    return leave_if_over(c, &code, err) ? code : leave(c, give_up, err);
}

EXPORT int tenure_release(tenure_claim *c, tenure_error *err)
{
    if (!c)
        return 0;
    tenure *t = c->handle;
    if (!handle_enter(t))
        return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    int code = claim_release(c, instant_add(clock_now(), t->timing.attempt), err);
    handle_leave(t);
    return code;
}

/* ---- with the next question ------------------------------------------------------------------ */

/* Takes it off the list of those that are leaving. */
static void unlist(tenure_claim *c)
{
    tenure_claim **at = &c->handle->parting;
    while (*at && *at != c)
        at = &(*at)->parting_next;
    if (*at)
        *at = c->parting_next;
}

void leave_later(tenure_claim *c, struct instant at)
{
    tenure *t = c->handle;
    unlist(c);
    c->look_at = at;
    c->parting_next = t->parting;
    t->parting = c;
    handle_arm(t, at);
}

struct instant leave_due(const tenure *t)
{
    struct instant due = INSTANT_NEVER;
    for (const tenure_claim *p = t->parting; p; p = p->parting_next) {
        if (p->question == QUESTION_NONE)
            due = instant_min(due, p->look_at);
    }
    return due;
}

/* Whether p can go with a question of claim c.  What it asked itself may be under way, but not its
 * leaving. */
static bool may_go_with(const tenure_claim *p, const tenure_claim *c)
{
    return p->key_hash == c->key_hash && p->id.session == c->id.session &&
           p->question != QUESTION_LEAVE && p->must_leave && strcmp(p->name, c->name) == 0;
}

struct ticket_id leave_with(tenure_claim *c)
{
    tenure_claim *p = NULL;
    for (tenure_claim *o = c->handle->parting; o; o = o->parting_next) {
        if (may_go_with(o, c) && (!p || atomic_load(&o->token) != 0))
            p = o; /* rather one that was granted: it stands in the way */
    }
    if (!p)
        return (struct ticket_id){0, 0};
    unlist(p);
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
    if (!p)
        return;
    bool asks = p->question != QUESTION_NONE && !p->op.op.done; /* maybe for its ticket, after us */
    if (done && !asks)
        claim_free(p);
    else
        leave_later(p, INSTANT(0)); /* whether the store has heard or not: twice does no harm */
}

void leave_forget(tenure_claim *c)
{
    unlist(c);
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
    int code;
    claim_catch_up(c, now);
    if (!leave_if_over(c, &code, err)) {
        phase_move(&c->phase, PHASE_LEAVING);
        c->must_leave = true;
        c->pending = 0;
        leave_later(c, instant_add(now, SPAN(LEAVE_WITHIN_MS)));
    }
    handle_leave(t);
    return code;
}
