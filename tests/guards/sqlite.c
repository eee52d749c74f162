/* tests/guards/sqlite.c - the SQL of the guard and the calls around it, in one process.  What other
 * programs and several processes see is in tests/e2e/test_guard_sqlite.py. */
#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/guard.h"
#include "sqlite/guard.h"
#include "tap.h"

static char path[64];
static tenure_error err;

/* ---- a ledger for each case ---------------------------------------------------------------- */

static sqlite3 *connect(void)
{
    sqlite3 *db;
    int result = sqlite3_open(path, &db);
    assert(result == SQLITE_OK);
    return db;
}

/* Runs a script; NULL when it went well, else the message (the caller never frees it). */
static const char *run(sqlite3 *db, const char *sql)
{
    static char message[256];
    char *text = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &text) == SQLITE_OK)
        return NULL;
    snprintf(message, sizeof message, "%s", text ? text : "no text");
    sqlite3_free(text);
    return message;
}

static long long number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *s;
    long long n = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        n = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    return n;
}

static void present(sqlite3 *db, const char *token)
{
    char sql[200];
    snprintf(sql, sizeof sql,
             "DROP TABLE IF EXISTS temp.tenure_token;"
             "CREATE TEMP TABLE tenure_token (\"billing/invoices\" DEFAULT %s)", token);
    const char *failure = run(db, sql);
    assert(failure == NULL);
}

static bool starts(const char *text, const char *head)
{
    return text != NULL && strncmp(text, head, strlen(head)) == 0;
}

static void new_ledger(void)
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

static void drop_ledger(void)
{
    (void)unlink(path);
}

static int install(const char *name, const char *table, bool strict)
{
    struct sqlite_guard *g;
    int code = sqlite_guard_open(path, 100, &g, &err);
    if (code == 0) {
        code = sqlite_guard_install(g, name, &table, 1, strict, &err);
        sqlite_guard_close(g);
    }
    return code;
}

static int announce(const char *name, uint64_t token)
{
    struct sqlite_guard *g;
    int code = sqlite_guard_open(path, 100, &g, &err);
    if (code == 0) {
        code = sqlite_guard_announce(g, name, token, &err);
        sqlite_guard_close(g);
    }
    return code;
}

static int take_out(const char *name)
{
    struct sqlite_guard *g;
    int code = sqlite_guard_open(path, 100, &g, &err);
    if (code == 0) {
        code = sqlite_guard_remove(g, name, &err);
        sqlite_guard_close(g);
    }
    return code;
}

struct seen {
    int count;
    uint64_t mark;
    enum sqlite_guard_state state;
    char moved_to[32];
};

static void see(void *arg, const struct sqlite_guard_finding *f)
{
    struct seen *seen = arg;
    seen->count++;
    seen->mark = f->mark;
    seen->state = f->state;
    snprintf(seen->moved_to, sizeof seen->moved_to, "%s", f->moved_to ? f->moved_to : "");
}

static int check(const char *name, struct seen *seen)
{
    struct sqlite_guard *g;
    *seen = (struct seen){0};
    int code = sqlite_guard_open(path, 100, &g, &err);
    if (code == 0) {
        code = sqlite_guard_check(g, name, see, seen, &err);
        sqlite_guard_close(g);
    }
    return code;
}

/* ---- the rule ------------------------------------------------------------------------------ */

static void a_token_is_judged_by_the_mark(void)
{
    CHECK(guard_admit(5, 5, false) == GUARD_ADMIT);
    CHECK(guard_admit(5, 6, false) == GUARD_RAISE);
    CHECK(guard_admit(5, 6, true) == GUARD_NEWER);
    CHECK(guard_admit(5, 4, false) == GUARD_STALE);
    CHECK(guard_admit(5, 4, true) == GUARD_STALE);
    CHECK(guard_admit(0, 0, false) == GUARD_STALE);
    CHECK(guard_admit(UINT64_MAX, UINT64_MAX - 1, false) == GUARD_STALE);
}

