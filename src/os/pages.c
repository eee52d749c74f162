#include "os/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES ((size_t)120 << 10) /* more would be mapped by itself, and unmapped again */

void pages_fill(void *at, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t skip = -(uintptr_t)at % page; /* what begins within a page has that one already */
    if (skip < bytes)
        (void)madvise((char *)at + skip, bytes - skip, MADV_POPULATE_WRITE); /* Linux 5.14 */
#else
    (void)at;
    (void)bytes;
#endif
}

void pages_expect(void)
{
    char *heap = malloc(BYTES);
    if (!heap)
        return;
    pages_fill(heap, BYTES);
    free(heap); /* goes back to where the next pieces come from */
}
