#include "store/room.h"

#include <stdlib.h>

bool room_for_one_more(void **at, size_t count, size_t *cap, size_t size)
{
    if (count < *cap)
        return true;
    size_t n = *cap ? *cap * 2 : 16;
    void *more = realloc(*at, n * size);
    if (!more)
        return false;
    *at = more;
    *cap = n;
    return true;
}
