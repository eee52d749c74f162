#include "wire/record.h"

#define MAGIC 0xc7
#define VERSION 1

/* ---- tickets and history ------------------------------------------------------------------- */

/* Instants are written relative to the record's own `touched`: short, and "never" stays one. */
static void put_instant(struct writer *w, struct instant base, struct instant t)
{
    bool never = t.ms == INSTANT_NEVER.ms;
    put_u64(w, never);
    if (!never)
        put_i64(w, instant_diff(base, t).ms);
}

static struct instant get_instant(struct reader *r, struct instant base)
{
    if (get_max(r, 1))
        return INSTANT_NEVER;
    int64_t ms, since = get_i64(r);
    if (__builtin_add_overflow(base.ms, since, &ms) || ms == INSTANT_NEVER.ms)
        reader_fail(r, RECORD_INVALID);
    return INSTANT(ms);
}

static void put_ticket(struct writer *w, const struct claim *c, const struct ticket *t)
{
    put_u64(w, (uint64_t)t->state << 1 | t->shared);
    put_u64(w, t->id.session);
    put_u64(w, t->id.serial);
    put_i64(w, t->priority);
    put_u64(w, t->token);
    put_i64(w, t->ttl.ms);
    put_instant(w, c->touched, t->asked);
    put_instant(w, c->touched, t->granted);
    put_i64(w, t->wall_ms);
    put_i64(w, t->vacant.ms);
    put_instant(w, c->touched, t->until);
    put_text(w, t->as);
    put_text(w, t->value);
    put_u64(w, t->end_cause);
    if (t->end_cause != CAUSE_NONE) {
        put_text(w, t->end_by);
        put_text(w, t->end_reason);
    }
}

static void get_ticket(struct reader *r, const struct claim *c, struct ticket *t)
{
    uint64_t head = get_max(r, TENURE_TICKET_ENDING << 1 | 1);
    *t = (struct ticket){.state = (tenure_ticket_state)(head >> 1), .shared = head & 1};
    if (t->state == 0)
        reader_fail(r, RECORD_INVALID);
    t->id.session = get_u64(r);
    t->id.serial = get_u64(r);
    int64_t priority = get_i64(r);
    if (priority < -CLAIM_PRIORITY_MAX || priority > CLAIM_PRIORITY_MAX)
        reader_fail(r, RECORD_INVALID);
    t->priority = (int32_t)priority;
    t->token = get_u64(r);
    t->ttl = SPAN(get_i64(r));
    t->asked = get_instant(r, c->touched);
    t->granted = get_instant(r, c->touched);
    t->wall_ms = get_i64(r);
    t->vacant = SPAN(get_i64(r));
    t->until = get_instant(r, c->touched);
    t->as = get_text(r, CLAIM_AS_BYTES_MAX);
    t->value = get_text(r, CLAIM_VALUE_BYTES_MAX);
    t->end_cause = (enum cause)get_max(r, CAUSE_LAST);
    if (t->end_cause != CAUSE_NONE) {
        t->end_by = get_text(r, CLAIM_AS_BYTES_MAX);
        t->end_reason = get_text(r, CLAIM_REASON_BYTES_MAX);
    }
    if (t->ttl.ms < 0)
        reader_fail(r, RECORD_INVALID);
}

static void put_past(struct writer *w, const struct past *p)
{
    put_u64(w, p->token);
    put_text(w, p->as);
    put_u64(w, p->cause);
    put_text(w, p->by);
    put_text(w, p->reason);
    put_i64(w, p->held.ms);
    put_i64(w, p->vacant.ms);
    put_i64(w, p->granted_wall_ms);
    put_i64(w, p->ended_wall_ms);
}

static void get_past(struct reader *r, struct past *p)
{
    p->token = get_u64(r);
    p->as = get_text(r, CLAIM_AS_BYTES_MAX);
    p->cause = (enum cause)get_max(r, CAUSE_LAST);
    p->by = get_text(r, CLAIM_AS_BYTES_MAX);
    p->reason = get_text(r, CLAIM_REASON_BYTES_MAX);
    p->held = SPAN(get_i64(r));
    p->vacant = SPAN(get_i64(r));
    p->granted_wall_ms = get_i64(r);
    p->ended_wall_ms = get_i64(r);
}

/* ---- the record ---------------------------------------------------------------------------- */

size_t record_encode(const struct claim *c, void *buf, size_t cap)
{
    struct writer w = {buf, (unsigned char *)buf + cap, false};
    put_u64(&w, MAGIC);
    put_u64(&w, VERSION);
    put_u64(&w, c->kind);
    put_u64(&w, c->permits);
    put_u64(&w, c->last_token);
    put_u64(&w, c->grants);
    put_i64(&w, c->touched.ms);
    put_instant(&w, c->touched, c->vacant_since);
    put_text(&w, c->prefer);
    put_u64(&w, c->ticket_count);
    for (uint32_t i = 0; i < c->ticket_count; i++)
        put_ticket(&w, c, &c->ticket[i]);
    put_u64(&w, c->past_count);
    for (uint32_t i = 0; i < c->past_count; i++)
        put_past(&w, &c->past[i]);
    return writer_length(&w, buf);
}

enum record_flaw record_decode(const void *bytes, size_t len, struct claim *c)
{
    claim_clear(c);
    if (len == 0)
        return RECORD_FINE;
    struct reader r = {bytes, (const unsigned char *)bytes + len, RECORD_FINE};
    if (get_u64(&r) != MAGIC || get_u64(&r) != VERSION)
        return RECORD_FOREIGN;
    c->kind = (tenure_kind)get_max(&r, TENURE_ELECTION);
    c->permits = (uint32_t)get_max(&r, CLAIM_PERMITS_MAX);
    c->last_token = get_max(&r, INT64_MAX); /* SQL's integers end there, too */
    c->grants = get_u64(&r);
    c->touched = INSTANT(get_i64(&r));
    c->vacant_since = get_instant(&r, c->touched);
    c->prefer = get_text(&r, CLAIM_AS_BYTES_MAX);
    c->ticket_count = (uint32_t)get_max(&r, CLAIM_TICKETS_MAX);
    for (uint32_t i = 0; i < c->ticket_count && r.flaw == RECORD_FINE; i++)
        get_ticket(&r, c, &c->ticket[i]);
    c->past_count = (uint32_t)get_max(&r, CLAIM_PAST_MAX);
    for (uint32_t i = 0; i < c->past_count && r.flaw == RECORD_FINE; i++)
        get_past(&r, &c->past[i]);
    reader_finish(&r);
    if (r.flaw == RECORD_FINE && !claim_check_ids(c))
        r.flaw = RECORD_INVALID;
    return r.flaw;
}
