#include "core/name.h"

static bool byte_is_allowed(char b)
{
    return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') ||
           (b != '\0' && strchr("._-:@+=,~%", b) != NULL);
}

static enum name_flaw segment_check(struct text s, size_t *ret_at)
{
    if (s.len == 0)
        return NAME_EMPTY_SEGMENT;
    if (text_equal(s, text_of(".")) || text_equal(s, text_of("..")))
        return NAME_DOT_SEGMENT;
    for (size_t i = 0; i < s.len; i++) {
        if (!byte_is_allowed(s.at[i])) {
            *ret_at += i;
            return NAME_BAD_BYTE;
        }
    }
    return NAME_FINE;
}

enum name_flaw name_check(struct text name, size_t *ret_at)
{
    size_t scratch = 0;
    size_t *at = ret_at ? ret_at : &scratch;
    *at = 0;
    if (name.len == 0)
        return NAME_EMPTY;
    if (name.len > NAME_BYTES_MAX) {
        *at = NAME_BYTES_MAX;
        return NAME_TOO_LONG;
    }
    for (size_t start = 0; start <= name.len;) {
        const char *slash = memchr(name.at + start, '/', name.len - start);
        size_t end = slash ? (size_t)(slash - name.at) : name.len;
        *at = start;
        enum name_flaw flaw = segment_check((struct text){name.at + start, end - start}, at);
        if (flaw != NAME_FINE)
            return flaw;
        start = end + 1;
    }
    return NAME_FINE;
}

const char *name_flaw_text(enum name_flaw flaw)
{
    switch (flaw) {
    case NAME_FINE:
        return "it is fine";
    case NAME_EMPTY:
        return "a name has at least one byte";
    case NAME_TOO_LONG:
        return "a name has at most 255 bytes";
    case NAME_EMPTY_SEGMENT:
        return "a segment is empty: no / at the start, at the end, or next to another";
    case NAME_DOT_SEGMENT:
        return "a segment is \".\" or \"..\"";
    case NAME_BAD_BYTE:
        return "only letters, digits and ._-:@+=,~%/ are allowed";
    }
    return "it is not a name";
}
