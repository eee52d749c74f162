/* os/library.h - a shared library that is loaded when it is first needed, and stays.
 *
 * libtenure loads into strangers' processes.  What only one engine needs is not linked to it: a
 * program that uses another engine neither waits for it at its start nor has it in its memory. */
#ifndef OS_LIBRARY_H
#define OS_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <tenure/error.h>

struct library_call {
    const char *name;
    size_t at; /* where its address goes, from the beginning of the table */
};

struct library {
    const char *file; /* "libpq.so.5" */
    const char *why;  /* for who has not got it: "postgres: needs libpq (Debian: libpq5)" */
    const struct library_call *calls;
    size_t count;
    void *table; /* valid from the first time that library_need() returned 0 */
    bool loaded; /* library_need()'s */
};

/* Loads it, if it is not loaded yet, and fills the table.  0, or TENURE_INVALID with *err filled
 * when it is not there or lacks a call.  Any thread. */
int library_need(struct library *l, tenure_error *err);

#endif
