/* os/sheet.h - a small file that is read, made and replaced as a whole.
 *
 * A file that says whom to trust is only as good as who may write it.  So none is read whose owner
 * is neither we nor root, or whose mode gives others a right that is forbidden; and whoever reads
 * it while it is replaced sees the old one or the new one. */
#ifndef OS_SHEET_H
#define OS_SHEET_H

#include <sys/stat.h>
#include <tenure/error.h>

#include "core/text.h"

#define SHEET_BYTES_MAX (8 * 1024 * 1024)

/* What is forbidden to whom it does not belong to. */
#define SHEET_NO_WRITERS (S_IWGRP | S_IWOTH)   /* it may be read by everybody, */
#define SHEET_OF_A_GROUP (S_IWGRP | S_IRWXO)   /* by its group, */
#define SHEET_NO_READERS (S_IRWXG | S_IRWXO)   /* or by nobody else */

/* Reads it into memory of the caller's, with a NUL behind it.  0; TENURE_DENIED for the rights, and
 * for what is no file; or what an errno deserves (os/fail.h). */
int sheet_read(const char *path, mode_t forbidden, char **ret, size_t *ret_len,
               tenure_error *err);

/* Makes one that is not there: TENURE_CONFLICT when it is.  It is on disk when this returns 0, or
 * not there at all. */
int sheet_make(const char *path, mode_t mode, struct text content, tenure_error *err);

/* A sheet that is kept to oneself between reading and replacing it. */
struct sheet {
    const char *path; /* borrowed */
    int lock;
    char *bytes; /* what it holds; "" when there is none yet */
    size_t len;
};

/* Waits for the lock on "PATH.lock", and reads it.  0, and the caller closes it; or an error.
 * TENURE_DENIED also for a symbolic link: who comes by another path would have another lock, and
 * keep the old content.  And a link to nothing is not "none yet". */
int sheet_open(const char *path, struct sheet *ret, tenure_error *err);

/* Puts these pieces into its place, on disk when this returns 0; on an error the old or the new
 * ones are there.  TENURE_NO_SPACE for more than can be read again. */
int sheet_replace(const struct sheet *s, const struct text *piece, int pieces, tenure_error *err);

void sheet_close(struct sheet *s);

#endif
