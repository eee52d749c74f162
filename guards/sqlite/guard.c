#include "sqlite/guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tenure/guard.h>
#include "sqlite/handle.h"
#include "sqlite/schema.h"

/* ---- installing ---------------------------------------------------------------------------- */

/* Finds the table; *ret is its name as the database spells it, freed with sqlite3_free(). */
static int resolve_table(struct sqlite_guard *g, const char *table, char **ret, tenure_error *err)
{
    sqlite3_stmt *s;
    int code = handle_prepare(g,
                              "SELECT name, type FROM pragma_table_list(?) "
                              "WHERE schema = 'main'",
                              &table, 1, &s, err);
    if (code < 0)
        return code;
    code = handle_step(g, s, "look for the table", err);
    if (code == 0) {
        code = fail(err, TENURE_INVALID, "--table %s: there is no such table in %s", table,
                    g->path);
    } else if (code == 1) {
        const char *name = (const char *)sq.sqlite3_column_text(s, 0);
        const char *type = (const char *)sq.sqlite3_column_text(s, 1);
        if (name == NULL || type == NULL)
            code = fail(err, TENURE_NO_MEMORY, "out of memory");
        else if (strcmp(type, "table") != 0)
            code = fail(err, TENURE_INVALID,
                        "--table %s: it is a %s table, and a guard needs a real one: "
                        "guard what is written below it", table, type);
        else if (sq.sqlite3_strnicmp(name, "sqlite_", 7) == 0 ||
                 sq.sqlite3_strnicmp(name, "tenure_", 7) == 0)
            code = fail(err, TENURE_INVALID,
                        "--table %s: the tables of SQLite and of tenure cannot be guarded",
                        table);
        else if ((*ret = sq.sqlite3_mprintf("%s", name)) == NULL)
            code = fail(err, TENURE_NO_MEMORY, "out of memory");
    }
    (void)sq.sqlite3_finalize(s); /* repeats the error of the step, which was reported */
    return code < 0 ? code : 0;
}

/* Notes the guard; one that stands must be as strict as this one. */
static int register_guard(struct sqlite_guard *g, const char *name, bool strict, tenure_error *err)
{
    const char *text[2] = {name, strict ? "1" : "0"};
    int code = handle_once(g,
                             "SELECT 1 FROM tenure_guard WHERE name = ? "
                             "AND strict <> CAST(? AS INTEGER)",
                             text, 2, err);
    if (code < 0)
        return code;
    if (code == 1)
        return fail(err, TENURE_CONFLICT,
                    "guard \"%s\" is installed in %s %s --strict: say the same again, or "
                    "remove it first", name, g->path, strict ? "without" : "with");
    code = handle_once(g,
                         "INSERT INTO tenure_guard(name, strict) VALUES (?, CAST(? AS INTEGER)) "
                         "ON CONFLICT DO NOTHING",
                         text, 2, err);
    return code;
}

/* Notes the table under its guard and gives its number: the one that it has, also under a former
 * name, else a new one.  A table that is under another guard is refused. */
static int register_table(struct sqlite_guard *g, const char *table, const char *name,
                          int64_t *ret_id, tenure_error *err)
{
    const char *text[2] = {table, name};
    int code = handle_once(g,
                             "INSERT INTO tenure_guarded(table_name, guard) SELECT ?1, ?2 "
                             "WHERE NOT EXISTS (SELECT 1 FROM tenure_guarded AS d "
                             "    WHERE d.table_name = ?1 OR EXISTS (SELECT 1 FROM sqlite_master "
                             "        WHERE type = 'trigger' AND tbl_name = ?1 "
                             "        AND name = 'tenure_guard_' || d.id || '_INSERT'))",
                             text, 2, err);
    if (code < 0)
        return code;
    sqlite3_stmt *s;
    code = handle_prepare(g,
                          "SELECT d.id, d.guard FROM tenure_guarded AS d "
                          "LEFT JOIN sqlite_master AS m ON m.type = 'trigger' "
                          "    AND m.name = 'tenure_guard_' || d.id || '_INSERT' "
                          "WHERE d.table_name = ?1 OR m.tbl_name = ?1 "
                          "ORDER BY d.table_name = ?1 DESC LIMIT 1",
                          &table, 1, &s, err);
    if (code < 0)
        return code;
    code = handle_step(g, s, "read the guard", err);
    const char *guard = code == 1 ? (const char *)sq.sqlite3_column_text(s, 1) : NULL;
    if (code == 1 && guard == NULL)
        code = fail(err, TENURE_NO_MEMORY, "out of memory");
    else if (code == 1 && strcmp(guard, name) != 0)
        code = fail(err, TENURE_CONFLICT,
                    "--table %s: it is under guard \"%s\" already", table, guard);
    else if (code == 1)
        *ret_id = sq.sqlite3_column_int64(s, 0);
    (void)sq.sqlite3_finalize(s); /* repeats the error of the step, which was reported */
    return code < 0 ? code : 0;
}

