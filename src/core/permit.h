/* core/permit.h - what a permit may say (include/tenure/permit.h has the rule of its use). */
#ifndef CORE_PERMIT_H
#define CORE_PERMIT_H

#include <tenure/permit.h>

#include "core/text.h"

/* Whether roles, resources and operations are names that fit, the numbers are in their ranges, and
 * it is over after it was issued and within the limit. */
bool permit_check(const tenure_permit *p);

/* Whether it can be a name of at most `max` bytes. */
bool permit_word_check(struct text word, size_t max);

/* Whether a mark can have come about: its serials rise, and all are above the floor. */
bool permit_mark_check(const tenure_permit_mark *m);

#endif
