/* tests/store/sqlite_seal.c - a store that is found as it was left is used without its database. */
#include "page.h"

static bool is_connected(struct store *s)
{
    return sqlite_of(s)->db != NULL;
}

/* The database rests for long enough that a change would show, and is sealed after that. */
static void let_it_rest(void)
{
    usleep(50000);
    lazy = false;
    shut(open_store());
    lazy = true;
}

/* A store that nobody has open, with a record of 1 in a line of its own. */
static void fresh_at_rest(void)
{
    fresh();
    lazy = false;
    struct store *s = open_store();
    ephemeral = true;
    if (update(s, "a", add_one, NULL) != 1)
        abort();
    shut(s);
    let_it_rest();
}

/* ---- the seal ------------------------------------------------------------------------------- */

/* The main job, when it is short: nobody else is there, and the name has been used before. */
static void a_store_at_rest_is_used_without_its_database(void)
{
    uint64_t token = 0, last = 0;
    fresh_at_rest();
    for (int i = 2; i < 5; i++) {
        struct store *s = open_store();
        uint64_t id = session_open(s, LONG);
        CHECK(id != 0 && update(s, "a", add_one, NULL) == i && session_close(s, id) == 0);
        CHECK(!is_connected(s));
        shut(s);
    }
    struct store *s = open_store();
    CHECK(update(s, "t", grant, &token) == 1 && is_connected(s)); /* a name that is new here */
    CHECK(update(s, "a", see, NULL) == 4);
    shut(s);
    s = open_store();
    CHECK(update(s, "t", grant, &last) == 1 && last > token);
    shut(s);
    lazy = ephemeral = false;
    s = open_store();
    CHECK(update(s, "a", see, NULL) == 4 && update(s, "t", grant, &token) == 1 && token > last);
    shut(s);
    CHECK(is_sound());
}

static void the_database_is_opened_when_it_is_needed(void)
{
    fresh_at_rest();
    struct store *s = open_store();
    uint64_t id = session_open(s, LONG);
    CHECK(!is_connected(s) && session_renew(s, id, NULL) == 0 && is_connected(s));
    CHECK(count_rows() == 1);
    shut(s);
    s = open_store();
    CHECK(!is_connected(s) && liveness_of(s, id) == LIVE_GONE && is_connected(s));
    shut(s);
    lazy = ephemeral = false;
}

/* P1.  Whatever the clock of the file system shows: also in the tick of our last commit. */
static void a_copy_that_was_put_back_is_noticed_without_opening_it(void)
{
    uint64_t token;
    for (int i = 0; i < 20; i++) {
        fresh_at_rest();
        CHECK(save());
        lazy = ephemeral = false;
        struct store *s = open_store();
        CHECK(update(s, "b", grant, &token) == 1);
        shut(s);
        if (i % 2 != 0)
            let_it_rest();
        lazy = true;
        CHECK(restore() && open_code() == TENURE_WENT_BACK);
        CHECK(open_code() == TENURE_WENT_BACK);
    }
    lazy = false;
}

static void what_others_have_written_breaks_the_seal(void)
{
    fresh_at_rest();
    struct store *s = open_store();
    CHECK(!is_connected(s));
    shut(s);
    CHECK(meddle("UPDATE item SET last = last WHERE id = 0") == SQLITE_OK);
    s = open_store();
    CHECK(is_connected(s));
    shut(s);
    let_it_rest();
    s = open_store();
    CHECK(!is_connected(s));
    shut(s);
    CHECK(meddle("PRAGMA wal_checkpoint(TRUNCATE)") == SQLITE_OK);
    s = open_store();
    CHECK(is_connected(s));
    shut(s);
    lazy = ephemeral = false;
}

/* As an operator's last resort: memory must not bring back what it was. */
static void a_row_that_was_changed_by_hand_at_rest_counts(void)
{
    fresh_at_rest();
    struct store *s = open_store();
    CHECK(update(s, "a", add_one, NULL) == 2 && update(s, "b", add_one, NULL) == 1);
    CHECK(is_connected(s)); /* so it writes back */
    shut(s);
    CHECK(meddle("UPDATE item SET bytes = (SELECT bytes FROM item WHERE key = 'a') WHERE key = 'b'")
          == SQLITE_OK);
    s = open_store();
    CHECK(update(s, "b", see, NULL) == 2 && update(s, "a", see, NULL) == 2);
    CHECK(update(s, "a", add_one, NULL) == 3);
    shut(s);
    CHECK(meddle("DELETE FROM item WHERE key = 'a'") == SQLITE_OK);
    s = open_store();
    CHECK(update(s, "b", see, NULL) == 2 && update(s, "a", see, NULL) == 0);
    shut(s);
    lazy = ephemeral = false;
}

/* Nobody vouches for a commit that may have stopped halfway. */
static void a_transaction_that_was_begun_breaks_the_seal(void)
{
    uint64_t commits;
    fresh_at_rest();
    commits = page().commits + 1;
    CHECK(set_page(offsetof(struct gate_page, commits), &commits, sizeof commits));
    struct store *s = open_store();
    CHECK(is_connected(s));
    shut(s);
    lazy = ephemeral = false;
}

/* The kernel's clock of changes ticks, and a change in the tick of the one before does not show. */
static void a_seal_as_young_as_the_last_change_does_not_hold(void)
{
    fresh_at_rest();
    struct gate_page p = page();
    int64_t soon = p.seal[0].ctime_ns + 4000000;
    CHECK(p.seal_ns > soon && set_page(offsetof(struct gate_page, seal_ns), &soon, sizeof soon));
    struct store *s = open_store();
    CHECK(is_connected(s));
    shut(s);
    s = open_store();
    CHECK(!is_connected(s)); /* it has been sealed anew */
    shut(s);
    lazy = ephemeral = false;
}

/* Its own session is no proof that the store is the one that it was. */
static void a_database_of_before_the_reboot_is_refused_late(void)
{
    fresh_at_rest();
    struct store *s = open_store();
    uint64_t id = session_open(s, LONG);
    CHECK(!is_connected(s) && meddle("UPDATE meta SET domain = 'x'") == SQLITE_OK);
    CHECK(session_renew(s, id, NULL) == TENURE_WENT_BACK);
    CHECK(!is_connected(s) && count_young() == 1);
    shut(s);
    lazy = ephemeral = false;
}

/* A child that opens a store of its own, and a parent that opens its database later. */
static void who_forks_before_it_needs_the_database_loses_nothing(void)
{
    int status;
    fresh_at_rest();
    struct store *s = open_store();
    uint64_t id = session_open(s, LONG);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        s->ops->forked(s);
        shut(s);
        s = open_store();
        _exit(update(s, "a", add_one, NULL) != 2 || liveness_of(s, id) != LIVE);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(session_renew(s, id, NULL) == 0 && update(s, "a", see, NULL) == 2);
    shut(s);
    lazy = ephemeral = false;
}

int main(void)
{
    int failed = TAP_RUN(
        TAP(a_store_at_rest_is_used_without_its_database),
        TAP(the_database_is_opened_when_it_is_needed),
        TAP(a_copy_that_was_put_back_is_noticed_without_opening_it),
        TAP(what_others_have_written_breaks_the_seal),
        TAP(a_row_that_was_changed_by_hand_at_rest_counts),
        TAP(a_transaction_that_was_begun_breaks_the_seal),
        TAP(a_seal_as_young_as_the_last_change_does_not_hold),
        TAP(a_database_of_before_the_reboot_is_refused_late),
        TAP(who_forks_before_it_needs_the_database_loses_nothing));
    scratch_remove();
    return failed;
}
