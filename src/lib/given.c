#include "lib/given.h"

#include <string.h>

#include "lib/handle.h"

#define SIZE_MAX_BYTES 4096 /* more is no size, but whatever was in that memory */

int given_take(void *ret, size_t size, size_t least, const void *given, const char *name,
               tenure_error *err)
{
    const unsigned char *bytes = given;
    size_t has;
    memcpy(&has, given, sizeof has);
    if (has < least || has > SIZE_MAX_BYTES)
        return error_set(err, TENURE_INVALID, "a size of %zu, where %zu bytes or more belong: use "
                                              "%s", has, least, name);
    for (size_t i = size; i < has; i++) {
        if (bytes[i] != 0)
            return error_set(err, TENURE_INVALID, "the program was compiled for a newer libtenure "
                                                  "and asks for what this one does not know: "
                                                  "%s has %zu bytes here, not %zu", name, size,
                             has);
    }
    memcpy(ret, given, has < size ? has : size);
    memcpy(ret, &size, sizeof size);
    return 0;
}
