#include "core/text.h"

#include <stdint.h>

/* The length of the UTF-8 sequence at s (1 to 4), or 0 when it is malformed. */
static size_t sequence(const unsigned char *s, size_t left)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80 ? 1 : (s[0] & 0xe0) == 0xc0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3
               : (s[0] & 0xf8) == 0xf0                 ? 4
                                                       : 0;
    if (n == 0 || n > left)
        return 0;
    if (n == 1)
        return 1;
    uint32_t point = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (s[i] & 0x3fu);
    }
    bool surrogate = point >= 0xd800 && point <= 0xdfff;
    return point < least[n] || point > 0x10ffff || surrogate ? 0 : n;
}

bool text_is_clean(struct text t)
{
    const unsigned char *s = (const unsigned char *)t.at;
    for (size_t i = 0; i < t.len;) {
        size_t n = sequence(s + i, t.len - i);
        if (n == 0 || s[i] < 0x20 || s[i] == 0x7f)
            return false;
        i += n;
    }
    return true;
}

bool text_next_word(struct text *rest, struct text *ret)
{
    size_t len = 0;
    while (len < rest->len && rest->at[len] != ' ')
        len++;
    if (len == 0 || len + 1 == rest->len)
        return false;
    *ret = (struct text){rest->at, len};
    size_t used = len < rest->len ? len + 1 : len;
    rest->at += used;
    rest->len -= used;
    return true;
}
