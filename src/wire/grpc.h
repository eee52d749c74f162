/* wire/grpc.h - gRPC inside an HTTP/2 stream: messages with a length in front, and a status.
 *
 * Nothing that a server sends is believed: a message longer than the limit, or one that is
 * compressed (we never say that we could read that), ends the stream. */
#ifndef WIRE_GRPC_H
#define WIRE_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/text.h"

#define GRPC_PREFIX_BYTES 5
#define GRPC_MESSAGE_MAX (64u << 20)

/* The codes that we tell apart; a server may send others. */
enum grpc_status {
    GRPC_OK = 0,
    GRPC_CANCELLED = 1,
    GRPC_UNKNOWN = 2,
    GRPC_INVALID_ARGUMENT = 3,
    GRPC_DEADLINE_EXCEEDED = 4,
    GRPC_NOT_FOUND = 5,
    GRPC_PERMISSION_DENIED = 7,
    GRPC_RESOURCE_EXHAUSTED = 8,
    GRPC_FAILED_PRECONDITION = 9,
    GRPC_ABORTED = 10,
    GRPC_OUT_OF_RANGE = 11,
    GRPC_UNIMPLEMENTED = 12,
    GRPC_INTERNAL = 13,
    GRPC_UNAVAILABLE = 14,
    GRPC_DATA_LOSS = 15,
    GRPC_UNAUTHENTICATED = 16,
};

/* Writes what stands in front of a message of `len` bytes. */
void grpc_prefix_write(uint8_t to[GRPC_PREFIX_BYTES], uint32_t len);

/* Bytes that have come, up to the messages that they make.  Zeroed is empty. */
struct grpc_inbox {
    uint8_t *at;
    size_t len, cap;
    size_t taken; /* of the message that was handed out last */
};

enum grpc_flaw {
    GRPC_FINE = 0,
    GRPC_TOO_LONG,   /* the length in front is above GRPC_MESSAGE_MAX */
    GRPC_COMPRESSED, /* the flag in front is not 0 */
    GRPC_NO_MEMORY,
};

/* Takes bytes as they come.  After a flaw the inbox is of no more use but to be freed. */
enum grpc_flaw grpc_inbox_add(struct grpc_inbox *in, const uint8_t *bytes, size_t len);

/* The next whole message, valid until the next call; false when there is none yet. */
bool grpc_inbox_next(struct grpc_inbox *in, const uint8_t **ret, size_t *ret_len);

void grpc_inbox_free(struct grpc_inbox *in);

/* A "grpc-status" as a number; GRPC_UNKNOWN for what is none. */
int grpc_status_parse(struct text t);

/* A "grpc-message": percent-decoded, cut at the end of `ret`, NUL-terminated, and without control
 * characters, because it ends up in front of people. */
void grpc_message_decode(struct text t, char *ret, size_t cap);

#endif
