#include "sqlite/schema.h"

#include <string.h>

#include "schema_sql.h"
#include "trigger_sql.h"

const char *const schema_operation[SCHEMA_OBJECTS] = {"INSERT", "UPDATE", "DELETE", "BLOB"};
enum { BLOB = SCHEMA_OBJECTS - 1 };

static int no_memory(tenure_error *err)
{
    return fail(err, TENURE_NO_MEMORY, "out of memory");
}

/* ---- the shared objects -------------------------------------------------------------------- */

/* What the schema looks like is known to SQLite alone, so it is asked: the schema is made in an
 * empty database in memory, and each object must be found in the user's with the same text. */
static int same_as_in_model(struct sqlite_guard *g, sqlite3 *model, tenure_error *err)
{
    sqlite3_stmt *s;
    if (sq.sqlite3_exec(model, schema_sql, NULL, NULL, NULL) != SQLITE_OK ||
        sq.sqlite3_prepare_v2(model, "SELECT type, name, sql FROM sqlite_master WHERE sql NOT NULL",
                           -1, &s, NULL) != SQLITE_OK)
        return no_memory(err); /* nothing else can go wrong in an empty database of our own */
    int code = 1, result;
    while ((result = sq.sqlite3_step(s)) == SQLITE_ROW && code == 1) {
        const char *text[3];
        for (int i = 0; i < 3; i++)
            text[i] = (const char *)sq.sqlite3_column_text(s, i);
        if (text[0] == NULL || text[1] == NULL || text[2] == NULL)
            code = no_memory(err);
        else
            code = handle_once(g,
                                 "SELECT 1 FROM sqlite_master "
                                 "WHERE type = ? AND name = ? AND sql = ?",
                                 text, 3, err);
        if (code == 0)
            code = fail(err, TENURE_FOREIGN,
                        "%s of the guards in %s is missing, or is not the one that tenure "
                        TENURE_VERSION " makes",
                        text[1], g->path);
    }
    if (code == 1 && result != SQLITE_DONE)
        code = no_memory(err);
    (void)sq.sqlite3_finalize(s); /* repeats the error of the step */
    return code;
}

int schema_state(struct sqlite_guard *g, tenure_error *err)
{
    int some = handle_once(g,
                             "SELECT 1 FROM sqlite_master WHERE name COLLATE NOCASE IN "
                             "('tenure_guard', 'tenure_guarded', 'tenure_verdict')",
                             NULL, 0, err);
    if (some <= 0)
        return some;
    sqlite3 *model = NULL;
    int code = sq.sqlite3_open(":memory:", &model) == SQLITE_OK ? same_as_in_model(g, model, err)
                                                             : no_memory(err);
    (void)sq.sqlite3_close(model); /* cannot fail: no statement of it is left */
    return code;
}

int schema_require(struct sqlite_guard *g, const char *name, tenure_error *err)
{
    int code = schema_state(g, err);
    if (code == 1)
        code = handle_once(g, "SELECT 1 FROM tenure_guard WHERE name = ?", &name, 1, err);
    if (code == 0)
        return fail(err, TENURE_INVALID, "no guard \"%s\" is installed in %s", name,
                    g->path);
    return code < 0 ? code : 0;
}

int schema_create(struct sqlite_guard *g, tenure_error *err)
{
    return handle_run(g, schema_sql, "install the guard", err);
}

int schema_drop(struct sqlite_guard *g, tenure_error *err)
{
    return handle_run(g,
                      "DROP VIEW tenure_verdict; DROP TABLE tenure_guarded; "
                      "DROP TABLE tenure_guard;",
                      "remove the guard", err);
}

/* ---- the triggers of one table ------------------------------------------------------------- */

static void put_placeholder(sqlite3_str *out, const char *key, size_t len, int64_t id, int op,
                            const char *table, const char *name)
{
    if (len == 2 && memcmp(key, "id", len) == 0)
        sq.sqlite3_str_appendf(out, "%lld", (sqlite3_int64)id);
    else if (len == 9 && memcmp(key, "operation", len) == 0)
        sq.sqlite3_str_appendall(out, schema_operation[op]);
    else if (len == 5 && memcmp(key, "table", len) == 0)
        sq.sqlite3_str_appendf(out, "\"%w\"", table);
    else
        sq.sqlite3_str_appendf(out, "%q", name);
}

/* sqlite3_blob_write() fires no trigger.  It refuses a table with an index on an expression, so
 * there is one, which never has an entry. */
static char *blob_bar(int64_t id, const char *table)
{
    return sq.sqlite3_mprintf("CREATE INDEX \"tenure_guard_%lld_BLOB\" ON \"%w\" ((0)) WHERE 0",
                           (sqlite3_int64)id, table);
}

char *schema_object(int64_t id, int op, const char *table, const char *name)
{
    if (op == BLOB)
        return blob_bar(id, table);
    const char *at = strstr(trigger_sql, "CREATE TRIGGER"), *open;
    sqlite3_str *out = sq.sqlite3_str_new(NULL);
    while ((open = strchr(at, '{')) != NULL) {
        const char *end = strchr(open, '}');
        sq.sqlite3_str_append(out, at, (int)(open - at));
        put_placeholder(out, open + 1, (size_t)(end - open - 1), id, op, table, name);
        at = end + 1;
    }
    /* sqlite_master keeps a statement without what follows its END. */
    sq.sqlite3_str_append(out, at, (int)(strstr(at, "\nEND;") + 4 - at));
    return sq.sqlite3_str_finish(out);
}

int schema_protect(struct sqlite_guard *g, int64_t id, const char *table, const char *name,
                   tenure_error *err)
{
    int code = schema_unprotect(g, id, err);
    for (int op = 0; op < SCHEMA_OBJECTS && code == 0; op++) {
        char *sql = schema_object(id, op, table, name);
        code = sql ? handle_run(g, sql, "guard the table", err) : no_memory(err);
        sq.sqlite3_free(sql);
    }
    return code;
}

int schema_unprotect(struct sqlite_guard *g, int64_t id, tenure_error *err)
{
    int code = 0;
    for (int op = 0; op < SCHEMA_OBJECTS && code == 0; op++) {
        char *sql = sq.sqlite3_mprintf("DROP %s IF EXISTS \"tenure_guard_%lld_%s\"",
                                    op == BLOB ? "INDEX" : "TRIGGER", (sqlite3_int64)id,
                                    schema_operation[op]);
        code = sql ? handle_run(g, sql, "remove the guard", err) : no_memory(err);
        sq.sqlite3_free(sql);
    }
    return code;
}
