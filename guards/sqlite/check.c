/* sqlite/check.c - whether what is installed is still what was installed. */
#include <string.h>

#include "sqlite/handle.h"
#include "sqlite/schema.h"

/* What stands in the database as one of the objects of a table.  0, or a tenure_code; *ret_moved
 * (freed with sqlite3_free(), NULL before the call) is set when it is on another table. */
static int judge_trigger(struct sqlite_guard *g, const struct target_finding *f, int64_t id,
                         int op, enum target_state *ret, char **ret_moved,
                         tenure_error *err)
{
    char number[24];
    sq.sqlite3_snprintf((int)sizeof number, number, "%lld", (sqlite3_int64)id);
    const char *text[2] = {number, schema_operation[op]};
    sqlite3_stmt *s;
    int code = handle_prepare(g,
                              "SELECT tbl_name, sql FROM sqlite_master "
                              "WHERE type IN ('trigger', 'index') "
                              "AND name = 'tenure_guard_' || ?1 || '_' || ?2",
                              text, 2, &s, err);
    if (code < 0)
        return code;
    code = handle_step(g, s, "read the guard", err);
    *ret = TARGET_UNPROTECTED;
    if (code == 1) {
        const char *table = (const char *)sq.sqlite3_column_text(s, 0);
        const char *sql = (const char *)sq.sqlite3_column_text(s, 1);
        char *expected = table && sql ? schema_object(id, op, table, f->guard) : NULL;
        code = 0;
        if (expected == NULL)
            code = fail(err, TENURE_NO_MEMORY, "out of memory");
        else if (strcmp(sql, expected) != 0)
            *ret = TARGET_ALTERED;
        else if (sq.sqlite3_stricmp(table, f->table) == 0)
            *ret = TARGET_INTACT;
        else
            *ret = TARGET_MOVED;
        if (code == 0 && *ret == TARGET_MOVED && *ret_moved == NULL) {
            *ret_moved = sq.sqlite3_mprintf("%s", table);
            if (*ret_moved == NULL)
                code = fail(err, TENURE_NO_MEMORY, "out of memory");
        }
        sq.sqlite3_free(expected);
    }
    (void)sq.sqlite3_finalize(s); /* repeats the error of the step, which was reported */
    return code;
}

/* The state of one table is the first bad one of its objects. */
static int judge_table(struct sqlite_guard *g, struct target_finding *f, int64_t id,
                       char **ret_moved, tenure_error *err)
{
    f->state = TARGET_INTACT;
    int code = 0;
    for (int op = 0; op < SCHEMA_OBJECTS && code == 0; op++) {
        enum target_state state;
        code = judge_trigger(g, f, id, op, &state, ret_moved, err);
        if (code == 0 && f->state == TARGET_INTACT)
            f->state = state;
    }
    if (code < 0 || f->state != TARGET_UNPROTECTED)
        return code;
    code = handle_once(g,
                         "SELECT 1 FROM sqlite_master "
                         "WHERE type = 'table' AND name = ? COLLATE NOCASE",
                         &f->table, 1, err);
    if (code == 0)
        f->state = TARGET_TABLE_GONE;
    return code < 0 ? code : 0;
}

static int check_row(struct sqlite_guard *g, sqlite3_stmt *s, target_finding_fn *fn,
                     void *arg, tenure_error *err)
{
    struct target_finding f = {
        .guard = (const char *)sq.sqlite3_column_text(s, 0),
        .mark = (uint64_t)sq.sqlite3_column_int64(s, 1),
        .strict = sq.sqlite3_column_int(s, 2) != 0,
        .table = (const char *)sq.sqlite3_column_text(s, 3),
    };
    if (f.guard == NULL || f.table == NULL)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    char *moved = NULL;
    int code = judge_table(g, &f, sq.sqlite3_column_int64(s, 4), &moved, err);
    f.moved_to = moved;
    if (code == 0)
        fn(arg, &f);
    sq.sqlite3_free(moved);
    return code;
}

static int check_rows(struct sqlite_guard *g, const char *name, target_finding_fn *fn,
                      void *arg, tenure_error *err)
{
    int code = name ? schema_require(g, name, err) : schema_state(g, err);
    if (code < 0 || (name == NULL && code == 0))
        return code;
    sqlite3_stmt *s;
    code = handle_prepare(g,
                          "SELECT g.name, g.mark, g.strict, d.table_name, d.id "
                          "FROM tenure_guard AS g JOIN tenure_guarded AS d ON d.guard = g.name "
                          "WHERE ?1 IS NULL OR g.name = ?1 ORDER BY g.name, d.table_name",
                          &name, 1, &s, err);
    if (code < 0)
        return code;
    while ((code = handle_step(g, s, "read the guards", err)) == 1) {
        code = check_row(g, s, fn, arg, err);
        if (code < 0)
            break;
    }
    (void)sq.sqlite3_finalize(s); /* repeats the error of the step, which was reported */
    return code;
}

int sqlite_guard_check(struct target *t, const char *name, target_finding_fn *fn, void *arg,
                       tenure_error *err)
{
    struct sqlite_guard *g = guard_of(t);
    /* One read transaction: what is reported stood together at one moment. */
    int code = handle_run(g, "BEGIN", "read", err);
    if (code < 0)
        return code;
    return handle_end(g, check_rows(g, name, fn, arg, err), err);
}
