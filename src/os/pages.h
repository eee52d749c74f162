/* os/pages.h - heap whose pages are there before it is needed.
 *
 * A page of the heap comes when it is first written to, by a fault that costs ten times what the
 * page does.  Who is about to fill many of them asks for all with one call. */
#ifndef OS_PAGES_H
#define OS_PAGES_H

/* The next 120 KiB from malloc() in small pieces: about what the opening of a store takes.  A hint:
 * where it does not work nothing is lost.  After a fork, not before: the child would have them to
 * copy. */
void pages_expect(void);

#endif
