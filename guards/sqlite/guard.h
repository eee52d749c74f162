/* sqlite/guard.h - the guard of a SQLite database: install, announce, check, remove.
 *
 * The guard itself is SQL inside the user's own database (schema.sql is its essay, trigger.sql the
 * rest); it works without this program.  Here is only what an operator and a supervisor need:
 * to put it in, to move its mark before a successor starts, to look whether it is whole, and to
 * take it out again.
 *
 * What must never happen: that something is half installed (each call is one transaction), that
 * a mark goes down, or that a database is created because a path was misspelt.
 *
 * Threads: one at a time per handle.  Every function returns 0 or a tenure_code with *err filled.
 * Every one of them may fail with TENURE_BUSY (another connection kept its transaction open for
 * longer than the patience), TENURE_READ_ONLY, TENURE_NO_SPACE, TENURE_DENIED, TENURE_CORRUPT,
 * TENURE_UNREACHABLE (input or output failed) and TENURE_NO_MEMORY; then nothing has changed.
 */
#ifndef SQLITE_GUARD_H
#define SQLITE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenure/error.h>

#define SQLITE_GUARD_TOKEN_MAX INT64_MAX /* SQLite has no unsigned integers */
#define SQLITE_GUARD_TABLES_MAX 256      /* tables that one call of install takes */

struct sqlite_guard;

/* Opens an existing database.  *ret is closed by the caller.  Besides: TENURE_UNREACHABLE when
 * there is no such file, TENURE_FOREIGN when it is no SQLite database, TENURE_INVALID for an
 * empty path or ":memory:". */
int sqlite_guard_open(const char *path, int64_t patience_ms, struct sqlite_guard **ret,
                      tenure_error *err);

/* NULL is fine.  Returns NULL. */
struct sqlite_guard *sqlite_guard_close(struct sqlite_guard *g);

/* Puts the tables under the guard `name`.  Again with the same arguments it changes nothing but
 * puts back what is missing; with further tables it adds them.
 *   TENURE_INVALID   the name is none; a table does not exist, is a view, virtual, or internal
 *   TENURE_CONFLICT  a table is under another guard, or the guard stands with another `strict`
 *   TENURE_FOREIGN   the database has objects of our names that this version did not make */
int sqlite_guard_install(struct sqlite_guard *g, const char *name, const char *const *tables,
                         size_t table_count, bool strict, tenure_error *err);

/* Moves the mark up to `token`; announcing the mark itself again is fine.  When this returns 0,
 * every transaction of a lower token has either committed or will be refused.
 *   TENURE_NOT_OWNED  the mark is higher: the token is stale
 *   TENURE_INVALID    no such guard, or a token that is 0 or above SQLITE_GUARD_TOKEN_MAX */
int sqlite_guard_announce(struct sqlite_guard *g, const char *name, uint64_t token,
                          tenure_error *err);

enum sqlite_guard_state {
    SQLITE_GUARD_INTACT = 0,
    SQLITE_GUARD_TABLE_GONE,   /* it was dropped */
    SQLITE_GUARD_UNPROTECTED,  /* the table is there, a trigger is not */
    SQLITE_GUARD_ALTERED,      /* a trigger is not the one that this version installs */
    SQLITE_GUARD_MOVED,        /* the table was renamed, and its triggers with it */
};

/* One guarded table; borrowed for the call. */
struct sqlite_guard_finding {
    const char *guard;
    uint64_t mark;
    bool strict;
    const char *table;
    const char *moved_to; /* MOVED: its new name; else NULL */
    enum sqlite_guard_state state;
};

typedef void sqlite_guard_finding_fn(void *arg, const struct sqlite_guard_finding *finding);

/* Calls fn for each guarded table, in order of guard and table; `name` NULL: of all guards.
 * Reads only.  Without any guard in the database fn is never called.
 *   TENURE_INVALID  there is no guard `name`
 *   TENURE_FOREIGN  tenure_guard, tenure_verdict and their like are not ours, or damaged */
int sqlite_guard_check(struct sqlite_guard *g, const char *name, sqlite_guard_finding_fn *fn,
                       void *arg, tenure_error *err);

/* "intact", "table gone", ...; static storage. */
const char *sqlite_guard_state_text(enum sqlite_guard_state state);

/* Takes the guard and its triggers out; with the last guard everything of ours goes.  A guard that
 * is put in again later starts without a mark: announce the present token then.
 *   TENURE_INVALID  there is no guard `name` */
int sqlite_guard_remove(struct sqlite_guard *g, const char *name, tenure_error *err);

#endif
