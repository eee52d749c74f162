/* store/trace.h - a store that writes down what it is asked and what it answers.
 *
 * One line per call on a stream:
 *     update a/b -> 1                      done, with its verdict
 *     renew 17 -> LOST: session 17 is dead: it had expired
 *     update a/b -> ...                    started; its end follows as a line of its own
 *     update a/b => 1
 * No clock and no address is in it, so equal runs write equal lines. */
#ifndef STORE_TRACE_H
#define STORE_TRACE_H

#include <stdio.h>

#include "store/store.h"

/* Wraps a store, which from now on is closed with the wrapper.  `out` stays the caller's.  NULL
 * without memory; then `inner` is as it was. */
struct store *trace_wrap(struct store *inner, FILE *out);

#endif
