/* wire/record.h - a claim as bytes.
 *
 * The format (docs/record.md): a magic byte, a version, then fields as varints and counted texts.
 * A decoder accepts only what the encoder of its version writes; every byte is accounted for.
 * Unknown versions are refused, never guessed.  Fuzzed by tests/fuzz/fuzz_record.c.
 */
#ifndef WIRE_RECORD_H
#define WIRE_RECORD_H

#include <stddef.h>

#include "core/claim.h"
#include "wire/bytes.h"

/* Decodes into *c, whose texts then point into `bytes`.  No bytes at all (len 0) are a record
 * that was never used.  On a flaw *c is undefined. */
enum record_flaw record_decode(const void *bytes, size_t len, struct claim *c);

/* Encodes into buf; returns the length, or 0 when it does not fit into cap. */
size_t record_encode(const struct claim *c, void *buf, size_t cap);

#endif
