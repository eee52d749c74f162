/* core/text.h - a piece of somebody else's bytes.  Never owns, never ends in NUL by right. */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct text {
    const char *at; /* NULL only when len is 0 */
    size_t len;
};

static inline struct text text_of(const char *s)
{
    return s ? (struct text){s, strlen(s)} : (struct text){NULL, 0};
}

static inline bool text_equal(struct text a, struct text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* Whether the bytes are well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing
 * above U+10FFFF) without control characters. */
bool text_is_clean(struct text t);

#endif
