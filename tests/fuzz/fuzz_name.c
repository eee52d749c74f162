/* A name that is accepted is clean text of legal length; a flaw points into the name. */
#include <stdlib.h>

#include "core/name.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct text name = {(const char *)data, size};
    size_t at = 0;
    if (name_check(name, &at) == NAME_FINE) {
        if (size == 0 || size > NAME_BYTES_MAX || !text_is_clean(name))
            abort();
    } else if (at > size) {
        abort();
    }
    return 0;
}
