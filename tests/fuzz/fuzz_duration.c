/* A duration that is read is in range, and can be written. */
#include <stdlib.h>

#include "wire/duration.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct span span = SPAN(-1);
    char buf[DURATION_BYTES];
    if (duration_parse((struct text){(const char *)data, size}, &span) != DURATION_FINE)
        return 0;
    if (span.ms < 0 || span.ms > DURATION_MAX_MS || !duration_format(span, buf))
        abort();
    return 0;
}
