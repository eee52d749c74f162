/* What reads as a permit, as a docket or as a file of marks is sound, and is written again as the
 * very same bytes. */
#include <stdlib.h>

#include "wire/docket.h"
#include "wire/key.h"
#include "wire/mark.h"
#include "wire/permit.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void try_permit(struct text t)
{
    unsigned char signature[PERMIT_SIGNATURE_BYTES];
    char again[TENURE_PERMIT_TEXT_BYTES];
    struct text body;
    tenure_permit p;
    if (!permit_decode(t, &p, &body, signature))
        return;
    if (!permit_check(&p) || permit_encode(&p, again) != body.len)
        abort();
    permit_append_signature(again, signature);
    if (!text_equal(text_of(again), t))
        abort();
}

static void try_docket(struct text t)
{
    static unsigned char again[1 << 16];
    static struct docket d;
    if (t.len > sizeof again || docket_decode(t.at, t.len, &d) != RECORD_FINE)
        return;
    if (!docket_check(&d))
        abort();
    size_t len = docket_encode(&d, again, sizeof again);
    if (t.len > 0 && (len != t.len || memcmp(again, t.at, len) != 0))
        abort();
}

static void try_marks(struct text t)
{
    char again[MARK_LINE_BYTES];
    struct text line;
    tenure_permit_mark m;
    if (!mark_find(t, text_of("cl"), text_of("node-7"), &line, &m) || line.len == 0)
        return;
    size_t len = mark_format(text_of("cl"), text_of("node-7"), &m, again);
    if (!permit_mark_check(&m) || !text_equal((struct text){again, len}, line))
        abort();
}

static void try_keys(struct text t)
{
    unsigned char public[KEY_BYTES_EACH];
    struct key_pair pair;
    struct text line;
    unsigned n = 0;
    char again[KEY_LINE_BYTES];
    while (key_line_next(&t, &line, &n)) {
        if (key_parse_public(line, public)) {
            key_format_public(public, again);
            if (memcmp(again, line.at, strlen(again) - 1) != 0)
                abort();
        }
        if (key_parse_private(line, &pair)) {
            key_format_private(&pair, again);
            if (!text_equal((struct text){again, strlen(again) - 1}, line))
                abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct text t = {size > 0 ? (const char *)data : NULL, size};
    try_permit(t);
    try_docket(t);
    try_marks(t);
    try_keys(t);
    return 0;
}
