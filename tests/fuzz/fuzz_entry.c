/* Bytes that decode are a sound entry, and encode again to the very same bytes. */
#include <stdlib.h>

#include "wire/entry.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static unsigned char again[1 << 20];
    struct entry entry;
    if (size > sizeof again || entry_decode(data, size, &entry) != RECORD_FINE)
        return 0;
    if (!entry_check(&entry))
        abort();
    size_t len = entry_encode(&entry, again, sizeof again);
    if (size > 0 && (len != size || memcmp(again, data, size) != 0))
        abort();
    return 0;
}
