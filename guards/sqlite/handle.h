/* sqlite/handle.h - the connection below the guard: statements, transactions, errors.  For
 * guards/sqlite, and for the marks file of guards/http. */
#ifndef SQLITE_HANDLE_H
#define SQLITE_HANDLE_H

#include <stdbool.h>
#include <tenure/error.h>

#include "os/fail.h"
#include "store/sqlite_library.h"
#include "target/target.h"

struct sqlite_guard {
    struct target target;
    sqlite3 *db;
    int64_t patience_ms;
    char *path;
};

static inline struct sqlite_guard *guard_of(struct target *t)
{
    return (struct sqlite_guard *)t; /* its first member */
}

/* target_check() of this kind (check.c). */
int sqlite_guard_check(struct target *t, const char *name, target_finding_fn *fn, void *arg,
                       tenure_error *err);

/* Loads SQLite, and opens the file g->path, which is `what`: "the database".  The caller closes,
 * also on failure. */
int handle_open(struct sqlite_guard *g, const char *what, tenure_error *err);
void handle_close(struct sqlite_guard *g);

/* fail() for what SQLite last said; `doing` completes "cannot ...". */
int handle_fail_sqlite(struct sqlite_guard *g, const char *doing, tenure_error *err);

/* Runs a script without results. */
int handle_run(struct sqlite_guard *g, const char *sql, const char *doing, tenure_error *err);

/* Prepares a statement and binds `count` texts, which must outlive it.  The caller finalises *ret;
 * sqlite3_finalize() of a statement that succeeded cannot fail. */
int handle_prepare(struct sqlite_guard *g, const char *sql, const char *const *text, int count,
                   sqlite3_stmt **ret, tenure_error *err);

/* One step: 1 a row, 0 the end, or a tenure_code. */
int handle_step(struct sqlite_guard *g, sqlite3_stmt *s, const char *doing, tenure_error *err);

/* Runs one statement: 1 when it gave a row, 0 when it gave none, or a tenure_code. */
int handle_once(struct sqlite_guard *g, const char *sql, const char *const *text, int count,
                tenure_error *err);

/* The same of a statement whose row begins with a number, which *ret then is. */
int handle_number(struct sqlite_guard *g, const char *sql, const char *const *text, int count,
                  int64_t *ret, tenure_error *err);

/* Takes the right to write, within the patience. */
int handle_begin(struct sqlite_guard *g, tenure_error *err);

/* Commits when code is 0, else rolls back.  Returns code, or why the commit failed. */
int handle_end(struct sqlite_guard *g, int code, tenure_error *err);

#endif
