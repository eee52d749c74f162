/* core/rules.c - see rules.h.  The one place where a ticket is granted is grant_next(), the one
 * place where a tenure ends is end_tenure(). */
#include "core/rules.h"

#include <assert.h>

#include "core/timing.h"

bool claim_is_idle(const struct claim *c)
{
    return c->ticket_count == 0;
}

static void touch(struct claim *c, const struct facts *f, struct effects *fx)
{
    c->touched = f->now;
    fx->changed = true;
}

/* ---- the end of a tenure ------------------------------------------------------------------ */

/* Takes out ticket `at`; a holder's tenure goes into the history with its cause, as of `ended`. */
static void end_tenure(struct claim *c, const struct facts *f, uint32_t at, enum cause cause,
                       struct instant ended, struct effects *fx)
{
    struct ticket t = c->ticket[at];
    claim_remove(c, at);
    touch(c, f, fx);
    if (!ticket_holds(&t))
        return;
    if (ended.ms > f->now.ms)
        ended = f->now;
    int64_t ago = instant_diff(ended, f->now).ms;
    bool handed_over = c->past_count > 0 && c->past[0].cause == CAUSE_TRANSFERRED;
    if (handed_over && t.state == TENURE_TICKET_HELD)
        t.end_reason = text_of(CLAIM_UNSERVED);
    claim_remember(c, &(struct past){
                          .token = t.token,
                          .as = t.as,
                          .cause = cause,
                          .by = t.end_by,
                          .reason = t.end_reason,
                          .held = instant_diff(t.granted, ended),
                          .vacant = t.vacant,
                          .granted_wall_ms = t.wall_ms,
                          .ended_wall_ms = ms_add(f->wall_ms, -ago),
                      });
    if (claim_holders(c) == 0)
        c->vacant_since = ended;
}

/* Why ticket t is over at now, or CAUSE_NONE; *ret_ended is when it ended. */
static enum cause death_of(const struct ticket *t, const struct facts *f,
                           struct instant *ret_ended)
{
    struct instant until = INSTANT_NEVER;
    enum liveness alive = LIVE;
    if (t->id.session != 0)
        alive = f->liveness(f->oracle, t->id.session, &until);
    *ret_ended = instant_min(f->now, instant_min(until, t->until));
    if (alive != LIVE && t->end_cause != CAUSE_NONE)
        return t->end_cause; /* it was told to stop, and stopped by ending */
    if (alive == LIVE_GONE)
        return CAUSE_DIED;
    if (alive == LIVE_EXPIRED)
        return CAUSE_EXPIRED;
    if (instant_reached(f->now, t->until))
        return t->end_cause != CAUSE_NONE ? t->end_cause : CAUSE_EXPIRED;
    return CAUSE_NONE;
}

bool rules_stands(struct claim *c, const struct facts *f, uint64_t token)
{
    struct instant ended;
    const struct ticket *t = claim_find_token(c, token);
    return t && death_of(t, f, &ended) == CAUSE_NONE;
}

struct span rules_left(struct claim *c, const struct facts *f, uint64_t token)
{
    const struct ticket *t = claim_find_token(c, token);
    struct instant latest = instant_add(f->now, f->behind), until = INSTANT_NEVER;
    int64_t seat = instant_diff(latest, t->until).ms, heard = t->ttl.ms;
    if (t->id.session == 0)
        return SPAN(seat); /* a lease */
    if (f->unheard)
        heard /= 2;
    else if (f->liveness(f->oracle, t->id.session, &until) == LIVE)
        heard = instant_diff(latest, until).ms;
    if (heard > t->ttl.ms)
        heard = t->ttl.ms;
    return SPAN(seat < heard ? seat : heard);
}

/* Takes ticket `at` out if it is dead; says whether it did. */
static bool bury(struct claim *c, const struct facts *f, uint32_t at, struct effects *fx)
{
    struct instant ended;
    enum cause cause = death_of(&c->ticket[at], f, &ended);
    if (cause == CAUSE_NONE)
        return false;
    end_tenure(c, f, at, cause, ended, fx);
    return true;
}

/* ---- settling ------------------------------------------------------------------------------ */

static bool fits(const struct claim *c, const struct ticket *t)
{
    uint32_t holders = claim_holders(c);
    if (holders == 0)
        return true;
    if (c->permits == 1)
        return t->shared && c->ticket[0].shared;
    return holders < c->permits;
}

