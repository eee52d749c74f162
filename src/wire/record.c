/* wire/record.c - see record.h.  A reader and a writer of the same shape; a failed step makes
 * every later one a no-op, so that only the end has to be checked. */
#include "wire/record.h"

#define MAGIC 0xc7
#define VERSION 1

struct writer {
    unsigned char *at, *end;
    bool failed;
};

struct reader {
    const unsigned char *at, *end;
    enum record_flaw flaw;
};

/* ---- numbers and texts --------------------------------------------------------------------- */

static void put_u64(struct writer *w, uint64_t v)
{
    if (v < 0x80 && w->at < w->end) { /* nearly all are */
        *w->at++ = (unsigned char)v;
        return;
    }
    do {
        if (w->at == w->end) {
            w->failed = true;
            return;
        }
        *w->at++ = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        v >>= 7;
    } while (v != 0);
}

/* Signed numbers zigzag, so that small negative ones are short. */
static void put_i64(struct writer *w, int64_t v)
{
    put_u64(w, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void put_text(struct writer *w, struct text t)
{
    put_u64(w, t.len);
    if (w->failed || (size_t)(w->end - w->at) < t.len) {
        w->failed = true;
        return;
    }
    if (t.len > 0)
        memcpy(w->at, t.at, t.len);
    w->at += t.len;
}

static void fail(struct reader *r, enum record_flaw flaw)
{
    if (r->flaw == RECORD_FINE)
        r->flaw = flaw;
    r->at = r->end;
}

static uint64_t get_u64(struct reader *r)
{
    uint64_t v = 0;
    if (r->at < r->end && *r->at < 0x80) /* nearly all are */
        return *r->at++;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end) {
            fail(r, RECORD_TRUNCATED);
            return 0;
        }
        unsigned char b = *r->at++;
        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            if (b == 0 && shift > 0)
                break; /* an overlong form: two spellings of one number */
            return v;
        }
    }
    fail(r, RECORD_INVALID);
    return 0;
}

static int64_t get_i64(struct reader *r)
{
    uint64_t v = get_u64(r);
    return (int64_t)(v >> 1 ^ (~(v & 1) + 1));
}

static uint64_t get_max(struct reader *r, uint64_t max)
{
    uint64_t v = get_u64(r);
    if (v > max) {
        fail(r, RECORD_INVALID);
        return 0;
    }
    return v;
}

static struct text get_text(struct reader *r, size_t max)
{
    size_t len = (size_t)get_max(r, max);
    if ((size_t)(r->end - r->at) < len) {
        fail(r, RECORD_TRUNCATED);
        return (struct text){NULL, 0};
    }
    struct text t = {len > 0 ? (const char *)r->at : NULL, len};
    r->at += len;
    if (!text_is_clean(t))
        fail(r, RECORD_INVALID);
    return t;
}

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
    struct instant t = INSTANT(ms_add(base.ms, get_i64(r)));
    if (t.ms == INSTANT_NEVER.ms)
        fail(r, RECORD_INVALID);
    return t;
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
        fail(r, RECORD_INVALID);
    t->id.session = get_u64(r);
    t->id.serial = get_u64(r);
    int64_t priority = get_i64(r);
    if (priority < -CLAIM_PRIORITY_MAX || priority > CLAIM_PRIORITY_MAX)
        fail(r, RECORD_INVALID);
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
        fail(r, RECORD_INVALID);
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
    return w.failed ? 0 : (size_t)(w.at - (unsigned char *)buf);
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
    if (r.flaw == RECORD_FINE && r.at != r.end)
        r.flaw = RECORD_TRAILING;
    if (r.flaw == RECORD_FINE && !claim_check_ids(c))
        r.flaw = RECORD_INVALID;
    return r.flaw;
}

const char *record_flaw_text(enum record_flaw flaw)
{
    static const char *const text[] = {
        "it is fine",
        "it is not a claim of this version of tenure",
        "it ends in the middle of a field",
        "it goes on after its end",
        "a field is out of range",
    };
    return flaw <= RECORD_INVALID ? text[flaw] : "unknown flaw";
}