static void the_sql_and_the_rule_agree_on_all_small_tokens(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    sqlite3 *db = connect();
    int agreed = 0;
    for (int mark = 0; mark <= 6; mark++) {
        for (int token = 1; token <= 7; token++) {
            for (int strict = 0; strict <= 1; strict++) {
                char sql[200], text[8];
                snprintf(sql, sizeof sql,
                         "DELETE FROM tenure_guard; INSERT INTO tenure_guard "
                         "VALUES ('billing/invoices', %d, %d)", mark, strict);
                snprintf(text, sizeof text, "%d", token);
                CHECK(run(db, sql) == NULL);
                present(db, text);
                snprintf(sql, sizeof sql, "SELECT verdict = '%s' FROM tenure_verdict",
                         guard_verdict_text(guard_admit((uint64_t)mark, (uint64_t)token, strict)));
                agreed += number(db, sql) == 1;
            }
        }
    }
    sqlite3_close(db);
    CHECK(agreed == 7 * 7 * 2);
}

/* ---- writing ------------------------------------------------------------------------------- */

static const char *write_with(const char *token, const char *sql)
{
    sqlite3 *db = connect();
    if (token)
        present(db, token);
    const char *message = run(db, sql);
    sqlite3_close(db);
    return message;
}

static void every_verdict_has_its_own_words(void)
{
    const char *insert = "INSERT INTO invoices(total) VALUES (1)";
    CHECK(install("billing/invoices", "invoices", true) == 0);
    CHECK(announce("billing/invoices", 42) == 0);
    CHECK(starts(write_with(NULL, insert), "tenure: missing"));
    CHECK(starts(write_with("41", insert), "tenure: stale"));
    CHECK(starts(write_with("43", insert), "tenure: newer"));
    CHECK(write_with("42", insert) == NULL);
}

static void what_is_not_a_token_is_refused(void)
{
    static const char *const bad[] = {"0", "-1", "042", "+42", "4e1", "0x2a", "42.0", "'42'",
                                      "(41+1)", "''", "x'42'", "9223372036854775808",
                                      "18446744073709551616", "' 42'", "'42; --'", "NULL", "TRUE"};
    CHECK(install("billing/invoices", "invoices", false) == 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(starts(write_with(bad[i], "DELETE FROM invoices WHERE id = 1;"
                                        "INSERT INTO invoices(total) VALUES (1)"),
                     "tenure: invalid"));
    CHECK(write_with("9223372036854775807", "INSERT INTO invoices(total) VALUES (1)") == NULL);
}

static void every_way_to_write_is_guarded(void)
{
    static const char *const way[] = {
        "INSERT INTO invoices VALUES (2, 2)",
        "INSERT OR IGNORE INTO invoices VALUES (2, 2)",
        "INSERT OR REPLACE INTO invoices VALUES (1, 7)",
        "REPLACE INTO invoices VALUES (1, 7)",
        "INSERT INTO invoices VALUES (1, 7) ON CONFLICT DO UPDATE SET total = 7",
        "INSERT INTO invoices VALUES (1, 1) ON CONFLICT DO NOTHING",
        "INSERT INTO invoices SELECT 5, 5",
        "UPDATE invoices SET total = 7",
        "UPDATE OR REPLACE invoices SET id = 1",
        "UPDATE OR IGNORE invoices SET total = 7",
        "DELETE FROM invoices WHERE id = 1",
        "DELETE FROM invoices",
    };
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(write_with("42", "INSERT INTO invoices VALUES (1, 1)") == NULL);
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        CHECK(starts(write_with("41", way[i]), "tenure: stale"));
        CHECK(starts(write_with(NULL, way[i]), "tenure: missing"));
    }
    sqlite3 *db = connect();
    long long sum = number(db, "SELECT sum(id * 100 + total) FROM invoices");
    sqlite3_close(db);
    CHECK(sum == 101);
}

