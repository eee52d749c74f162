/* A header that is accepted holds a whole name and a token, and is the only spelling of both. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/name.h"
#include "wire/token_header.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct text value = {(const char *)data, size}, name;
    uint64_t token;
    if (token_header_parse(value, &name, &token) != TOKEN_HEADER_FINE)
        return 0;
    if (name_check(name, NULL) != NAME_FINE || token == 0 || token > TOKEN_HEADER_TOKEN_MAX)
        abort();
    char again[NAME_BYTES_MAX + 24];
    int len = snprintf(again, sizeof again, "%.*s %" PRIu64, (int)name.len, name.at, token);
    if (len < 0 || (size_t)len > size - (size_t)(name.at - value.at) ||
        memcmp(again, name.at, (size_t)len) != 0)
        abort();
    return 0;
}
