/* tests/guards/ledger.h - a guarded ledger for each case, and short ways to use it. */
#ifndef TESTS_GUARDS_LEDGER_H
#define TESTS_GUARDS_LEDGER_H

#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "sqlite/guard.h"
#include "tap.h"

static char path[64];
static tenure_error err;

/* ---- a ledger for each case ---------------------------------------------------------------- */

static inline sqlite3 *connect(void)
{
    sqlite3 *db;
    int result = sqlite3_open(path, &db);
    assert(result == SQLITE_OK);
    return db;
}

/* Runs a script; NULL when it went well, else the message (the caller never frees it). */
static inline const char *run(sqlite3 *db, const char *sql)
{
    static char message[256];
    char *text = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &text) == SQLITE_OK)
        return NULL;
    snprintf(message, sizeof message, "%s", text ? text : "no text");
    sqlite3_free(text);
    return message;
}

static inline long long number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s;
    long long n = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        n = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    return n;
}

static inline void present(sqlite3 *db, const char *token)
{
    char sql[200];
    snprintf(sql, sizeof sql,
             "DROP TABLE IF EXISTS temp.tenure_token;"
             "CREATE TEMP TABLE tenure_token (\"billing/invoices\" DEFAULT %s)", token);
    const char *failure = run(db, sql);
    assert(failure == NULL);
}

static inline bool starts(const char *text, const char *head)
{
    return text != NULL && strncmp(text, head, strlen(head)) == 0;
}

static inline void new_ledger(void)
{
    snprintf(path, sizeof path, "/tmp/tenure-guard-XXXXXX");
    int fd = mkstemp(path);
    assert(fd >= 0);
    (void)close(fd);
    sqlite3 *db = connect();
    const char *failure =
        run(db, "CREATE TABLE invoices (id INTEGER PRIMARY KEY, total INTEGER UNIQUE);"
                "CREATE TABLE \"it's \"\"odd\"\"\" (id TEXT PRIMARY KEY, x) WITHOUT ROWID;"
                "CREATE TABLE free (x);"
                "CREATE VIEW looks AS SELECT * FROM invoices;"
                "CREATE VIRTUAL TABLE words USING fts5(word)");
    assert(failure == NULL);
    sqlite3_close(db);
}

static inline void drop_ledger(void)
{
    (void)unlink(path);
}

static inline int install(const char *name, const char *table, bool strict)
{
    struct target *g;
    int code = sqlite_guard_open(path, 100, &g, &err);
    if (code == 0) {
        code = target_install(g, name, &table, 1, strict, &err);
        target_close(g);
    }
    return code;
}

static inline int announce(const char *name, uint64_t token)
{
    struct target *g;
    int code = sqlite_guard_open(path, 100, &g, &err);
    if (code == 0) {
        code = target_announce(g, name, token, &err);
        target_close(g);
    }
    return code;
}

static inline int take_out(const char *name)
{
    struct target *g;
    int code = sqlite_guard_open(path, 100, &g, &err);
    if (code == 0) {
        code = target_remove(g, name, &err);
        target_close(g);
    }
    return code;
}

struct seen {
    int count;
    uint64_t mark;
    enum target_state state;
    char moved_to[32];
};

static inline void see(void *arg, const struct target_finding *f)
{
    struct seen *seen = arg;
    seen->count++;
    seen->mark = f->mark;
    seen->state = f->state;
    snprintf(seen->moved_to, sizeof seen->moved_to, "%s", f->moved_to ? f->moved_to : "");
}

static inline int check(const char *name, struct seen *seen)
{
    struct target *g;
    *seen = (struct seen){0};
    int code = sqlite_guard_open(path, 100, &g, &err);
    if (code == 0) {
        code = target_check(g, name, see, seen, &err);
        target_close(g);
    }
    return code;
}

static inline const char *write_with(const char *token, const char *sql)
{
    sqlite3 *db = connect();
    if (token)
        present(db, token);
    const char *message = run(db, sql);
    sqlite3_close(db);
    return message;
}

/* A case with a ledger of its own: CASES(X) lists the cases of a file. */
#define WITH_LEDGER(name)                                                                          \
    static void name##_(void)                                                                      \
    {                                                                                              \
        new_ledger();                                                                              \
        name();                                                                                    \
        drop_ledger();                                                                             \
    }
#define LISTED(name) {#name, name##_},

#endif
