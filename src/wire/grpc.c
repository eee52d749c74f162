#include "wire/grpc.h"

#include <stdlib.h>
#include <string.h>

void grpc_prefix_write(uint8_t to[GRPC_PREFIX_BYTES], uint32_t len)
{
    to[0] = 0; /* not compressed */
    to[1] = (uint8_t)(len >> 24);
    to[2] = (uint8_t)(len >> 16);
    to[3] = (uint8_t)(len >> 8);
    to[4] = (uint8_t)len;
}

static uint32_t length_of(const uint8_t *prefix)
{
    return (uint32_t)prefix[1] << 24 | (uint32_t)prefix[2] << 16 | (uint32_t)prefix[3] << 8 |
           prefix[4];
}

/* Whether what is in front is the beginning of a message that we take. */
static enum grpc_flaw check_front(const struct grpc_inbox *in)
{
    size_t left = in->len - in->taken;
    const uint8_t *front = in->at + in->taken;
    if (left > 0 && front[0] != 0)
        return GRPC_COMPRESSED;
    if (left >= GRPC_PREFIX_BYTES && length_of(front) > GRPC_MESSAGE_MAX)
        return GRPC_TOO_LONG;
    return GRPC_FINE;
}

static void drop_taken(struct grpc_inbox *in)
{
    if (in->taken == 0)
        return;
    memmove(in->at, in->at + in->taken, in->len - in->taken);
    in->len -= in->taken;
    in->taken = 0;
}

enum grpc_flaw grpc_inbox_add(struct grpc_inbox *in, const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return GRPC_FINE;
    drop_taken(in);
    if (in->len + len > in->cap) {
        size_t cap = 2 * in->cap > in->len + len ? 2 * in->cap : in->len + len;
        uint8_t *more = realloc(in->at, cap);
        if (!more)
            return GRPC_NO_MEMORY;
        in->at = more;
        in->cap = cap;
    }
    memcpy(in->at + in->len, bytes, len);
    in->len += len;
    return check_front(in);
}

bool grpc_inbox_next(struct grpc_inbox *in, const uint8_t **ret, size_t *ret_len)
{
    size_t left = in->len - in->taken;
    if (left < GRPC_PREFIX_BYTES || check_front(in) != GRPC_FINE)
        return false;
    const uint8_t *front = in->at + in->taken;
    uint32_t len = length_of(front);
    if (left - GRPC_PREFIX_BYTES < len)
        return false;
    *ret = front + GRPC_PREFIX_BYTES;
    *ret_len = len;
    in->taken += GRPC_PREFIX_BYTES + len;
    return true;
}

void grpc_inbox_free(struct grpc_inbox *in)
{
    free(in->at);
    *in = (struct grpc_inbox){0};
}

int grpc_status_parse(struct text t)
{
    int n = 0;
    if (t.len == 0 || t.len > 3)
        return GRPC_UNKNOWN;
    for (size_t i = 0; i < t.len; i++) {
        if (t.at[i] < '0' || t.at[i] > '9')
            return GRPC_UNKNOWN;
        n = 10 * n + (t.at[i] - '0');
    }
    return n;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

void grpc_message_decode(struct text t, char *ret, size_t cap)
{
    size_t used = 0;
    for (size_t i = 0; i < t.len && used + 1 < cap; i++) {
        unsigned char c = (unsigned char)t.at[i];
        if (c == '%' && i + 2 < t.len && hex_value(t.at[i + 1]) >= 0 &&
            hex_value(t.at[i + 2]) >= 0) {
            c = (unsigned char)(hex_value(t.at[i + 1]) * 16 + hex_value(t.at[i + 2]));
            i += 2;
        }
        ret[used++] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
    }
    ret[used] = '\0';
}
