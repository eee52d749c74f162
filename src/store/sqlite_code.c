#include "store/sqlite_code.h"

#include "os/fail.h"
#include "store/sqlite_library.h"

static int code_of_io(sqlite3 *db, int result)
{
    int e = db ? sq.sqlite3_system_errno(db) : 0;
    if (result == SQLITE_IOERR_NOMEM)
        return TENURE_NO_MEMORY;
    if (result == SQLITE_IOERR_SHMSIZE)
        return TENURE_NO_SPACE; /* the only reason for which a file cannot grow by a page */
    return e != 0 ? fail_code(e) : TENURE_UNREACHABLE;
}

int sqlite_code(sqlite3 *db, int result)
{
    switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: /* lost too many races for a lock */
    case SQLITE_SCHEMA:   /* somebody changes the schema faster than a statement is prepared */
        return TENURE_BUSY;
    case SQLITE_FULL:
        return TENURE_NO_SPACE;
    case SQLITE_READONLY:
        return result == SQLITE_READONLY_DBMOVED ? TENURE_WENT_BACK : TENURE_READ_ONLY;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return TENURE_DENIED;
    case SQLITE_NOTADB:
        return TENURE_FOREIGN;
    case SQLITE_CORRUPT:
        return TENURE_CORRUPT;
    case SQLITE_NOMEM:
        return TENURE_NO_MEMORY;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        return code_of_io(db, result);
    default:
        return TENURE_INTERNAL;
    }
}
