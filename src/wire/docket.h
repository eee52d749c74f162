/* wire/docket.h - the permits for one operation on one resource as bytes (docs/record.md). */
#ifndef WIRE_DOCKET_H
#define WIRE_DOCKET_H

#include "core/docket.h"
#include "wire/bytes.h"

/* Decodes into *d, whose texts then point into `bytes`.  No bytes at all are a docket that never
 * was.  On a flaw *d is undefined. */
enum record_flaw docket_decode(const void *bytes, size_t len, struct docket *d);

/* Encodes into buf; returns the length, or 0 when it does not fit into cap. */
size_t docket_encode(const struct docket *d, void *buf, size_t cap);

#endif
