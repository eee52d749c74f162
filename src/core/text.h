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

/* The text as a string in buf, which has room for it and its NUL.  Returns buf. */
static inline const char *text_string(struct text t, char *buf)
{
    if (t.len > 0)
        memcpy(buf, t.at, t.len);
    buf[t.len] = '\0';
    return buf;
}

/* Whether the bytes are well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing
 * above U+10FFFF) without control characters. */
bool text_is_clean(struct text t);

/* Takes the next word from the front of *rest, with the one space behind it.  False when there is
 * none: the rest is empty, starts with a space, or is a word with a space and nothing more. */
bool text_next_word(struct text *rest, struct text *ret);

#endif
