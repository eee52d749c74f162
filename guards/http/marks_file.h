/* http/marks_file.h - the file of marks.h: opened, read once, and written to.
 *
 * A connection of guards/sqlite, on a database of our own.  Not thread-safe. */
#ifndef HTTP_MARKS_FILE_H
#define HTTP_MARKS_FILE_H

#include "core/text.h"
#include "sqlite/handle.h"

/* Opens, or makes, the file, and locks it until it is closed. */
int marks_file_open(const char *path, struct sqlite_guard *ret, tenure_error *err);
void marks_file_close(struct sqlite_guard *file);

typedef int marks_file_fn(void *arg, struct text name, uint64_t mark, bool strict,
                          tenure_error *err);

/* Calls fn for each guard, in the order of names, while it returns 0. */
int marks_file_read(struct sqlite_guard *file, marks_file_fn *fn, void *arg, tenure_error *err);

/* Each is one durable transaction.  The guard is there, or is not, as the call needs it. */
int marks_file_add(struct sqlite_guard *file, const char *name, bool strict, tenure_error *err);
int marks_file_raise(struct sqlite_guard *file, const char *name, uint64_t mark,
                     tenure_error *err);
int marks_file_delete(struct sqlite_guard *file, const char *name, tenure_error *err);

#endif
