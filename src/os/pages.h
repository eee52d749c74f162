/* os/pages.h - memory whose pages are there before it is needed.
 *
 * A page comes when it is first written to, by a fault that costs ten times what the page does.
 * Who is about to fill many of them asks for all with one call.  All of this is a hint: where it
 * does not work nothing is lost. */
#ifndef OS_PAGES_H
#define OS_PAGES_H

#include <stddef.h>

/* The next 120 KiB from malloc() in small pieces: about what the opening of a store takes.  After a
 * fork, not before: the child would have them to copy. */
void pages_expect(void);

/* What is about to be written to, in a mapping of anything. */
void pages_fill(void *at, size_t bytes);

#endif
