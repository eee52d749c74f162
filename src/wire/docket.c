#include "wire/docket.h"

#include "core/name.h"

#define MAGIC 0xc9
#define VERSION 1

static void put_grant(struct writer *w, const struct grant *g)
{
    put_u64(w, g->serial);
    put_u64(w, g->ticket);
    put_text(w, g->role);
    put_u64(w, g->epoch);
    put_text(w, g->by);
    put_text(w, g->revoked_by);
    put_u64(w, g->shared);
    put_i64(w, g->until.ms);
    put_i64(w, g->issued_ms);
    put_i64(w, g->not_after_ms);
}

static void get_grant(struct reader *r, struct grant *g)
{
    g->serial = get_max(r, INT64_MAX);
    g->ticket = get_u64(r);
    g->role = get_text(r, NAME_BYTES_MAX);
    g->epoch = get_u64(r);
    g->by = get_text(r, CLAIM_AS_BYTES_MAX);
    g->revoked_by = get_text(r, CLAIM_AS_BYTES_MAX);
    g->shared = get_max(r, 1);
    g->until = INSTANT(get_i64(r));
    g->issued_ms = get_i64(r);
    g->not_after_ms = get_i64(r);
}

size_t docket_encode(const struct docket *d, void *buf, size_t cap)
{
    struct writer w = {buf, (unsigned char *)buf + cap, false};
    put_u64(&w, MAGIC);
    put_u64(&w, VERSION);
    put_i64(&w, d->touched.ms);
    put_u64(&w, d->count);
    for (uint32_t i = 0; i < d->count; i++)
        put_grant(&w, &d->grant[i]);
    return writer_length(&w, buf);
}

enum record_flaw docket_decode(const void *bytes, size_t len, struct docket *d)
{
    d->touched = INSTANT(0);
    d->count = 0;
    if (len == 0)
        return RECORD_FINE;
    struct reader r = {bytes, (const unsigned char *)bytes + len, RECORD_FINE};
    if (get_u64(&r) != MAGIC || get_u64(&r) != VERSION)
        return RECORD_FOREIGN;
    d->touched = INSTANT(get_i64(&r));
    d->count = (uint32_t)get_max(&r, DOCKET_GRANTS_MAX);
    for (uint32_t i = 0; i < d->count && r.flaw == RECORD_FINE; i++)
        get_grant(&r, &d->grant[i]);
    reader_finish(&r);
    if (r.flaw == RECORD_FINE && (d->count == 0 || !docket_check(d)))
        r.flaw = RECORD_INVALID;
    return r.flaw;
}