/* Who is next: the preferred one if it waits, else the head of the queue; ticket_count if none. */
static uint32_t next_in_line(const struct claim *c)
{
    uint32_t first = claim_holders(c);
    uint32_t preferred = c->prefer.len > 0 ? claim_find_waiting(c, c->prefer) : c->ticket_count;
    if (preferred < c->ticket_count)
        return preferred;
    return first;
}

/* How long nobody has held it, -1 when that is unknown. */
static struct span vacancy(const struct claim *c, const struct facts *f)
{
    if (claim_holders(c) > 0)
        return SPAN(0);
    if (c->vacant_since.ms == INSTANT_NEVER.ms)
        return SPAN(-1);
    return instant_diff(c->vacant_since, f->now);
}

uint64_t facts_draw(struct facts *f, uint64_t highest)
{
    if (highest < f->token_floor)
        highest = f->token_floor;
    assert(highest < UINT64_MAX);
    f->token_floor = highest + 1;
    return f->token_floor;
}

static void grant(struct claim *c, struct facts *f, uint32_t at, struct effects *fx)
{
    struct span vacant = vacancy(c, f);
    struct ticket *t = claim_promote(c, at);
    t->token = facts_draw(f, c->last_token);
    c->last_token = t->token;
    ticket_move(t, TENURE_TICKET_HELD);
    t->granted = f->now;
    t->wall_ms = f->wall_ms;
    t->vacant = vacant;
    c->vacant_since = INSTANT_NEVER;
    c->prefer = (struct text){NULL, 0};
    c->grants++;
    f->grants++;
    touch(c, f, fx);
    effects_ring(fx, t->id.session);
}

/* A waiter watches who is directly in front of it; the first one watches the holders.  When the
 * one who was in front of the first waiter did not become the only holder, it must look anew. */
static void ring_first_waiter(const struct claim *c, struct effects *fx)
{
    uint32_t holders = claim_holders(c);
    if (holders < c->ticket_count)
        effects_ring(fx, c->ticket[holders].id.session);
}

/* Serves the queue as far as it goes; the dead at its head are taken out (P2). */
static void grant_next(struct claim *c, struct facts *f, struct effects *fx)
{
    for (;;) {
        uint32_t next = next_in_line(c);
        if (next >= c->ticket_count || !fits(c, &c->ticket[next]))
            return;
        if (f->grants_max > 0 && f->grants == f->grants_max)
            return;
        if (bury(c, f, next, fx))
            continue;
        bool jumped = next != claim_holders(c);
        grant(c, f, next, fx);
        if (jumped)
            ring_first_waiter(c, fx);
    }
}

/* Takes the dead out of the first `depth` tickets, and serves the queue.  Each ticket that it asks
 * about costs the store a question, so nobody asks about more than concerns him. */
static void settle(struct claim *c, struct facts *f, uint32_t depth, struct effects *fx)
{
    uint32_t count = c->ticket_count;
    for (uint32_t i = 0; i < depth;) {
        if (bury(c, f, i, fx))
            depth--;
        else
            i++;
    }
    grant_next(c, f, fx);
    if (c->ticket_count != count || (fx->changed && claim_holders(c) > 1))
        ring_first_waiter(c, fx);
}

/* ---- where a ticket stands ----------------------------------------------------------------- */

/* When the first in line looks whether the session before it has run out: then; but as long as
 * that has been renewed in time, not before the safety net looks anyway.  Else who stands behind a
 * short ttl would read several times a second (P9).  It is in time with ttl/2 left: who vanishes
 * after that look is found ttl/2 and a notice interval later at most, within the printed gap. */
static struct instant first_look(const struct ticket *t, const struct facts *f,
                                 struct instant until)
{
    struct instant net = instant_add(f->now, SPAN(TIMING_NOTICE_MS));
    bool in_time = t->id.session != 0 && instant_diff(f->now, until).ms >= t->ttl.ms / 2;
    return instant_min(in_time && until.ms < net.ms ? net : until, t->until);
}

static void watch_for(const struct claim *c, uint32_t at, struct facts *f, struct standing *ret)
{
    uint32_t holders = claim_holders(c);
    uint32_t from = at == holders ? 0 : at - 1, to = at;
    ret->look_at = INSTANT_NEVER;
    ret->watch_count = 0;
    for (uint32_t i = from; i < to; i++) {
        const struct ticket *t = &c->ticket[i];
        struct instant until = INSTANT_NEVER;
        if (t->id.session != 0)
            f->liveness(f->oracle, t->id.session, &until);
        if (at == holders)
            ret->look_at = instant_min(ret->look_at, first_look(t, f, until));
        if (t->id.session != 0 && ret->watch_count < STANDING_WATCH_MAX)
            ret->watch[ret->watch_count++] = t->id.session;
    }
}

