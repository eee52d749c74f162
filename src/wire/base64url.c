#include "wire/base64url.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void base64url_encode(const void *bytes, size_t len, char *ret)
{
    const unsigned char *in = bytes;
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < len; i++) {
        bits = bits << 8 | in[i];
        for (count += 8; count >= 6; count -= 6)
            *ret++ = alphabet[bits >> (count - 6) & 63];
    }
    if (count > 0)
        *ret = alphabet[bits << (6 - count) & 63];
}

/* 0 to 63, or -1. */
static int digit(char c)
{
    const char *at = c ? strchr(alphabet, c) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

bool base64url_decode(struct text t, void *ret, size_t cap, size_t *ret_len)
{
    unsigned char *out = ret;
    uint32_t bits = 0;
    unsigned count = 0;
    size_t len = t.len / 4 * 3 + t.len % 4 * 6 / 8;
    if (t.len % 4 == 1 || len > cap)
        return false;
    for (size_t i = 0; i < t.len; i++) {
        int d = digit(t.at[i]);
        if (d < 0)
            return false;
        bits = bits << 6 | (uint32_t)d;
        count += 6;
        if (count >= 8) {
            count -= 8;
            *out++ = (unsigned char)(bits >> count & 255);
        }
    }
    if ((bits & ((1u << count) - 1)) != 0)
        return false; /* bits beyond the last byte: a second spelling */
    *ret_len = len;
    return true;
}
