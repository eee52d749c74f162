#include "wire/entry.h"

#include "core/name.h"

#define MAGIC 0xc8
#define VERSION 1

static void put_change(struct writer *w, const struct entry_change *c)
{
    put_u64(w, c->version);
    put_u64(w, c->deleted);
    put_u64(w, c->bytes);
    put_text(w, c->by);
    put_text(w, c->name);
    put_u64(w, c->epoch);
    put_i64(w, c->wall_ms);
}

static void get_change(struct reader *r, struct entry_change *c)
{
    c->version = get_max(r, INT64_MAX);
    c->deleted = get_max(r, 1);
    c->bytes = get_max(r, ENTRY_VALUE_BYTES_MAX);
    c->by = get_text(r, CLAIM_AS_BYTES_MAX);
    c->name = get_text(r, NAME_BYTES_MAX);
    c->epoch = get_u64(r);
    c->wall_ms = get_i64(r);
}

size_t entry_encode(const struct entry *e, void *buf, size_t cap)
{
    struct writer w = {buf, (unsigned char *)buf + cap, false};
    put_u64(&w, MAGIC);
    put_u64(&w, VERSION);
    put_i64(&w, e->touched.ms);
    put_u64(&w, e->change_count);
    for (uint32_t i = 0; i < e->change_count; i++)
        put_change(&w, &e->change[i]);
    put_text(&w, e->value);
    return writer_length(&w, buf);
}

enum record_flaw entry_decode(const void *bytes, size_t len, struct entry *e)
{
    e->value = (struct text){NULL, 0};
    e->touched = INSTANT(0);
    e->change_count = 0;
    if (len == 0)
        return RECORD_FINE;
    struct reader r = {bytes, (const unsigned char *)bytes + len, RECORD_FINE};
    if (get_u64(&r) != MAGIC || get_u64(&r) != VERSION)
        return RECORD_FOREIGN;
    e->touched = INSTANT(get_i64(&r));
    e->change_count = (uint32_t)get_max(&r, ENTRY_CHANGES_MAX);
    for (uint32_t i = 0; i < e->change_count && r.flaw == RECORD_FINE; i++)
        get_change(&r, &e->change[i]);
    e->value = get_bytes(&r, ENTRY_VALUE_BYTES_MAX);
    reader_finish(&r);
    if (r.flaw == RECORD_FINE && (e->change_count == 0 || !entry_check(e)))
        r.flaw = RECORD_INVALID;
    return r.flaw;
}