static enum verdict report(struct claim *c, const struct ticket *t, struct facts *f,
                           struct standing *ret)
{
    *ret = (struct standing){
        .state = t->state,
        .token = t->token,
        .until = t->until,
        .look_at = INSTANT_NEVER,
        .cause = t->end_cause,
        .by = t->end_by,
        .reason = t->end_reason,
        .as = t->as,
        .id = t->id,
    };
    if (ticket_holds(t))
        return VERDICT_HELD;
    watch_for(c, (uint32_t)(t - c->ticket), f, ret);
    return VERDICT_WAITING;
}

static enum verdict report_gone(const struct claim *c, uint64_t token, struct standing *ret)
{
    *ret = (struct standing){.token = token, .until = INSTANT_NEVER, .look_at = INSTANT_NEVER};
    for (uint32_t i = 0; token != 0 && i < c->past_count; i++) {
        if (c->past[i].token != token)
            continue;
        ret->cause = c->past[i].cause;
        ret->by = c->past[i].by;
        ret->reason = c->past[i].reason;
        break;
    }
    return VERDICT_GONE;
}

static void report_holder(const struct claim *c, struct standing *ret)
{
    *ret = (struct standing){.until = INSTANT_NEVER, .look_at = INSTANT_NEVER};
    if (c->ticket_count > 0) {
        ret->as = c->ticket[0].as;
        ret->token = c->ticket[0].token;
        ret->state = c->ticket[0].state;
        ret->id = c->ticket[0].id;
    }
}

/* ---- the rules ----------------------------------------------------------------------------- */

/* An idle record takes on the kind and the permits of who asks; a used one must agree. */
static bool agrees(struct claim *c, const struct ask *ask)
{
    if (claim_is_idle(c)) {
        c->kind = ask->kind;
        c->permits = ask->permits;
    }
    return c->kind == ask->kind && c->permits == ask->permits;
}

static struct ticket new_ticket(const struct ask *ask, const struct facts *f)
{
    struct ticket t = {
        .id = ask->id,
        .shared = ask->shared,
        .priority = ask->priority,
        .ttl = ask->ttl,
        .asked = f->now,
        .wall_ms = f->wall_ms,
        .vacant = SPAN(-1),
        .until = INSTANT_NEVER,
        .as = ask->as,
        .value = ask->value,
    };
    ticket_move(&t, TENURE_TICKET_WAITING);
    return t;
}

/* Takes a ticket out, settles, and serves who is next. */
static enum verdict leave(struct claim *c, struct facts *f, struct ticket_id id,
                          struct effects *fx)
{
    struct ticket *mine = claim_find(c, id);
    struct instant ended;
    /* One that is dead already was lost before it could be given back (P4). */
    if (mine && ticket_holds(mine) && mine->end_cause == CAUSE_NONE &&
        death_of(mine, f, &ended) != CAUSE_NONE)
        mine = NULL;
    if (!mine) {
        settle(c, f, claim_holders(c), fx);
        return VERDICT_GONE;
    }
    uint32_t at = (uint32_t)(mine - c->ticket);
    bool waited = !ticket_holds(mine);
    enum cause cause = mine->end_cause != CAUSE_NONE ? mine->end_cause : CAUSE_RELEASED;
    end_tenure(c, f, at, cause, f->now, fx);
    if (waited && at < c->ticket_count)
        effects_ring(fx, c->ticket[at].id.session);
    uint32_t left = c->ticket_count;
    settle(c, f, claim_holders(c), fx);
    if (left != c->ticket_count || (!waited && claim_holders(c) != 1))
        ring_first_waiter(c, fx);
    return VERDICT_DONE;
}

enum verdict rules_ask(struct claim *c, struct facts *f, const struct ask *ask,
                       struct effects *fx, struct standing *ret)
{
    assert(claim_check(c));
    effects_clear(fx);
    if (ask->instead.session != 0)
        (void)leave(c, f, ask->instead, fx);
    else
        settle(c, f, claim_holders(c), fx);
    struct ticket *mine = claim_find(c, ask->id);
    if (mine)
        return report(c, mine, f, ret);
    report_holder(c, ret);
    struct instant until;
    if (f->liveness(f->oracle, ask->id.session, &until) != LIVE)
        return VERDICT_DEAD;
    if (!agrees(c, ask))
        return VERDICT_CONFLICT;
    if (c->ticket_count == CLAIM_TICKETS_MAX)
        return VERDICT_CROWDED;

