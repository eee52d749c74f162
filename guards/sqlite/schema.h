/* sqlite/schema.h - the SQL objects that every guard in a database shares, and the triggers of one
 * table.  Private to guards/sqlite. */
#ifndef SQLITE_SCHEMA_H
#define SQLITE_SCHEMA_H

#include "sqlite/handle.h"

/* What stands on a guarded table: a trigger for each operation, and a bar to incremental BLOB
 * writes, which fire none.  The names end in these words. */
#define SCHEMA_OBJECTS 4
extern const char *const schema_operation[SCHEMA_OBJECTS]; /* INSERT, UPDATE, DELETE, BLOB */

/* Whether the shared objects are there, exactly as this version makes them: 1, 0 when there are
 * none, TENURE_FOREIGN when there are others or not all, or another tenure_code. */
int schema_state(struct sqlite_guard *g, tenure_error *err);

/* As schema_state(), but having none is TENURE_INVALID: "no guard ... is installed". */
int schema_require(struct sqlite_guard *g, const char *name, tenure_error *err);

/* Makes the shared objects; takes them out. */
int schema_create(struct sqlite_guard *g, tenure_error *err);
int schema_drop(struct sqlite_guard *g, tenure_error *err);

/* The CREATE statement, as sqlite_master keeps it, of object `op` of a table whose number is
 * id; freed with sqlite3_free().  NULL: out of memory. */
char *schema_object(int64_t id, int op, const char *table, const char *name);

/* Puts the triggers and the bar onto a table, in place of those that have its number; takes
 * them out. */
int schema_protect(struct sqlite_guard *g, int64_t id, const char *table, const char *name,
                   tenure_error *err);
int schema_unprotect(struct sqlite_guard *g, int64_t id, tenure_error *err);

#endif
