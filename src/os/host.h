/* os/host.h - what this host offers to keep promises with, found by trying. */
#ifndef OS_HOST_H
#define OS_HOST_H

#include <stdbool.h>

/* Calls fn for each finding: fine, or what is unsafe here.  The text is one line, borrowed for
 * the call.  Nothing is left behind. */
typedef void host_finding_fn(void *arg, bool fine, const char *text);
void host_examine(host_finding_fn *fn, void *arg);

#endif