    bool owed = effects_rings(fx, ask->id.session); /* for another ticket of it */
    struct ticket t = new_ticket(ask, f);
    claim_enqueue(c, &t);
    grant_next(c, f, fx);
    mine = claim_find(c, ask->id);
    assert(mine != NULL);
    if (ask->try_only && !ticket_holds(mine)) {
        claim_remove(c, (uint32_t)(mine - c->ticket));
        return VERDICT_REFUSED;
    }
    touch(c, f, fx);
    if (!owed)
        effects_unring(fx, ask->id.session); /* who asks is told by the verdict */
    uint32_t behind = (uint32_t)(mine - c->ticket) + 1;
    if (!ticket_holds(mine) && behind < c->ticket_count)
        effects_ring(fx, c->ticket[behind].id.session); /* somebody new is in front of it */
    if (!ticket_holds(mine) && claim_holders(c) == 1)
        fx->next = c->ticket[0].id.session;
    assert(claim_check(c));
    return report(c, mine, f, ret);
}

enum verdict rules_look(struct claim *c, struct facts *f, struct ticket_id id, uint64_t token,
                        struct effects *fx, struct standing *ret)
{
    assert(claim_check(c));
    effects_clear(fx);
    struct ticket *mine = claim_find(c, id);
    /* What is in front of it; a holder, too, looks at all who hold. */
    uint32_t ahead = mine ? (uint32_t)(mine - c->ticket) + 1 : 0;
    uint32_t holders = claim_holders(c);
    settle(c, f, ahead > holders ? ahead : holders, fx);
    assert(claim_check(c));
    mine = claim_find(c, id);
    return mine ? report(c, mine, f, ret) : report_gone(c, token, ret);
}

enum verdict rules_leave(struct claim *c, struct facts *f, struct ticket_id id,
                         struct effects *fx)
{
    assert(claim_check(c));
    effects_clear(fx);
    enum verdict verdict = leave(c, f, id, fx);
    assert(claim_check(c));
    return verdict;
}

enum verdict rules_serve(struct claim *c, struct facts *f, struct ticket_id id,
                         const struct text *value, struct effects *fx)
{
    effects_clear(fx);
    settle(c, f, claim_holders(c), fx);
    struct ticket *mine = claim_find(c, id);
    if (!mine || !ticket_holds(mine) || mine->state == TENURE_TICKET_ENDING)
        return VERDICT_GONE;
    if (value && !text_equal(*value, mine->value)) {
        mine->value = *value;
        touch(c, f, fx);
    }
    if (!value && mine->state == TENURE_TICKET_HELD) {
        ticket_move(mine, TENURE_TICKET_SERVING);
        touch(c, f, fx);
    }
    return VERDICT_DONE;
}

enum verdict rules_lease_take(struct claim *c, struct facts *f, const struct ask *ask,
                              struct effects *fx, struct standing *ret)
{
    assert(claim_check(c) && ask->id.session == 0);
    effects_clear(fx);
    settle(c, f, claim_holders(c), fx);
    struct ticket *mine = claim_find(c, ask->id);
    if (mine)
        return report(c, mine, f, ret);
    report_holder(c, ret);
    if (!agrees(c, ask))
        return VERDICT_CONFLICT;
    if (c->ticket_count > 0)
        return VERDICT_REFUSED;
    struct ticket t = new_ticket(ask, f);
    t.until = instant_add(f->now, ask->ttl);
    claim_enqueue(c, &t);
    grant_next(c, f, fx);
    mine = claim_find(c, ask->id);
    assert(mine && ticket_holds(mine) && claim_check(c));
    return report(c, mine, f, ret);
}

/* The lease with this token, or NULL. */
static struct ticket *lease_of(struct claim *c, struct facts *f, uint64_t token,
                               struct effects *fx)
{
    effects_clear(fx);
    settle(c, f, claim_holders(c), fx);
    struct ticket *t = claim_find_token(c, token);
    return t && t->id.session == 0 ? t : NULL;
}

