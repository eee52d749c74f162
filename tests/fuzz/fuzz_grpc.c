/* Bytes of a gRPC stream make the same messages however they come cut; a status and its text stay
 * within bounds. */
#include <stdlib.h>
#include <string.h>

#include "wire/grpc.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* What the messages of a stream add up to, when it comes in pieces of `step` bytes. */
static uint64_t sum_of(const unsigned char *data, size_t size, size_t step, enum grpc_flaw *flaw)
{
    struct grpc_inbox in = {0};
    uint64_t sum = 1;
    *flaw = GRPC_FINE;
    for (size_t at = 0; at < size && *flaw == GRPC_FINE; at += step) {
        const uint8_t *message;
        size_t len;
        *flaw = grpc_inbox_add(&in, data + at, size - at < step ? size - at : step);
        while (*flaw == GRPC_FINE && grpc_inbox_next(&in, &message, &len)) {
            for (size_t i = 0; i < len; i++)
                sum = sum * 31 + message[i];
            sum = sum * 31 + len;
        }
    }
    grpc_inbox_free(&in);
    return sum;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char text[40];
    struct text whole = {(const char *)data, size};
    enum grpc_flaw a, b;
    uint64_t by_bytes = sum_of(data, size, 1, &a), by_sevens = sum_of(data, size, 7, &b);
    if (a == GRPC_FINE && b == GRPC_FINE && by_bytes != by_sevens)
        abort();
    grpc_message_decode(whole, text, sizeof text);
    if (strlen(text) >= sizeof text || grpc_status_parse(whole) < 0)
        abort();
    return 0;
}
