/* tests/guards/sqlite.c - the SQL of the guard, as a program that writes meets it.  What other
 * programs and several processes see is in tests/e2e/test_guard.py. */
#include <tenure/guard.h>
#include "ledger.h"

/* ---- the rule ------------------------------------------------------------------------------ */

static void a_token_is_judged_by_the_mark(void)
{
    CHECK(tenure_guard_admit(5, 5, false) == TENURE_GUARD_ADMIT);
    CHECK(tenure_guard_admit(5, 6, false) == TENURE_GUARD_RAISE);
    CHECK(tenure_guard_admit(5, 6, true) == TENURE_GUARD_NEWER);
    CHECK(tenure_guard_admit(5, 4, false) == TENURE_GUARD_STALE);
    CHECK(tenure_guard_admit(5, 4, true) == TENURE_GUARD_STALE);
    CHECK(tenure_guard_admit(0, 0, false) == TENURE_GUARD_STALE);
    CHECK(tenure_guard_admit(UINT64_MAX, UINT64_MAX - 1, false) == TENURE_GUARD_STALE);
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
                tenure_guard_verdict verdict =
                    tenure_guard_admit((uint64_t)mark, (uint64_t)token, strict);
                snprintf(sql, sizeof sql, "SELECT verdict = '%s' FROM tenure_verdict",
                         tenure_guard_verdict_text(verdict));
                agreed += number(db, sql) == 1;
            }
        }
    }
    sqlite3_close(db);
    CHECK(agreed == 7 * 7 * 2);
}

/* ---- writing ------------------------------------------------------------------------------- */

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
    CHECK(check(NULL, &seen) == 0 && seen.state == TARGET_INTACT && seen.mark == 42);
}

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
    X(odd_tables_are_guarded)

CASES(WITH_LEDGER)

int main(void)
{
    static const struct tap_case cases[] = {CASES(LISTED)};
    return tap_run(cases, sizeof cases / sizeof *cases);
}
