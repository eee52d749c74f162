/* os/fail.h - fills a tenure_error where an error arises. */
#ifndef OS_FAIL_H
#define OS_FAIL_H

#include <tenure/error.h>

/* Fills *err (may be NULL) and returns code. */
int fail(tenure_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The code that an errno of opening or writing a file deserves: EACCES is denied, EROFS
 * read-only, ENOSPC and EDQUOT no space, a shortage of our own (memory, descriptors) is ours,
 * and everything else is unreachable. */
int fail_code(int errnum);

/* fail() with fail_code(errnum); ": " and the words of errnum are appended to the text. */
int fail_errno(tenure_error *err, int errnum, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
