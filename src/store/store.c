/* store/store.c - what every engine shares. */
#include "store/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint64_t store_hash(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

uint64_t store_key_hash(const char *key)
{
    return store_hash(key, strlen(key));
}

void store_op_finish(struct store_op *op, int code)
{
    op->done = true;
    op->code = code;
    if (code < 0) {
        op->error.code = code;
        snprintf(op->error.text, sizeof op->error.text, "%s", tenure_error_sentence(code));
    }
}

void store_op_fail(struct store_op *op, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    op->done = true;
    op->code = code;
    op->error.code = code;
    vsnprintf(op->error.text, sizeof op->error.text, format, args);
    va_end(args);
}