static int install_table(struct sqlite_guard *g, const char *name, const char *asked,
                         tenure_error *err)
{
    char *table = NULL;
    int64_t id = 0;
    int code = resolve_table(g, asked, &table, err);
    if (code == 0)
        code = register_table(g, table, name, &id, err);
    if (code == 0)
        code = schema_protect(g, id, table, name, err);
    if (code == 0) {
        char *sql = sq.sqlite3_mprintf("UPDATE tenure_guarded SET table_name = %Q WHERE id = %lld",
                                    table, (sqlite3_int64)id);
        code = sql ? handle_run(g, sql, "install the guard", err)
                   : fail(err, TENURE_NO_MEMORY, "out of memory");
        sq.sqlite3_free(sql);
    }
    sq.sqlite3_free(table);
    return code;
}

/* A store under a guard could not be written to by tenure itself any more. */
static int refuse_store(struct sqlite_guard *g, tenure_error *err)
{
    int code = handle_once(g,
                           "SELECT 1 FROM pragma_application_id WHERE application_id = 0x74656e75",
                           NULL, 0, err);
    if (code == 1)
        code = fail(err, TENURE_INVALID,
                    "%s is a store of tenure: guard the tables of your own database",
                    g->path);
    return code;
}

static int install(struct target *t, const char *name, const char *const *tables,
                   size_t table_count, bool strict, tenure_error *err)
{
    struct sqlite_guard *g = guard_of(t);
    int code = handle_begin(g, err);
    if (code < 0)
        return code;
    code = refuse_store(g, err);
    if (code == 0)
        code = schema_state(g, err);
    if (code == 0)
        code = schema_create(g, err);
    if (code >= 0)
        code = register_guard(g, name, strict, err);
    for (size_t i = 0; i < table_count && code >= 0; i++)
        code = install_table(g, name, tables[i], err);
    return handle_end(g, code, err);
}

/* ---- announcing ---------------------------------------------------------------------------- */

static int move_mark(struct sqlite_guard *g, const char *name, uint64_t token, tenure_error *err)
{
    int64_t number = 0; /* the schema keeps it at 0 or above */
    int code = schema_require(g, name, err);
    if (code == 0)
        code = handle_number(g, "SELECT mark FROM tenure_guard WHERE name = ?", &name, 1, &number,
                             err);
    if (code < 0)
        return code;
    uint64_t mark = (uint64_t)number;
    switch (tenure_guard_admit(mark, token, false)) {
    case TENURE_GUARD_RAISE:
        break;
    case TENURE_GUARD_ADMIT:
        return 0;
    case TENURE_GUARD_STALE:
    case TENURE_GUARD_NEWER: /* never, without strict */
        return fail(err, TENURE_NOT_OWNED,
                    "--token %llu: stale, the mark of guard \"%s\" in %s is %llu",
                    (unsigned long long)token, name, g->path, (unsigned long long)mark);
    }
    char *sql = sq.sqlite3_mprintf("UPDATE tenure_guard SET mark = %llu WHERE name = %Q",
                                (sqlite3_uint64)token, name);
    code = sql ? handle_run(g, sql, "move the mark", err)
               : fail(err, TENURE_NO_MEMORY, "out of memory");
    sq.sqlite3_free(sql);
    return code;
}

