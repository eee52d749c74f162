/* A URL that is taken apart is whole: its parts are pieces of it, in order, and clean. */
#include <stdlib.h>

#include "wire/url.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void piece(struct text whole, struct text part)
{
    if (part.len > whole.len || (part.len > 0 && (part.at < whole.at ||
                                                  part.at + part.len > whole.at + whole.len)))
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct text whole = {(const char *)data, size}, key, value;
    struct url url;
    if (url_parse(whole, &url) != URL_FINE)
        return 0;
    if (url.scheme.len == 0)
        abort();
    piece(whole, url.scheme);
    piece(whole, url.body);
    piece(whole, url.query);
    for (size_t left = url.query.len; url_option_next(&url.query, &key, &value);) {
        piece(whole, key);
        piece(whole, value);
        if (url.query.len >= left)
            abort();
        left = url.query.len;
    }
    return 0;
}
