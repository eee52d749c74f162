#include "wire/bytes.h"

void put_u64(struct writer *w, uint64_t v)
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
void put_i64(struct writer *w, int64_t v)
{
    put_u64(w, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

void put_text(struct writer *w, struct text t)
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

void reader_fail(struct reader *r, enum record_flaw flaw)
{
    if (r->flaw == RECORD_FINE)
        r->flaw = flaw;
    r->at = r->end;
}

uint64_t get_u64(struct reader *r)
{
    uint64_t v = 0;
    if (r->at < r->end && *r->at < 0x80) /* nearly all are */
        return *r->at++;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end) {
            reader_fail(r, RECORD_TRUNCATED);
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
    reader_fail(r, RECORD_INVALID);
    return 0;
}

int64_t get_i64(struct reader *r)
{
    uint64_t v = get_u64(r);
    return (int64_t)(v >> 1 ^ (~(v & 1) + 1));
}

uint64_t get_max(struct reader *r, uint64_t max)
{
    uint64_t v = get_u64(r);
    if (v > max) {
        reader_fail(r, RECORD_INVALID);
        return 0;
    }
    return v;
}

struct text get_bytes(struct reader *r, size_t max)
{
    size_t len = (size_t)get_max(r, max);
    if ((size_t)(r->end - r->at) < len) {
        reader_fail(r, RECORD_TRUNCATED);
        return (struct text){NULL, 0};
    }
    struct text t = {len > 0 ? (const char *)r->at : NULL, len};
    r->at += len;
    return t;
}

struct text get_text(struct reader *r, size_t max)
{
    struct text t = get_bytes(r, max);
    if (!text_is_clean(t))
        reader_fail(r, RECORD_INVALID);
    return t;
}

void reader_finish(struct reader *r)
{
    if (r->flaw == RECORD_FINE && r->at != r->end)
        r->flaw = RECORD_TRAILING;
}

size_t writer_length(const struct writer *w, const void *start)
{
    return w->failed ? 0 : (size_t)(w->at - (const unsigned char *)start);
}

const char *record_flaw_text(enum record_flaw flaw)
{
    static const char *const text[] = {
        "it is fine",
        "it is not of this kind, or of another version of tenure",
        "it ends in the middle of a field",
        "it goes on after its end",
        "a field is out of range",
    };
    return flaw <= RECORD_INVALID ? text[flaw] : "unknown flaw";
}
