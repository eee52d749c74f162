/* wire/mark.h - what an effector remembers of permits, as a file of text.
 *
 *     tenure-permit-marks-1
 *     ROLE RESOURCE EPOCH FLOOR [SERIAL...]
 *
 * A line for each pair of a role and a resource, in no order; numbers are decimal.  What is not
 * exactly this is refused as a whole: a mark that was misread could be too low. */
#ifndef WIRE_MARK_H
#define WIRE_MARK_H

#include "core/permit.h"

/* Room for a line with its newline and NUL. */
#define MARK_LINE_BYTES                                                                            \
    (TENURE_PERMIT_ROLE_MAX + TENURE_PERMIT_RESOURCE_MAX + (TENURE_PERMIT_SEEN_MAX + 2) * 21 + 4)

extern const struct text mark_head; /* the first line, with its newline */

/* Reads one line (without newline); the texts are borrowed. */
bool mark_parse(struct text line, struct text *ret_role, struct text *ret_resource,
                tenure_permit_mark *ret);

/* Writes one line with its newline; returns its length. */
size_t mark_format(struct text role, struct text resource, const tenure_permit_mark *m,
                   char ret[MARK_LINE_BYTES]);

/* Finds the mark of a pair in the file's text: its line with its newline, empty and at the end when
 * there is none.  False when the text is not such a file; one without any bytes has no marks. */
bool mark_find(struct text file, struct text role, struct text resource, struct text *ret_line,
               tenure_permit_mark *ret);

#endif
