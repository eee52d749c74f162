/* sqlite/guard.h - the guard of a SQLite database: schema.sql is its essay, trigger.sql the rest.
 *
 * It keeps no refusals: SQLite writes nothing outside of a transaction, and each refused statement
 * takes back all that it wrote. */
#ifndef SQLITE_GUARD_H
#define SQLITE_GUARD_H

#include "target/target.h"

/* Opens an existing database.  *ret is closed by the caller.  Besides the codes of every target:
 * TENURE_UNREACHABLE when there is no such file, TENURE_FOREIGN when it is no SQLite database,
 * TENURE_INVALID for an empty path or ":memory:". */
int sqlite_guard_open(const char *path, int64_t patience_ms, struct target **ret,
                      tenure_error *err);

#endif