enum verdict rules_lease_renew(struct claim *c, struct facts *f, uint64_t token, struct span ttl,
                               struct effects *fx)
{
    struct ticket *t = lease_of(c, f, token, fx);
    if (!t)
        return VERDICT_GONE;
    t->ttl = ttl;
    t->until = instant_add(f->now, ttl);
    touch(c, f, fx);
    return VERDICT_DONE;
}

enum verdict rules_lease_drop(struct claim *c, struct facts *f, uint64_t token,
                              struct effects *fx)
{
    struct ticket *t = lease_of(c, f, token, fx);
    return t ? rules_leave(c, f, t->id, fx) : VERDICT_GONE;
}

/* Tells a live holder to stop: it keeps its seat for at most its ttl from now, which is later
 * than any deadline that it can have derived from a renewal sent before this. */
static void tell_to_stop(struct ticket *t, const struct facts *f, struct effects *fx)
{
    if (t->state != TENURE_TICKET_ENDING)
        ticket_move(t, TENURE_TICKET_ENDING);
    t->until = instant_min(t->until, instant_add(f->now, t->ttl));
    fx->notice = t->id.session;
    effects_ring(fx, t->id.session);
}

enum verdict rules_end(struct claim *c, struct facts *f, uint64_t token, enum cause cause,
                       struct text by, struct text reason, struct effects *fx)
{
    assert(claim_check(c));
    effects_clear(fx);
    struct ticket *t = claim_find_token(c, token);
    if (!t) {
        settle(c, f, claim_holders(c), fx);
        return VERDICT_GONE;
    }
    struct instant ended;
    bool dead = death_of(t, f, &ended) != CAUSE_NONE;
    t->end_cause = cause;
    t->end_by = by;
    t->end_reason = reason;
    touch(c, f, fx);
    if (dead || t->id.session == 0) {
        end_tenure(c, f, (uint32_t)(t - c->ticket), cause, dead ? ended : f->now, fx);
        settle(c, f, claim_holders(c), fx);
        ring_first_waiter(c, fx);
    } else {
        tell_to_stop(t, f, fx);
    }
    assert(claim_check(c));
    return VERDICT_DONE;
}

enum verdict rules_transfer(struct claim *c, struct facts *f, struct text to, struct text by,
                            struct effects *fx, struct standing *ret)
{
    assert(claim_check(c));
    effects_clear(fx);
    settle(c, f, c->ticket_count, fx);
    *ret = (struct standing){.until = INSTANT_NEVER, .look_at = INSTANT_NEVER};
    if (claim_holders(c) == 0)
        return VERDICT_GONE;
    if (c->kind != TENURE_ELECTION)
        return VERDICT_CONFLICT;
    struct ticket *leader = &c->ticket[0];
    report(c, leader, f, ret);
    uint32_t candidate = claim_find_waiting(c, to);
    if (candidate == c->ticket_count)
        return VERDICT_GONE;
    c->prefer = to;
    leader->end_cause = CAUSE_TRANSFERRED;
    leader->end_by = by;
    leader->end_reason = to;
    ret->reason = to;
    ret->by = c->ticket[candidate].as;
    tell_to_stop(leader, f, fx);
    touch(c, f, fx);
    assert(claim_check(c));
    return VERDICT_DONE;
}

enum verdict rules_rollback(struct claim *c, struct facts *f, struct text to, struct text former,
                            struct text by, struct effects *fx, struct standing *ret)
{
    assert(claim_check(c));
    effects_clear(fx);
    settle(c, f, c->ticket_count, fx);
    struct ticket *leader = claim_holders(c) > 0 ? &c->ticket[0] : NULL;
    *ret = (struct standing){.until = INSTANT_NEVER, .look_at = INSTANT_NEVER};
    if (leader && leader->state == TENURE_TICKET_SERVING && ticket_is_meant(leader, to))
        return report(c, leader, f, ret);
    c->prefer = former;
    touch(c, f, fx);
    if (leader && leader->state == TENURE_TICKET_HELD && ticket_is_meant(leader, to)) {
        leader->end_cause = CAUSE_ROLLED_BACK;
        leader->end_by = by;
        leader->end_reason = former;
        tell_to_stop(leader, f, fx);
    }
    assert(claim_check(c));
    return VERDICT_DONE;
}

enum verdict rules_sweep(struct claim *c, struct facts *f, struct effects *fx)
{
    assert(claim_check(c));
    effects_clear(fx);
    settle(c, f, c->ticket_count, fx);
    assert(claim_check(c));
    return VERDICT_DONE;
}
