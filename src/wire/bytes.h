/* wire/bytes.h - numbers and texts as bytes: what records are made of.
 *
 * A writer and a reader of the same shape.  A failed step makes every later one a no-op, so that
 * only the end has to be checked.  Numbers are varints (7 bits a byte, the lowest first) in their
 * one shortest form, signed ones zigzag; a text is its length and its bytes.  Whatever is written
 * in two ways is refused, so that equal values have equal bytes.
 */
#ifndef WIRE_BYTES_H
#define WIRE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

/* Why bytes are not a record. */
enum record_flaw {
    RECORD_FINE = 0,
    RECORD_FOREIGN,   /* of another kind, or of another version */
    RECORD_TRUNCATED, /* ends within a field */
    RECORD_TRAILING,  /* goes on after its end */
    RECORD_INVALID,   /* a field out of range, or an invariant broken */
};

const char *record_flaw_text(enum record_flaw flaw);

struct writer {
    unsigned char *at, *end;
    bool failed; /* it did not fit */
};

struct reader {
    const unsigned char *at, *end;
    enum record_flaw flaw;
};

void put_u64(struct writer *w, uint64_t v);
void put_i64(struct writer *w, int64_t v);
void put_text(struct writer *w, struct text t);

/* What was written; 0 after a failure, or of which there was nothing. */
size_t writer_length(const struct writer *w, const void *start);

/* A flaw, if it is the first, and the end of reading. */
void reader_fail(struct reader *r, enum record_flaw flaw);

/* 0 or an empty text after a flaw.  A text is at most `max` bytes, borrowed from the reader's; a
 * clean one (core/text.h) in get_text(), any bytes in get_bytes(). */
uint64_t get_u64(struct reader *r);
int64_t get_i64(struct reader *r);
uint64_t get_max(struct reader *r, uint64_t max);
struct text get_bytes(struct reader *r, size_t max);
struct text get_text(struct reader *r, size_t max);

/* All bytes were read: a flaw if not. */
void reader_finish(struct reader *r);

#endif
