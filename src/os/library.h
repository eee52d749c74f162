/* os/library.h - a shared library that is loaded when it is first needed, and stays.
 *
 * libtenure loads into strangers' processes.  What only one engine needs is not linked to it: a
 * program that uses another engine neither waits for it at its start nor has it in its memory. */
#ifndef OS_LIBRARY_H
#define OS_LIBRARY_H

#include <stddef.h>

struct library_call {
    const char *name;
    size_t at; /* where its address goes, from the beginning of the table */
};

/* Loads `file` ("libpq.so.5") and fills the table.  Returns NULL, or what was wrong: text that the
 * next call of dlerror() by this thread may overwrite. */
const char *library_load(const char *file, const struct library_call *calls, size_t count,
                         void *table);

#endif
