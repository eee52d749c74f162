#include "os/pages.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void pages_expect(size_t bytes)
{
    assert(bytes <= PAGES_EXPECT_MAX);
    char *heap = malloc(bytes);
    if (!heap)
        return;
#ifdef MADV_POPULATE_WRITE
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t skip = -(uintptr_t)heap % page; /* the page that begins before it is there already */
    if (skip < bytes)
        (void)madvise(heap + skip, bytes - skip, MADV_POPULATE_WRITE); /* Linux 5.14 */
#endif
    free(heap); /* goes back to where the next pieces come from */
}
