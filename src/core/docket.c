#include "core/docket.h"

#include "core/timing.h"

bool docket_check(const struct docket *d)
{
    for (uint32_t i = 0; i < d->count; i++) {
        const struct grant *g = &d->grant[i];
        if (g->serial == 0 || g->epoch == 0 || (i > 0 && g->serial >= g[-1].serial))
            return false;
        if (g->not_after_ms <= g->issued_ms)
            return false;
    }
    return true;
}

bool grant_is_live(const struct grant *g, struct instant now)
{
    return g->revoked_by.len == 0 && !instant_reached(now, g->until);
}

bool docket_is_forgotten(const struct docket *d, struct instant now, struct span history)
{
    for (uint32_t i = 0; i < d->count; i++) {
        if (grant_is_live(&d->grant[i], now))
            return false;
    }
    return instant_reached(now, instant_add(d->touched, history));
}

/* ---- granting ------------------------------------------------------------------------------- */

/* Where the ticket's grant is, or count. */
static uint32_t find_ticket(const struct docket *d, uint64_t ticket)
{
    uint32_t at = 0;
    while (at < d->count && d->grant[at].ticket != ticket)
        at++;
    return at;
}

/* TAKEN, CROWDED, or GRANTED when there is room. */
static enum docket_verdict find_room(const struct docket *d, struct instant now, bool shared,
                                     uint32_t *ret_at)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        if (!grant_is_live(&d->grant[i], now))
            continue;
        live++;
        *ret_at = i;
        if (!shared || !d->grant[i].shared)
            return DOCKET_TAKEN;
    }
    return live == DOCKET_GRANTS_MAX ? DOCKET_CROWDED : DOCKET_GRANTED;
}

/* How long the tenure is sure to stand if its holder falls silent, less what clocks may drift. */
static struct span sure(struct claim *held, const struct facts *f, uint64_t epoch)
{
    struct span left = rules_left(held, f, epoch);
    if (left.ms > TENURE_PERMIT_VALID_MAX_MS)
        left.ms = TENURE_PERMIT_VALID_MAX_MS;
    left.ms -= left.ms * TIMING_DRIFT_PERCENT / 100 + 1;
    return left;
}

/* Makes room at the front: the oldest that is over goes, if there are too many. */
static void make_room(struct docket *d, struct instant now)
{
    uint32_t at = d->count;
    if (d->count == DOCKET_GRANTS_MAX) {
        do
            at--;
        while (at > 0 && grant_is_live(&d->grant[at], now));
        d->count--;
    }
    memmove(d->grant + 1, d->grant, at * sizeof d->grant[0]);
    d->count++;
}

enum docket_verdict docket_grant(struct docket *d, struct claim *held,
                                 const struct facts *of_role, struct facts *f,
                                 const struct docket_terms *terms, uint32_t *ret_at, bool *ret_new)
{
    *ret_new = false;
    *ret_at = find_ticket(d, terms->ticket);
    if (*ret_at < d->count)
        return DOCKET_GRANTED;
    if (!rules_stands(held, of_role, terms->epoch))
        return DOCKET_NOT_HELD;
    if (held->permits != 1 || claim_find_token(held, terms->epoch)->shared)
        return DOCKET_NOT_ALONE;
    enum docket_verdict verdict = find_room(d, f->now, terms->shared, ret_at);
    if (verdict != DOCKET_GRANTED)
        return verdict;
    struct span valid = terms->valid.ms > 0 ? terms->valid : sure(held, of_role, terms->epoch);
    if (valid.ms < terms->least.ms)
        return DOCKET_TOO_LATE;
    struct span longest = SPAN(valid.ms + valid.ms * TIMING_DRIFT_PERCENT / 100 + 1);
    uint64_t serial = facts_draw(f, d->count > 0 ? d->grant[0].serial : 0);
    make_room(d, f->now);
    d->touched = f->now;
    d->grant[0] = (struct grant){
        .serial = serial,
        .ticket = terms->ticket,
        .role = terms->role,
        .epoch = terms->epoch,
        .by = terms->by,
        .shared = terms->shared,
        .until = instant_add(f->now, longest),
        .issued_ms = terms->wall_ms,
        .not_after_ms = ms_add(terms->wall_ms, valid.ms),
    };
    *ret_at = 0;
    *ret_new = true;
    return DOCKET_GRANTED;
}

enum docket_verdict docket_revoke(struct docket *d, const struct facts *f, uint64_t serial,
                                  struct text by, bool *ret_new)
{
    uint32_t at = 0;
    *ret_new = false;
    while (at < d->count && d->grant[at].serial != serial)
        at++;
    if (at == d->count)
        return DOCKET_NONE;
    struct grant *g = &d->grant[at];
    *ret_new = grant_is_live(g, f->now);
    if (!*ret_new)
        return text_equal(g->revoked_by, by) ? DOCKET_GRANTED : DOCKET_NONE;
    g->revoked_by = by;
    d->touched = f->now;
    return DOCKET_GRANTED;
}
