/* core/name.h - what a name may be.
 *
 * Segments of letters, digits and "._-:@+=,~%" joined by single slashes, 1 to 255 bytes in all.
 * No segment is empty, "." or ".."; nothing starts or ends with a slash.  So a name is the same
 * in a shell, in a path, in SQL and in a URL, and two spellings are never one name.
 */
#ifndef CORE_NAME_H
#define CORE_NAME_H

#include "core/text.h"

#define NAME_BYTES_MAX 255

enum name_flaw {
    NAME_FINE = 0,
    NAME_EMPTY,         /* no bytes at all */
    NAME_TOO_LONG,      /* more than NAME_BYTES_MAX bytes */
    NAME_EMPTY_SEGMENT, /* "//", or a slash at an end */
    NAME_DOT_SEGMENT,   /* a segment "." or ".." */
    NAME_BAD_BYTE,      /* a byte that is not allowed */
};

/* The first flaw from the left; *ret_at (may be NULL) is the offset of the byte at fault. */
enum name_flaw name_check(struct text name, size_t *ret_at);

/* The rule that was broken, as a clause: "a segment is empty". */
const char *name_flaw_text(enum name_flaw flaw);

#endif
