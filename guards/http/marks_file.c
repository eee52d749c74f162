#include "http/marks_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/name.h"
#include "os/rights.h"

/* Of application_id: "tmrk".  A file of another program, and a store or a ledger of ours, has
 * another one. */
#define APPLICATION_ID 1953329771
#define VERSION 1
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static const char schema[] =
    "PRAGMA application_id = " TEXT(APPLICATION_ID) ";"
    "PRAGMA user_version = " TEXT(VERSION) ";"
    "CREATE TABLE guard(name TEXT PRIMARY KEY NOT NULL,"
    " mark INTEGER NOT NULL DEFAULT 0 CHECK (typeof(mark) = 'integer' AND mark >= 0),"
    " strict INTEGER NOT NULL CHECK (strict IN (0, 1))) WITHOUT ROWID;";

/* ---- opening ------------------------------------------------------------------------------- */

/* An empty file is a database without tables to SQLite, so we can make it with its rights. */
static int make_file(const char *path, tenure_error *err)
{
    const struct rights own = {0600, geteuid(), getegid()};
    if (access(path, F_OK) == 0)
        return 0;
    int e = rights_make_file(path, &own);
    return e == 0 || e == EEXIST ? 0 : fail_errno(err, e, "cannot make the marks file %s", path);
}

/* Whether it is ours (1), or is empty and may become so (0). */
static int identify(struct sqlite_guard *file, tenure_error *err)
{
    int64_t id = 0, version = 0, objects = 0;
    int code = handle_number(file, "PRAGMA application_id", NULL, 0, &id, err);
    if (code >= 0)
        code = handle_number(file, "PRAGMA user_version", NULL, 0, &version, err);
    if (code >= 0)
        code = handle_number(file, "SELECT count(*) FROM sqlite_master", NULL, 0, &objects, err);
    if (code < 0)
        return code;
    if (id == 0 && version == 0 && objects == 0)
        return 0;
    if (id != APPLICATION_ID)
        return fail(err, TENURE_FOREIGN, "%s is a database of something else, not a marks file",
                    file->path);
    if (version != VERSION)
        return fail(err, TENURE_FOREIGN,
                    "the marks file %s is of version %" PRId64 ", and this program knows %d",
                    file->path, version, VERSION);
    return 1;
}

static int create(struct sqlite_guard *file, tenure_error *err)
{
    int code = handle_begin(file, err);
    if (code < 0)
        return code;
    return handle_end(file, handle_run(file, schema, "make the marks file", err), err);
}

/* SQLite copies the log of a database into it when it is closed: not that of somebody else. */
static int checkpoint_at_close(struct sqlite_guard *file, bool does, tenure_error *err)
{
    if (sq.sqlite3_db_config(file->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !does, NULL) != SQLITE_OK)
        return handle_fail_sqlite(file, "set up the connection", err);
    return 0;
}

/* Nothing is written before it is known to be ours.  In exclusive mode the first write takes a lock
 * that is kept. */
static int settle(struct sqlite_guard *file, tenure_error *err)
{
    int code = checkpoint_at_close(file, false, err);
    if (code == 0)
        code = handle_run(file, "PRAGMA locking_mode = EXCLUSIVE", "lock", err);
    int ours = code < 0 ? code : identify(file, err);
    if (ours < 0)
        return ours;
    code = checkpoint_at_close(file, true, err);
    if (code == 0)
        code = handle_run(file, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                            "BEGIN EXCLUSIVE; COMMIT", "lock", err);
    if (code == 0 && ours == 0)
        code = create(file, err);
    return code;
}

/* The file behind the path of the log, which SQLite has open from now on. */
static bool find_log(struct sqlite_guard *file, struct stat *ret)
{
    return stat(sq.sqlite3_filename_wal(sq.sqlite3_db_filename(file->db, "main")), ret) == 0;
}

static int note_log(struct marks_file *file, tenure_error *err)
{
    struct stat st;
    if (!find_log(&file->base, &st))
        return fail_errno(err, errno, "the log of the marks file %s", file->base.path);
    file->log_device = st.st_dev;
    file->log_inode = st.st_ino;
    return 0;
}

int marks_file_open(const char *path, struct marks_file *ret, tenure_error *err)
{
    struct marks_file made = {.base = {.patience_ms = 0}};
    struct sqlite_guard *file = &made.base;
    if (path[0] == '\0' || path[0] == ':') /* what SQLite keeps nowhere */
        return fail(err, TENURE_INVALID, "--marks %s: marks are kept in a file", path);
    int code = make_file(path, err);
    if (code < 0)
        return code;
    file->path = strdup(path);
    if (file->path == NULL)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    code = handle_open(file, "the marks file", err);
    if (code == 0)
        code = settle(file, err);
    if (code == 0)
        code = note_log(&made, err);
    if (code == TENURE_BUSY)
        code = fail(err, code, "the marks file %s is in use by another checker", path);
    if (code < 0)
        marks_file_close(&made);
    else
        *ret = made;
    return code;
}

