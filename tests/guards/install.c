/* tests/guards/install.c - install, announce, check and remove. */
#include "ledger.h"

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
    struct target *g;
    CHECK(sqlite_guard_open(path, 100, &g, &err) == 0);
    int some = target_install(g, "billing/invoices", tables, 2, false, &err);
    int none = target_install(g, "billing/invoices", tables, 0, false, &err);
    target_close(g);
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
    struct target *g;
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
    CHECK(check(NULL, &seen) == 0 && seen.state == TARGET_UNPROTECTED);
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(check(NULL, &seen) == 0 && seen.state == TARGET_INTACT && seen.mark == 42);
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
    CHECK(check(NULL, &seen) == 0 && seen.state == TARGET_MOVED);
    CHECK(strcmp(seen.moved_to, "bills") == 0);
    CHECK(starts(write_with(NULL, "INSERT INTO bills VALUES (1, 1)"), "tenure: missing"));
    CHECK(install("billing/invoices", "bills", false) == 0);
    CHECK(check(NULL, &seen) == 0 && seen.state == TARGET_INTACT && seen.count == 1);
    CHECK(write_with("42", "CREATE TABLE new_bills (id INTEGER PRIMARY KEY, total);"
                           "INSERT INTO new_bills SELECT * FROM bills; DROP TABLE bills;"
                           "ALTER TABLE new_bills RENAME TO bills") == NULL);
    CHECK(check(NULL, &seen) == 0 && seen.state == TARGET_UNPROTECTED);
    CHECK(write_with("42", "DROP TABLE bills") == NULL);
    CHECK(check(NULL, &seen) == 0 && seen.state == TARGET_TABLE_GONE);
}

static void check_finds_what_was_altered(void)
{
    struct seen seen;
    CHECK(install("billing/invoices", "invoices", false) == 0);
    CHECK(write_with(NULL, "DROP TRIGGER tenure_guard_1_DELETE;"
                           "CREATE TRIGGER tenure_guard_1_DELETE BEFORE DELETE ON invoices "
                           "BEGIN SELECT 1; END") == NULL);
    CHECK(check("billing/invoices", &seen) == 0 && seen.state == TARGET_ALTERED);
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

#define CASES(X)                                                                                   \
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

CASES(WITH_LEDGER)

int main(void)
{
    static const struct tap_case cases[] = {CASES(LISTED)};
    return tap_run(cases, sizeof cases / sizeof *cases);
}
