/* os/pages.h - heap whose pages are there before it is needed.
 *
 * A page of the heap comes when it is first written to, by a fault that costs ten times what the
 * page does.  Who is about to fill many of them asks for all with one call. */
#ifndef OS_PAGES_H
#define OS_PAGES_H

#include <stddef.h>

#define PAGES_EXPECT_MAX ((size_t)120 << 10) /* more is mapped by itself, and unmapped again */

/* The next `bytes` from malloc() in small pieces, at most PAGES_EXPECT_MAX.  A hint: where it does
 * not work nothing is lost.  After a fork, not before: the child would have them to copy. */
void pages_expect(size_t bytes);

#endif
