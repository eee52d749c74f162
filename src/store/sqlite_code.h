/* store/sqlite_code.h - what a result of SQLite means to a caller, once: for the embedded engine
 * and for the guard of SQLite databases. */
#ifndef STORE_SQLITE_CODE_H
#define STORE_SQLITE_CODE_H

#include <sqlite3.h>

/* The tenure_code of a result that is not SQLITE_OK, ROW or DONE.  `result` may be extended; `db`
 * is the connection that gave it last, asked for the errno below it, or NULL. */
int sqlite_code(sqlite3 *db, int result);

#endif
