#include "lib/decision.h"

static enum verdict resign(struct decision *d, struct claim *c, struct store_view *view)
{
    rules_sweep(c, &view->facts, view->fx);
    if (claim_holders(c) == 0)
        return VERDICT_GONE;
    if (c->kind != TENURE_ELECTION)
        return VERDICT_CONFLICT;
    d->standing.token = c->ticket[0].token;
    return rules_end(c, &view->facts, c->ticket[0].token, CAUSE_RESIGNED, d->by, d->reason,
                     view->fx);
}

static enum verdict decide(struct decision *d, struct claim *c, struct store_view *view)
{
    struct facts *f = &view->facts;
    struct effects *fx = view->fx;
    struct standing *ret = &d->standing;
    switch (d->rule) {
    case DECIDE_ASK:
        return rules_ask(c, f, &d->ask, fx, ret);
    case DECIDE_LOOK:
        return rules_look(c, f, d->id, d->token, fx, ret);
    case DECIDE_LEAVE:
        return rules_leave(c, f, d->id, fx);
    case DECIDE_SERVE:
        return rules_serve(c, f, d->id, NULL, fx);
    case DECIDE_PUBLISH:
        return rules_serve(c, f, d->id, &d->value, fx);
    case DECIDE_LEASE_TAKE:
        return rules_lease_take(c, f, &d->ask, fx, ret);
    case DECIDE_LEASE_RENEW:
        return rules_lease_renew(c, f, d->token, d->ttl, fx);
    case DECIDE_LEASE_DROP:
        return rules_lease_drop(c, f, d->token, fx);
    case DECIDE_END:
        return rules_end(c, f, d->token, d->cause, d->by, d->reason, fx);
    case DECIDE_RESIGN:
        return resign(d, c, view);
    case DECIDE_TRANSFER:
        return rules_transfer(c, f, d->to, d->by, fx, ret);
    case DECIDE_ROLLBACK:
        return rules_rollback(c, f, d->to, d->former, d->by, fx, ret);
    case DECIDE_SWEEP:
        return rules_sweep(c, f, fx);
    }
    return VERDICT_GONE;
}

/* Copies a borrowed text into a buffer of the decision and points the standing there. */
static void keep(struct text *t, char *buf, size_t cap)
{
    size_t n = t->len < cap - 1 ? t->len : cap - 1;
    if (n > 0)
        memcpy(buf, t->at, n);
    buf[n] = '\0';
    *t = (struct text){buf, n};
}

/* Whether nothing is left that anybody could want to know. */
static bool is_forgettable(const struct claim *c, struct instant now)
{
    struct instant end = instant_add(c->touched, SPAN(DECISION_HISTORY_MS));
    return claim_is_idle(c) && (c->past_count == 0 || instant_reached(now, end));
}

int decision_apply(void *arg, struct store_view *view)
{
    struct decision *d = arg;
    struct claim *c = d->scratch;
    d->flaw = record_decode(view->in[0].bytes, view->in[0].len, c);
    if (d->flaw != RECORD_FINE)
        return d->flaw == RECORD_FOREIGN ? TENURE_FOREIGN : TENURE_CORRUPT;
    d->kind = c->kind;
    d->permits = c->permits;
    d->now = view->facts.now;
    d->behind = view->facts.behind;
    d->standing = (struct standing){.until = INSTANT_NEVER, .look_at = INSTANT_NEVER};
    enum verdict verdict = decide(d, c, view);

    view->granted = d->rule == DECIDE_LOOK && d->token == 0 && verdict == VERDICT_HELD;
    view->undisturbed = d->undisturbed;

    bool exists = view->in[0].len > 0;
    if (exists && is_forgettable(c, view->facts.now)) {
        view->out[0].what = STORE_DELETE;
        if (view->facts.token_floor < c->last_token)
            view->facts.token_floor = c->last_token; /* P1: tokens survive the record */
    } else if (view->fx->changed && !is_forgettable(c, view->facts.now)) {
        view->out[0].len = record_encode(c, view->out[0].bytes, STORE_RECORD_MAX);
        if (view->out[0].len == 0)
            return TENURE_CROWDED;
        view->out[0].what = STORE_PUT;
    }
    keep(&d->standing.as, d->as, sizeof d->as);
    keep(&d->standing.by, d->ended_by, sizeof d->ended_by);
    keep(&d->standing.reason, d->ended_reason, sizeof d->ended_reason);
    return (int)verdict;
}