/* sqlite3_blob_write() fires no triggers. */
static void a_stale_blob_is_not_written_in_pieces(void)
{
    sqlite3_blob *blob = NULL;
    CHECK(write_with("42", "CREATE TABLE scan (id INTEGER PRIMARY KEY, page BLOB);"
                           "INSERT INTO scan VALUES (1, zeroblob(10))") == NULL);
    CHECK(install("billing/invoices", "scan", false) == 0);
    CHECK(announce("billing/invoices", 42) == 0);
    sqlite3 *db = connect();
    present(db, "41");
    CHECK(sqlite3_blob_open(db, "main", "scan", "page", 1, 1, &blob) == SQLITE_ERROR);
    CHECK(sqlite3_blob_open(db, "main", "scan", "page", 1, 0, &blob) == SQLITE_OK);
    sqlite3_blob_close(blob);
    CHECK(number(db, "SELECT page = zeroblob(10) FROM scan") == 1);
    CHECK(number(db, "SELECT count(*) FROM pragma_integrity_check "
                     "WHERE integrity_check = 'ok'") == 1);
    sqlite3_close(db);
}

static void a_deletion_by_a_foreign_key_is_guarded(void)
{
    const char *failure = write_with(
        "42", "CREATE TABLE customer (id INTEGER PRIMARY KEY);"
              "CREATE TABLE line (c REFERENCES customer ON DELETE CASCADE ON UPDATE CASCADE);"
              "INSERT INTO customer VALUES (1); INSERT INTO line VALUES (1)");
    CHECK(failure == NULL);
    CHECK(install("billing/invoices", "line", false) == 0);
    CHECK(announce("billing/invoices", 42) == 0);
    CHECK(starts(write_with("41", "PRAGMA foreign_keys = ON; DELETE FROM customer"),
                 "tenure: stale"));
    CHECK(starts(write_with("41", "PRAGMA foreign_keys = ON; UPDATE customer SET id = 2"),
                 "tenure: stale"));
    CHECK(write_with("42", "PRAGMA foreign_keys = ON; DELETE FROM customer") == NULL);
}

static void a_refused_statement_leaves_nothing_and_the_transaction_stands(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(announce("billing/invoices", 42) == 0);
    sqlite3 *db = connect();
    present(db, "41");
    CHECK(run(db, "BEGIN; INSERT INTO free VALUES (1)") == NULL);
    CHECK(starts(run(db, "INSERT INTO invoices VALUES (1, 1), (2, 2)"), "tenure: stale"));
    CHECK(sqlite3_errcode(db) == SQLITE_CONSTRAINT);
    CHECK(sqlite3_get_autocommit(db) == 0);
    CHECK(run(db, "COMMIT") == NULL);
    CHECK(number(db, "SELECT count(*) FROM free") == 1);
    CHECK(number(db, "SELECT count(*) FROM invoices") == 0);
    sqlite3_close(db);
}

static void a_roll_back_takes_the_raised_mark_back(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    sqlite3 *db = connect();
    present(db, "42");
    CHECK(run(db, "BEGIN; INSERT INTO invoices VALUES (1, 1)") == NULL);
    CHECK(number(db, "SELECT mark FROM tenure_guard") == 42);
    CHECK(run(db, "ROLLBACK") == NULL);
    CHECK(number(db, "SELECT mark FROM tenure_guard") == 0);
    CHECK(run(db, "BEGIN; SAVEPOINT a; INSERT INTO invoices VALUES (1, 1); ROLLBACK TO a;"
                  "COMMIT") == NULL);
    CHECK(number(db, "SELECT mark FROM tenure_guard") == 0);
    CHECK(run(db, "INSERT INTO invoices VALUES (1, 1)") == NULL);
    CHECK(run(db, "INSERT INTO invoices VALUES (1, 1)") != NULL); /* the primary key */
    CHECK(number(db, "SELECT mark FROM tenure_guard") == 42);
    sqlite3_close(db);
}

