/* Bytes that decode are a sound claim, and encode again to the very same bytes. */
#include <stdlib.h>

#include "wire/record.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static struct claim claim;
    static unsigned char again[1 << 20];
    if (size > sizeof again || record_decode(data, size, &claim) != RECORD_FINE)
        return 0;
    if (!claim_check(&claim))
        abort();
    size_t len = record_encode(&claim, again, sizeof again);
    if (size > 0 && (len != size || memcmp(again, data, size) != 0))
        abort();
    return 0;
}
