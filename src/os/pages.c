#include "os/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES ((size_t)120 << 10) /* more would be mapped by itself, and unmapped again */

void pages_expect(void)
{
    char *heap = malloc(BYTES);
    if (!heap)
        return;
#ifdef MADV_POPULATE_WRITE
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t skip = -(uintptr_t)heap % page; /* the page that begins before it is there already */
    (void)madvise(heap + skip, BYTES - skip, MADV_POPULATE_WRITE); /* Linux 5.14 */
#endif
    free(heap); /* goes back to where the next pieces come from */
}