static int announce(struct target *t, const char *name, uint64_t token, tenure_error *err)
{
    struct sqlite_guard *g = guard_of(t);
    int code = handle_begin(g, err);
    if (code < 0)
        return code;
    return handle_end(g, move_mark(g, name, token, err), err);
}

/* ---- removing ------------------------------------------------------------------------------ */

static int unprotect_all(struct sqlite_guard *g, const char *name, tenure_error *err)
{
    sqlite3_stmt *s;
    int code =
        handle_prepare(g, "SELECT id FROM tenure_guarded WHERE guard = ?", &name, 1, &s, err);
    if (code < 0)
        return code;
    /* A schema cannot be changed while a statement reads: collect first. */
    int64_t id[64];
    int count = 0;
    while (count < 64 && (code = handle_step(g, s, "read the guard", err)) == 1)
        id[count++] = sq.sqlite3_column_int64(s, 0);
    (void)sq.sqlite3_finalize(s); /* repeats the error of the step, which was reported */
    code = code < 0 ? code : 0;
    for (int i = 0; i < count && code == 0; i++) {
        char *sql = sq.sqlite3_mprintf("DELETE FROM tenure_guarded WHERE id = %lld",
                                    (sqlite3_int64)id[i]);
        code = schema_unprotect(g, id[i], err);
        if (code == 0)
            code = sql ? handle_run(g, sql, "remove the guard", err)
                       : fail(err, TENURE_NO_MEMORY, "out of memory");
        sq.sqlite3_free(sql);
    }
    return code < 0 ? code : count;
}

static int remove_guard(struct sqlite_guard *g, const char *name, tenure_error *err)
{
    int code = schema_require(g, name, err);
    if (code < 0)
        return code;
    do {
        code = unprotect_all(g, name, err);
    } while (code > 0);
    if (code == 0)
        code = handle_once(g, "DELETE FROM tenure_guard WHERE name = ?", &name, 1, err);
    if (code == 0)
        code = handle_once(g, "SELECT 1 FROM tenure_guard", NULL, 0, err);
    return code == 0 ? schema_drop(g, err) : code;
}

static int take_out(struct target *t, const char *name, tenure_error *err)
{
    struct sqlite_guard *g = guard_of(t);
    int code = handle_begin(g, err);
    if (code < 0)
        return code;
    code = handle_end(g, remove_guard(g, name, err), err);
    return code < 0 ? code : 0;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* The database is the user's: we never checkpoint it, neither now nor when we are the last to
 * close it.  (SQLite before 3.51.3 can damage a WAL when two connections checkpoint at once.) */
static int prepare_connection(struct sqlite_guard *g, tenure_error *err)
{
    int patience = g->patience_ms > INT32_MAX ? INT32_MAX : (int)g->patience_ms;
    if (sq.sqlite3_busy_timeout(g->db, patience) != SQLITE_OK ||
        sq.sqlite3_db_config(g->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) != SQLITE_OK ||
        sq.sqlite3_wal_autocheckpoint(g->db, 0) != SQLITE_OK)
        return handle_fail_sqlite(g, "set up the connection", err);
    return handle_run(g, "SELECT count(*) FROM sqlite_master", "read", err);
}

static void close_target(struct target *t)
{
    struct sqlite_guard *g = guard_of(t);
    handle_close(g);
    free(g->path);
    free(g);
}

int sqlite_guard_open(const char *path, int64_t patience_ms, struct target **ret,
                      tenure_error *err)
{
    static const struct target_calls calls = {true, close_target, install, announce,
                                              sqlite_guard_check, take_out};
    if (path[0] == '\0' || path[0] == ':')
        return fail(err, TENURE_INVALID,
                    "sqlite:%s: a guard is installed in the file of a database", path);
    struct sqlite_guard *g = calloc(1, sizeof *g);
    if (g == NULL || (g->path = strdup(path)) == NULL) {
        free(g);
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    }
    g->target.calls = &calls;
    g->patience_ms = patience_ms;
    int code = handle_open(g, "the database", err);
    if (code == 0)
        code = prepare_connection(g, err);
    if (code < 0)
        close_target(&g->target);
    else
        *ret = &g->target;
    return code;
}