static void a_statement_that_fails_by_itself_does_not_raise_the_mark(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(write_with("42", "INSERT INTO invoices VALUES (1, 1)") == NULL);
    CHECK(!starts(write_with("43", "INSERT INTO invoices VALUES (1, 1)"), "tenure"));
    sqlite3 *db = connect();
    long long mark = number(db, "SELECT mark FROM tenure_guard");
    sqlite3_close(db);
    CHECK(mark == 42);
}

static void a_mark_never_goes_down(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(announce("billing/invoices", 42) == 0);
    CHECK(starts(write_with(NULL, "UPDATE tenure_guard SET mark = 41"), "tenure: the mark"));
    CHECK(starts(write_with(NULL, "UPDATE tenure_guard SET mark = 'x'"), "tenure: the mark"));
    CHECK(starts(write_with(NULL, "UPDATE tenure_guard SET mark = 99.5"), "tenure: the mark"));
}

/* ---- what could be taken for a token -------------------------------------------------------- */

static void a_table_in_the_file_is_no_presented_token(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(write_with(NULL, "CREATE TABLE tenure_token (\"billing/invoices\" DEFAULT 99)") == NULL);
    CHECK(starts(write_with(NULL, "INSERT INTO invoices VALUES (1, 1)"), "tenure: missing"));
    CHECK(write_with("42", "INSERT INTO invoices VALUES (1, 1)") == NULL);
}

static void a_token_for_another_guard_does_not_count(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(install("billing/other", "free", false) == 0);
    CHECK(starts(write_with("42", "INSERT INTO free VALUES (1)"), "tenure: missing"));
    CHECK(starts(write_with(NULL, "CREATE TEMP TABLE tenure_token (\"Billing/invoices\" DEFAULT 9);"
                                  "INSERT INTO invoices VALUES (1, 1)"), "tenure: missing"));
    CHECK(write_with(NULL, "CREATE TEMP TABLE tenure_token (\"billing/invoices\" DEFAULT 42,"
                           "                                \"billing/other\" DEFAULT 7);"
                           "INSERT INTO free VALUES (1); INSERT INTO invoices VALUES (1, 1)")
          == NULL);
}

static void a_token_ends_with_its_connection(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    sqlite3 *one = connect(), *two = connect();
    present(one, "42");
    const char *first = run(one, "INSERT INTO invoices VALUES (1, 1)");
    const char *second = run(two, "INSERT INTO invoices VALUES (2, 2)");
    sqlite3_close(one);
    sqlite3_close(two);
    CHECK(first == NULL);
    CHECK(starts(second, "tenure: missing"));
    CHECK(starts(write_with(NULL, "INSERT INTO invoices VALUES (3, 3)"), "tenure: missing"));
}

static void an_untrusted_schema_fails_closed(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(starts(write_with("42", "PRAGMA trusted_schema = OFF;"
                                  "INSERT INTO invoices VALUES (1, 1)"), "unsafe use"));
}

static void a_guard_whose_row_was_deleted_fails_closed(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(starts(write_with("42", "DELETE FROM tenure_guard; INSERT INTO invoices VALUES (1, 1)"),
                 "tenure: broken"));
}

static void an_attached_database_is_guarded(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(announce("billing/invoices", 42) == 0);
    sqlite3 *db;
    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
    char sql[200];
    snprintf(sql, sizeof sql, "ATTACH '%s' AS ledger", path);
    const char *attached = run(db, sql);
    present(db, "41");
    const char *stale = run(db, "INSERT INTO ledger.invoices VALUES (1, 1)");
    bool refused = starts(stale, "tenure: stale");
    present(db, "43");
    const char *fresh = run(db, "INSERT INTO ledger.invoices VALUES (1, 1)");
    long long mark = number(db, "SELECT mark FROM ledger.tenure_guard");
    sqlite3_close(db);
    CHECK(attached == NULL && refused && fresh == NULL && mark == 43);
}

