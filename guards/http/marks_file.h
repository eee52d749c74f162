/* http/marks_file.h - the file of marks.h: opened, read once, and written to.
 *
 * A connection of guards/sqlite, on a database of our own.  Not thread-safe. */
#ifndef HTTP_MARKS_FILE_H
#define HTTP_MARKS_FILE_H

#include <sys/types.h>

#include "core/text.h"
#include "sqlite/handle.h"

struct marks_file {
    struct sqlite_guard base;
    dev_t log_device; /* which file its log is */
    ino_t log_inode;
};

/* Opens, or makes, the file, and locks it until it is closed. */
int marks_file_open(const char *path, struct marks_file *ret, tenure_error *err);
void marks_file_close(struct marks_file *file);

typedef int marks_file_fn(void *arg, struct text name, uint64_t mark, bool strict,
                          tenure_error *err);

/* Calls fn for each guard, in the order of names, while it returns 0. */
int marks_file_read(struct marks_file *file, marks_file_fn *fn, void *arg, tenure_error *err);

/* Each is one durable transaction, in the file that has the name: nothing is written, and it is
 * TENURE_CORRUPT, when that is another one now, or none.  The guard is there, or is not, as the
 * call needs it. */
int marks_file_add(struct marks_file *file, const char *name, bool strict, tenure_error *err);
int marks_file_raise(struct marks_file *file, const char *name, uint64_t mark,
                     tenure_error *err);
int marks_file_delete(struct marks_file *file, const char *name, tenure_error *err);

#endif
