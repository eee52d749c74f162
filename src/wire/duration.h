/* wire/duration.h - durations as people write them: "500ms", "10s", "2m", "24h", "7d"; a bare
 * number is seconds.  Whole or with up to three decimals ("1.5s", ".25" is refused).  No sign, no
 * exponent, no space, one unit.  Fuzzed by tests/fuzz/fuzz_duration.c. */
#ifndef WIRE_DURATION_H
#define WIRE_DURATION_H

#include <stddef.h>

#include "core/text.h"
#include "core/time.h"

enum duration_flaw {
    DURATION_FINE = 0,
    DURATION_EMPTY,
    DURATION_NOT_A_NUMBER, /* does not start with digits, or more than three decimals */
    DURATION_BAD_UNIT,     /* something else than ms, s, m, h, d follows the digits */
    DURATION_TOO_LONG,     /* more than DURATION_MAX_MS */
    DURATION_TOO_FINE,     /* a part of a millisecond */
};

#define DURATION_MAX_MS (3660LL * 24 * 3600 * 1000) /* ten years */

enum duration_flaw duration_parse(struct text t, struct span *ret);
const char *duration_flaw_text(enum duration_flaw flaw);

/* Writes "9.9s", "500ms", "2m", "1h30m", "3d4h": at most two units, always enough to read back
 * to within 1 %.  Returns buf. */
#define DURATION_BYTES 32
const char *duration_format(struct span s, char buf[DURATION_BYTES]);

#endif