static void odd_tables_are_guarded(void)
{
    CHECK(install("billing/invoices", "it's \"odd\"", false) == 0);
    CHECK(starts(write_with(NULL, "INSERT INTO \"it's \"\"odd\"\"\" VALUES (1, 1)"),
                 "tenure: missing"));
    CHECK(write_with("42", "INSERT INTO \"it's \"\"odd\"\"\" VALUES (1, 1)") == NULL);
    struct seen seen;
    CHECK(check(NULL, &seen) == 0 && seen.state == SQLITE_GUARD_INTACT && seen.mark == 42);
}

/* ---- install, announce, check, remove ------------------------------------------------------ */

static void bad_targets_are_refused_and_nothing_is_installed(void)
{
    CHECK(install("billing/invoices", "no such", false) == TENURE_INVALID);
    CHECK(install("billing/invoices", "looks", false) == TENURE_INVALID);
    CHECK(strstr(err.text, "view") != NULL);
    CHECK(install("billing/invoices", "words", false) == TENURE_INVALID);
    CHECK(strstr(err.text, "virtual") != NULL);
    CHECK(install("billing/invoices", "words_data", false) == TENURE_INVALID);
    CHECK(install("billing/invoices", "sqlite_master", false) == TENURE_INVALID);
    CHECK(install("billing//invoices", "invoices", false) == TENURE_INVALID);
    const char *tables[] = {"invoices", "no such"};
    struct sqlite_guard *g;
    CHECK(sqlite_guard_open(path, 100, &g, &err) == 0);
    int some = sqlite_guard_install(g, "billing/invoices", tables, 2, false, &err);
    int none = sqlite_guard_install(g, "billing/invoices", tables, 0, false, &err);
    sqlite_guard_close(g);
    CHECK(some == TENURE_INVALID && none == TENURE_INVALID);
    sqlite3 *db = connect();
    long long left = number(db, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'tenure%'");
    sqlite3_close(db);
    CHECK(left == 0);
}

static void a_store_of_tenure_is_no_target(void)
{
    CHECK(write_with(NULL, "PRAGMA application_id = 0x74656e75") == NULL);
    CHECK(install("billing/invoices", "invoices", false) == TENURE_INVALID);
    CHECK(strstr(err.text, "store of tenure") != NULL);
    CHECK(write_with(NULL, "INSERT INTO invoices VALUES (1, 1)") == NULL);
}

static void a_missing_file_is_not_created(void)
{
    struct sqlite_guard *g;
    CHECK(sqlite_guard_open("/tmp/no such directory/x.db", 100, &g, &err) == TENURE_UNREACHABLE);
    CHECK(sqlite_guard_open("", 100, &g, &err) == TENURE_INVALID);
    CHECK(sqlite_guard_open(":memory:", 100, &g, &err) == TENURE_INVALID);
    CHECK(sqlite_guard_open("/bin/sh", 100, &g, &err) == TENURE_FOREIGN);
}

static void a_table_has_one_guard(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(install("billing/other", "INVOICES", false) == TENURE_CONFLICT);
    CHECK(install("billing/invoices", "Invoices", false) == 0);
    CHECK(install("billing/invoices", "free", true) == TENURE_CONFLICT);
    struct seen seen;
    CHECK(check(NULL, &seen) == 0 && seen.count == 1);
}

static void to_install_again_keeps_the_mark_and_mends_the_triggers(void)
{
    struct seen seen;
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(announce("billing/invoices", 42) == 0);
    CHECK(write_with(NULL, "DROP TRIGGER tenure_guard_1_UPDATE") == NULL);
    CHECK(check(NULL, &seen) == 0 && seen.state == SQLITE_GUARD_UNPROTECTED);
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(check(NULL, &seen) == 0 && seen.state == SQLITE_GUARD_INTACT && seen.mark == 42);
}

static void an_announcement_only_moves_up(void)
{
    CHECK(install("billing/invoices", "invoices", true) == 0);
    CHECK(announce("billing/invoices", 42) == 0);
    CHECK(announce("billing/invoices", 42) == 0);
    CHECK(announce("billing/invoices", 41) == TENURE_NOT_OWNED);
    CHECK(strstr(err.text, "42") != NULL);
    CHECK(announce("billing/invoices", 0) == TENURE_INVALID);
    CHECK(announce("billing/invoices", UINT64_MAX) == TENURE_INVALID);
    CHECK(announce("billing/unknown", 1) == TENURE_INVALID);
    struct seen seen;
    CHECK(check("billing/invoices", &seen) == 0 && seen.mark == 42);
}

static void an_announcement_waits_for_the_old_holders_transaction(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    sqlite3 *old = connect();
    present(old, "42");
    const char *admitted = run(old, "BEGIN; INSERT INTO invoices VALUES (1, 1)");
    int during = announce("billing/invoices", 43);
    const char *committed = run(old, "COMMIT");
    int after = announce("billing/invoices", 43);
    bool refused = starts(run(old, "INSERT INTO invoices VALUES (2, 2)"), "tenure: stale");
    sqlite3_close(old);
    CHECK(admitted == NULL && during == TENURE_BUSY && committed == NULL);
    CHECK(after == 0 && refused);
}

static void a_transaction_that_read_before_the_announcement_cannot_write(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    sqlite3 *old = connect();
    present(old, "42");
    const char *began = run(old, "PRAGMA journal_mode = WAL; BEGIN; SELECT * FROM invoices");
    int announced = announce("billing/invoices", 43);
    const char *late = run(old, "INSERT INTO invoices VALUES (1, 1)");
    long long rows = number(old, "SELECT count(*) FROM invoices");
    sqlite3_close(old);
    CHECK(began == NULL && announced == 0);
    CHECK(late != NULL); /* SQLITE_BUSY_SNAPSHOT: its view of the mark is old */
    CHECK(rows == 0);
}

static void check_finds_what_a_migration_lost(void)
{
    struct seen seen;
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(write_with("42", "DROP VIEW looks; ALTER TABLE invoices RENAME TO bills") == NULL);
    CHECK(check(NULL, &seen) == 0 && seen.state == SQLITE_GUARD_MOVED);
    CHECK(strcmp(seen.moved_to, "bills") == 0);
    CHECK(starts(write_with(NULL, "INSERT INTO bills VALUES (1, 1)"), "tenure: missing"));
    CHECK(install("billing/invoices", "bills", false) == 0);
    CHECK(check(NULL, &seen) == 0 && seen.state == SQLITE_GUARD_INTACT && seen.count == 1);
    CHECK(write_with("42", "CREATE TABLE new_bills (id INTEGER PRIMARY KEY, total);"
                           "INSERT INTO new_bills SELECT * FROM bills; DROP TABLE bills;"
                           "ALTER TABLE new_bills RENAME TO bills") == NULL);
    CHECK(check(NULL, &seen) == 0 && seen.state == SQLITE_GUARD_UNPROTECTED);
    CHECK(write_with("42", "DROP TABLE bills") == NULL);
    CHECK(check(NULL, &seen) == 0 && seen.state == SQLITE_GUARD_TABLE_GONE);
}

static void check_finds_what_was_altered(void)
{
    struct seen seen;
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(write_with(NULL, "DROP TRIGGER tenure_guard_1_DELETE;"
                           "CREATE TRIGGER tenure_guard_1_DELETE BEFORE DELETE ON invoices "
                           "BEGIN SELECT 1; END") == NULL);
    CHECK(check("billing/invoices", &seen) == 0 && seen.state == SQLITE_GUARD_ALTERED);
    CHECK(check("billing/unknown", &seen) == TENURE_INVALID);
    CHECK(write_with(NULL, "DROP VIEW tenure_verdict;"
                           "CREATE VIEW tenure_verdict AS SELECT 1") == NULL);
    CHECK(check(NULL, &seen) == TENURE_FOREIGN);
    CHECK(announce("billing/invoices", 1) == TENURE_FOREIGN);
    CHECK(install("billing/invoices", "free", false) == TENURE_FOREIGN);
}

static void to_remove_leaves_nothing(void)
{
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(install("billing/invoices", "free", false) == 0);
    CHECK(install("billing/other", "it's \"odd\"", false) == 0);
    CHECK(take_out("billing/invoices") == 0);
    CHECK(write_with(NULL, "INSERT INTO invoices VALUES (1, 1); INSERT INTO free VALUES (1)")
          == NULL);
    CHECK(starts(write_with(NULL, "DELETE FROM \"it's \"\"odd\"\"\";"
                                  "INSERT INTO \"it's \"\"odd\"\"\" VALUES (1, 1)"), "tenure"));
    CHECK(take_out("billing/invoices") == TENURE_INVALID);
    CHECK(take_out("billing/other") == 0);
    CHECK(take_out("billing/other") == TENURE_INVALID);
    sqlite3 *db = connect();
    long long left = number(db, "SELECT count(*) FROM sqlite_master WHERE name LIKE '%tenure%'");
    sqlite3_close(db);
    CHECK(left == 0);
}

/* Each case has a ledger of its own. */
#define CASES(X)                                                                                   \
    X(a_token_is_judged_by_the_mark)                                                               \
    X(the_sql_and_the_rule_agree_on_all_small_tokens)                                              \
    X(every_verdict_has_its_own_words)                                                             \
    X(what_is_not_a_token_is_refused)                                                              \
    X(every_way_to_write_is_guarded)                                                               \
    X(a_stale_blob_is_not_written_in_pieces)                                                       \
    X(a_deletion_by_a_foreign_key_is_guarded)                                                      \
    X(a_refused_statement_leaves_nothing_and_the_transaction_stands)                               \
    X(a_roll_back_takes_the_raised_mark_back)                                                      \
    X(a_statement_that_fails_by_itself_does_not_raise_the_mark)                                    \
    X(a_mark_never_goes_down)                                                                      \
    X(a_table_in_the_file_is_no_presented_token)                                                   \
    X(a_token_for_another_guard_does_not_count)                                                    \
    X(a_token_ends_with_its_connection)                                                            \
    X(an_untrusted_schema_fails_closed)                                                            \
    X(a_guard_whose_row_was_deleted_fails_closed)                                                  \
    X(an_attached_database_is_guarded)                                                             \
    X(odd_tables_are_guarded)                                                                      \
    X(bad_targets_are_refused_and_nothing_is_installed)                                            \
    X(a_store_of_tenure_is_no_target)                                                              \
    X(a_missing_file_is_not_created)                                                               \
    X(a_table_has_one_guard)                                                                       \
    X(to_install_again_keeps_the_mark_and_mends_the_triggers)                                      \
    X(an_announcement_only_moves_up)                                                               \
    X(an_announcement_waits_for_the_old_holders_transaction)                                       \
    X(a_transaction_that_read_before_the_announcement_cannot_write)                                \
    X(check_finds_what_a_migration_lost)                                                           \
    X(check_finds_what_was_altered)                                                                \
    X(to_remove_leaves_nothing)

#define WITH_LEDGER(name)                                                                          \
    static void name##_(void)                                                                      \
    {                                                                                              \
        new_ledger();                                                                              \
        name();                                                                                    \
        drop_ledger();                                                                             \
    }
CASES(WITH_LEDGER)

#define LISTED(name) {#name, name##_},

int main(void)
{
    static const struct tap_case cases[] = {CASES(LISTED)};
    return tap_run(cases, sizeof cases / sizeof *cases);
}
