/* wire/entry.h - an entry of the configuration as bytes (docs/record.md). */
#ifndef WIRE_ENTRY_H
#define WIRE_ENTRY_H

#include "core/entry.h"
#include "wire/bytes.h"

/* An entry takes at most so many bytes. */
#define ENTRY_BYTES_MAX (ENTRY_VALUE_BYTES_MAX + 16 * 1024)

/* Decodes into *e, whose texts then point into `bytes`.  No bytes at all are an entry that never
 * was.  On a flaw *e is undefined. */
enum record_flaw entry_decode(const void *bytes, size_t len, struct entry *e);

/* Encodes into buf; returns the length, or 0 when it does not fit into cap. */
size_t entry_encode(const struct entry *e, void *buf, size_t cap);

#endif
