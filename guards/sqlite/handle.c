#include "sqlite/handle.h"

#include <errno.h>

#include "os/fail.h"
#include "store/sqlite_code.h"

/* SQLite says only that it was "unable to open"; the system's error says why. */
static int fail_open(const struct sqlite_guard *g, const char *what, tenure_error *err)
{
    int errnum = g->db ? sq.sqlite3_system_errno(g->db) : ENOMEM;
    if (errnum != 0)
        return fail_errno(err, errnum, "cannot open %s %s", what, g->path);
    return fail(err, TENURE_UNREACHABLE, "cannot open %s %s: %s", what, g->path,
                sq.sqlite3_errmsg(g->db));
}

int handle_open(struct sqlite_guard *g, const char *what, tenure_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code = sqlite_load(err);
    if (code == 0 && sq.sqlite3_open_v2(g->path, &g->db, flags, NULL) != SQLITE_OK)
        code = fail_open(g, what, err);
    return code;
}

void handle_close(struct sqlite_guard *g)
{
    if (g->db) /* else SQLite may not even be loaded */
        (void)sq.sqlite3_close(g->db); /* cannot fail: all is finalised where it is used */
}

int handle_fail_sqlite(struct sqlite_guard *g, const char *doing, tenure_error *err)
{
    int code = sqlite_code(g->db, sq.sqlite3_extended_errcode(g->db));
    if (code == TENURE_BUSY)
        return fail(err, code,
                    "cannot %s: another connection kept its transaction on %s open for "
                    "longer than %lld ms",
                    doing, g->path, (long long)g->patience_ms);
    return fail(err, code, "cannot %s in %s: %s", doing, g->path, sq.sqlite3_errmsg(g->db));
}

int handle_run(struct sqlite_guard *g, const char *sql, const char *doing, tenure_error *err)
{
    if (sq.sqlite3_exec(g->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return handle_fail_sqlite(g, doing, err);
    return 0;
}

int handle_prepare(struct sqlite_guard *g, const char *sql, const char *const *text, int count,
                   sqlite3_stmt **ret, tenure_error *err)
{
    sqlite3_stmt *s;
    if (sq.sqlite3_prepare_v2(g->db, sql, -1, &s, NULL) != SQLITE_OK)
        return handle_fail_sqlite(g, "read the guard", err);
    for (int i = 0; i < count; i++) {
        if (sq.sqlite3_bind_text(s, i + 1, text[i], -1, SQLITE_STATIC) != SQLITE_OK) {
            int code = handle_fail_sqlite(g, "read the guard", err);
            (void)sq.sqlite3_finalize(s); /* it was never run */
            return code;
        }
    }
    *ret = s;
    return 0;
}

int handle_step(struct sqlite_guard *g, sqlite3_stmt *s, const char *doing, tenure_error *err)
{
    switch (sq.sqlite3_step(s)) {
    case SQLITE_ROW:
        return 1;
    case SQLITE_DONE:
        return 0;
    default:
        return handle_fail_sqlite(g, doing, err);
    }
}

int handle_once(struct sqlite_guard *g, const char *sql, const char *const *text, int count,
                tenure_error *err)
{
    int64_t ignored = 0;
    return handle_number(g, sql, text, count, &ignored, err);
}

int handle_number(struct sqlite_guard *g, const char *sql, const char *const *text, int count,
                  int64_t *ret, tenure_error *err)
{
    sqlite3_stmt *s;
    int code = handle_prepare(g, sql, text, count, &s, err);
    if (code < 0)
        return code;
    code = handle_step(g, s, "read the guard", err);
    if (code == 1)
        *ret = sq.sqlite3_column_int64(s, 0);
    (void)sq.sqlite3_finalize(s); /* repeats the error of the step, which was reported */
    return code;
}

int handle_begin(struct sqlite_guard *g, tenure_error *err)
{
    return handle_run(g, "BEGIN IMMEDIATE", "write", err);
}

int handle_end(struct sqlite_guard *g, int code, tenure_error *err)
{
    if (code >= 0)
        code = handle_run(g, "COMMIT", "commit", err);
    if (code < 0 && !sq.sqlite3_get_autocommit(g->db)) {
        /* A roll-back that fails leaves a transaction that ends, as rolled back, with the
         * connection: nothing else can be done, and nothing was written. */
        (void)sq.sqlite3_exec(g->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return code;
}
