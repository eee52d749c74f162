#include "wire/permit.h"

#include <assert.h>

#include "wire/base64url.h"
#include "wire/bytes.h"

#define HEAD "permit1."
#define HEAD_LEN (sizeof HEAD - 1)

/* Seven numbers of at most ten bytes, three texts with a length of at most two. */
#define BODY_BYTES_MAX                                                                             \
    (7 * 10 + 3 * 2 + TENURE_PERMIT_ROLE_MAX + TENURE_PERMIT_RESOURCE_MAX +                        \
     TENURE_PERMIT_OPERATION_MAX)

_Static_assert(HEAD_LEN + BASE64URL_LEN(BODY_BYTES_MAX) + 1 +
                   BASE64URL_LEN(PERMIT_SIGNATURE_BYTES) < TENURE_PERMIT_TEXT_BYTES,
               "the longest permit fits");

size_t permit_encode(const tenure_permit *p, char ret[TENURE_PERMIT_TEXT_BYTES])
{
    unsigned char body[BODY_BYTES_MAX];
    struct writer w = {body, body + sizeof body, false};
    if (!permit_check(p))
        return 0;
    put_u64(&w, p->key);
    put_u64(&w, p->serial);
    put_text(&w, text_of(p->role));
    put_u64(&w, p->epoch);
    put_text(&w, text_of(p->resource));
    put_text(&w, text_of(p->operation));
    put_i64(&w, p->issued_ms);
    put_i64(&w, p->not_after_ms);
    put_i64(&w, p->clock_error_ms);
    size_t len = writer_length(&w, body);
    assert(len > 0);
    memcpy(ret, HEAD, HEAD_LEN);
    base64url_encode(body, len, ret + HEAD_LEN);
    len = HEAD_LEN + BASE64URL_LEN(len);
    ret[len] = '\0';
    return len;
}

void permit_append_signature(char text[TENURE_PERMIT_TEXT_BYTES],
                             const unsigned char signature[PERMIT_SIGNATURE_BYTES])
{
    char *end = text + strlen(text);
    *end++ = '.';
    base64url_encode(signature, PERMIT_SIGNATURE_BYTES, end);
    end[BASE64URL_LEN(PERMIT_SIGNATURE_BYTES)] = '\0';
}

/* A text as a string. */
static void get_string(struct reader *r, char *ret, size_t max)
{
    text_string(get_text(r, max), ret);
}

static bool decode_body(const unsigned char *body, size_t len, tenure_permit *p)
{
    struct reader r = {body, body + len, RECORD_FINE};
    p->key = get_u64(&r);
    p->serial = get_u64(&r);
    get_string(&r, p->role, TENURE_PERMIT_ROLE_MAX);
    p->epoch = get_u64(&r);
    get_string(&r, p->resource, TENURE_PERMIT_RESOURCE_MAX);
    get_string(&r, p->operation, TENURE_PERMIT_OPERATION_MAX);
    p->issued_ms = get_i64(&r);
    p->not_after_ms = get_i64(&r);
    p->clock_error_ms = get_i64(&r);
    reader_finish(&r);
    return r.flaw == RECORD_FINE && permit_check(p);
}

bool permit_decode(struct text t, tenure_permit *ret, struct text *ret_signed,
                   unsigned char ret_signature[PERMIT_SIGNATURE_BYTES])
{
    unsigned char body[BODY_BYTES_MAX];
    const size_t tail = 1 + BASE64URL_LEN(PERMIT_SIGNATURE_BYTES);
    size_t len;
    if (t.len <= HEAD_LEN + tail || memcmp(t.at, HEAD, HEAD_LEN) != 0)
        return false;
    *ret_signed = (struct text){t.at, t.len - tail};
    if (t.at[ret_signed->len] != '.')
        return false;
    struct text last = {t.at + ret_signed->len + 1, tail - 1};
    if (!base64url_decode(last, ret_signature, PERMIT_SIGNATURE_BYTES, &len) ||
        len != PERMIT_SIGNATURE_BYTES)
        return false;
    struct text middle = {t.at + HEAD_LEN, ret_signed->len - HEAD_LEN};
    return base64url_decode(middle, body, sizeof body, &len) && decode_body(body, len, ret);
}
