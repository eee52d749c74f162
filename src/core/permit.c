#include "core/permit.h"

#include "core/name.h"
#include "core/time.h"

#define EXPORT __attribute__((visibility("default")))

_Static_assert(TENURE_PERMIT_ROLE_MAX == NAME_BYTES_MAX, "a role is a name");

bool permit_word_check(struct text word, size_t max)
{
    return word.len <= max && name_check(word, NULL) == NAME_FINE;
}

bool permit_check(const tenure_permit *p)
{
    return permit_word_check(text_of(p->role), TENURE_PERMIT_ROLE_MAX) &&
           permit_word_check(text_of(p->resource), TENURE_PERMIT_RESOURCE_MAX) &&
           permit_word_check(text_of(p->operation), TENURE_PERMIT_OPERATION_MAX) &&
           p->epoch > 0 && p->serial > 0 && p->issued_ms >= 0 && p->not_after_ms > p->issued_ms &&
           p->not_after_ms - p->issued_ms <= TENURE_PERMIT_VALID_MAX_MS &&
           p->clock_error_ms >= 0 && p->clock_error_ms <= TENURE_PERMIT_CLOCK_ERROR_MAX_MS;
}

bool permit_mark_check(const tenure_permit_mark *m)
{
    if (m->seen_count > TENURE_PERMIT_SEEN_MAX)
        return false;
    for (uint32_t i = 0; i < m->seen_count; i++) {
        if (m->seen[i] <= (i == 0 ? m->floor : m->seen[i - 1]))
            return false;
    }
    return true;
}

/* ---- the mark ------------------------------------------------------------------------------- */

/* A higher epoch: what was seen under the ones before counts no more, since they are refused. */
static void raise(tenure_permit_mark *m, uint64_t epoch)
{
    memset(m, 0, sizeof *m);
    m->epoch = epoch;
}

static bool is_seen(const tenure_permit_mark *m, uint64_t serial)
{
    if (serial <= m->floor)
        return true;
    for (uint32_t i = 0; i < m->seen_count; i++) {
        if (m->seen[i] == serial)
            return true;
    }
    return false;
}

/* When there is no more room the lowest is forgotten, and with it all that are lower: a late permit
 * is refused rather than one admitted twice. */
static void remember(tenure_permit_mark *m, uint64_t serial)
{
    uint32_t at = 0;
    if (m->seen_count == TENURE_PERMIT_SEEN_MAX) {
        if (serial < m->seen[0]) {
            m->floor = serial;
            return;
        }
        m->floor = m->seen[0];
        memmove(m->seen, m->seen + 1, --m->seen_count * sizeof m->seen[0]);
    }
    while (at < m->seen_count && m->seen[at] < serial)
        at++;
    memmove(m->seen + at + 1, m->seen + at, (m->seen_count - at) * sizeof m->seen[0]);
    m->seen[at] = serial;
    m->seen_count++;
}

/* ---- the rule ------------------------------------------------------------------------------- */

/* Ours may be behind by as much as was stated, and so may have been the one that dated it. */
static tenure_permit_verdict judge_time(const tenure_permit *p, const tenure_permit_demand *d)
{
    if (d->clock_error_ms < 0 || d->clock_error_ms > TENURE_PERMIT_CLOCK_ERROR_MAX_MS)
        return TENURE_PERMIT_UNKNOWN_CLOCK;
    int64_t latest = ms_add(ms_add(d->now_ms, d->clock_error_ms), p->clock_error_ms);
    if (latest < p->issued_ms)
        return TENURE_PERMIT_EARLY;
    return latest < p->not_after_ms ? TENURE_PERMIT_ADMIT : TENURE_PERMIT_EXPIRED;
}

static bool is(const char *said, const char *demanded)
{
    return demanded && strcmp(said, demanded) == 0;
}

EXPORT tenure_permit_verdict tenure_permit_judge(const tenure_permit *p,
                                                 const tenure_permit_demand *d,
                                                 tenure_permit_mark *mark)
{
    if (!is(p->role, d->role))
        return TENURE_PERMIT_WRONG_ROLE;
    if (!is(p->resource, d->resource))
        return TENURE_PERMIT_WRONG_RESOURCE;
    if (p->epoch > mark->epoch)
        raise(mark, p->epoch);
    if (!is(p->operation, d->operation))
        return TENURE_PERMIT_WRONG_OPERATION;
    if (p->epoch < mark->epoch)
        return TENURE_PERMIT_STALE;
    tenure_permit_verdict verdict = judge_time(p, d);
    if (verdict != TENURE_PERMIT_ADMIT)
        return verdict;
    bool seen = is_seen(mark, p->serial);
    if (seen && !d->retries)
        return TENURE_PERMIT_REPLAYED;
    if (!seen)
        remember(mark, p->serial);
    return TENURE_PERMIT_ADMIT;
}

EXPORT const char *tenure_permit_verdict_text(tenure_permit_verdict verdict)
{
    static const char *const text[] = {
        "unknown",         "admit", "malformed",     "unknown key", "altered", "wrong role",
        "wrong resource",  "wrong operation", "stale", "unknown clock", "early", "expired",
        "replayed",
    };
    return verdict <= TENURE_PERMIT_REPLAYED ? text[verdict] : text[0];
}