void marks_file_close(struct marks_file *file)
{
    handle_close(&file->base);
    free(file->base.path);
}

/* ---- reading ------------------------------------------------------------------------------- */

static int read_guard(struct sqlite_guard *file, sqlite3_stmt *s, marks_file_fn *fn, void *arg,
                      tenure_error *err)
{
    const char *at = (const char *)sq.sqlite3_column_text(s, 0);
    struct text name = {at, at ? (size_t)sq.sqlite3_column_bytes(s, 0) : 0};
    int64_t mark = sq.sqlite3_column_int64(s, 1);
    if (name_check(name, NULL) != NAME_FINE || sq.sqlite3_column_type(s, 1) != SQLITE_INTEGER ||
        mark < 0)
        return fail(err, TENURE_CORRUPT, "the marks file %s holds a guard that is none",
                    file->path);
    return fn(arg, name, (uint64_t)mark, sq.sqlite3_column_int(s, 2) != 0, err);
}

int marks_file_read(struct marks_file *marks, marks_file_fn *fn, void *arg, tenure_error *err)
{
    struct sqlite_guard *file = &marks->base;
    sqlite3_stmt *s;
    int code = handle_once(file, "SELECT 1 FROM pragma_quick_check WHERE quick_check <> 'ok'", NULL,
                           0, err);
    if (code == 1)
        return fail(err, TENURE_CORRUPT, "the marks file %s is damaged", file->path);
    if (code == 0)
        code = handle_prepare(file, "SELECT name, mark, strict FROM guard ORDER BY name", NULL, 0,
                              &s, err);
    if (code < 0)
        return code;
    while ((code = handle_step(file, s, "read the marks", err)) == 1) {
        code = read_guard(file, s, fn, arg, err);
        if (code < 0)
            break;
    }
    (void)sq.sqlite3_finalize(s); /* repeats the error of the step, which was reported */
    return code;
}

/* ---- writing ------------------------------------------------------------------------------- */

/* What is written to a file that was removed or replaced is gone with this process, and another
 * checker may have the new one open: no mark may rise in it. */
static int check_in_place(struct marks_file *file, tenure_error *err)
{
    struct stat st;
    int moved = 0;
    if (sq.sqlite3_file_control(file->base.db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK)
        return handle_fail_sqlite(&file->base, "find the marks file again", err);
    if (moved || !find_log(&file->base, &st) || st.st_dev != file->log_device ||
        st.st_ino != file->log_inode)
        return fail(err, TENURE_CORRUPT,
                    "the marks file %s, or its log, was removed or replaced while it was in use: "
                    "end this checker and start it anew", file->base.path);
    return 0;
}

/* One statement in a transaction of its own, which is durable when this returns 0. */
static int write_once(struct marks_file *marks, const char *sql, const char *const *text,
                      int count, tenure_error *err)
{
    struct sqlite_guard *file = &marks->base;
    int code = handle_begin(file, err);
    if (code < 0)
        return code;
    code = handle_once(file, sql, text, count, err);
    if (code == 0 && sq.sqlite3_changes(file->db) != 1)
        code = fail(err, TENURE_CORRUPT, "the marks file %s was changed by somebody else",
                    file->path);
    if (code == 0)
        code = check_in_place(marks, err);
    return handle_end(file, code, err);
}

int marks_file_add(struct marks_file *file, const char *name, bool strict, tenure_error *err)
{
    const char *text[] = {name, strict ? "1" : "0"};
    return write_once(file, "INSERT INTO guard(name, strict) VALUES (?, CAST(? AS INTEGER))", text,
                      2, err);
}

int marks_file_raise(struct marks_file *file, const char *name, uint64_t mark,
                     tenure_error *err)
{
    char number[24];
    const char *text[] = {number, name};
    (void)snprintf(number, sizeof number, "%" PRIu64, mark);
    return write_once(file, "UPDATE guard SET mark = CAST(? AS INTEGER) WHERE name = ?", text, 2,
                      err);
}

int marks_file_delete(struct marks_file *file, const char *name, tenure_error *err)
{
    return write_once(file, "DELETE FROM guard WHERE name = ?", &name, 1, err);
}
