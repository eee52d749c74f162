/* tests/store/sqlite_back.c - whether the store is still the one that it was, and none that is
 * older: a copy was put back, a gate was lost, there was another version, the machine ran anew. */
#include <fcntl.h>

#include "sqlite.h"

/* ---- going back in time --------------------------------------------------------------------- */

static uint64_t grant_once(void)
{
    struct store *s = open_store();
    uint64_t token = 0;
    if (update(s, "a", grant, &token) < 0)
        token = 0;
    shut(s);
    return token;
}

static bool save(void)
{
    char saved[300];
    snprintf(saved, sizeof saved, "%s.saved", path);
    return meddle("PRAGMA wal_checkpoint(TRUNCATE)") == SQLITE_OK && copy(path, saved);
}

/* Puts the copy in the place of the database, as an operator would. */
static bool restore(void)
{
    char saved[300];
    snprintf(saved, sizeof saved, "%s.saved", path);
    unlink(companion("-wal"));
    unlink(companion("-shm"));
    return copy(saved, path);
}

static void a_restored_copy_is_refused_until_its_tokens_are_raised(void)
{
    fresh();
    CHECK(grant_once() != 0 && save());
    uint64_t last = grant_once();
    CHECK(restore());
    CHECK(open_code() == TENURE_WENT_BACK && strstr(err.text, "--raise-to"));
    CHECK(open_code() == TENURE_WENT_BACK);
    CHECK(store_raise(url, last, &err) == 0);
    CHECK(grant_once() > last);
}

static void raising_goes_above_what_it_is_told(void)
{
    fresh();
    CHECK(grant_once() != 0);
    CHECK(store_raise(url, 5000000000u, &err) == 0);
    CHECK(grant_once() > 5000000000u);
    CHECK(store_raise(url, UINT64_MAX, &err) == TENURE_INVALID);
    CHECK(store_raise("memory:", 1, &err) == TENURE_INVALID);
}

static void tokens_are_not_raised_while_somebody_may_hold_one(void)
{
    fresh();
    struct store *s = open_store();
    CHECK(session_open(s, LONG) != 0);
    CHECK(store_raise(url, 1, &err) == TENURE_BUSY && strstr(err.text, "1 session"));
    shut(s);
    CHECK(store_raise(url, 1, &err) == 0);
}

static void a_database_that_is_gone_is_missed_by_its_gate(void)
{
    fresh();
    uint64_t last = grant_once();
    unlink(path);
    unlink(companion("-wal"));
    unlink(companion("-shm"));
    CHECK(open_code() == TENURE_WENT_BACK && access(path, F_OK) != 0);
    CHECK(store_raise(url, last, &err) == 0);
    CHECK(grant_once() > last);
}

static void another_store_in_its_place_is_refused(void)
{
    char other[300];
    fresh();
    CHECK(grant_once() != 0 && save());
    snprintf(other, sizeof other, "%s.saved", path);
    fresh();
    for (int i = 0; i < 3; i++)
        CHECK(grant_once() != 0);
    CHECK(meddle("PRAGMA wal_checkpoint(TRUNCATE)") == SQLITE_OK && copy(other, path));
    CHECK(open_code() == TENURE_WENT_BACK && strstr(err.text, "another store"));
}

/* The code of writing until it is no longer 0. */
static int write_until_refused(struct store *s)
{
    int64_t limit = clock_now().ms + LIMIT_MS;
    int code = 0;
    while (code >= 0 && before(limit))
        code = update(s, "a", add_one, NULL);
    return code;
}

static void a_file_that_is_replaced_or_removed_while_open_is_noticed(void)
{
    char saved[300];
    fresh();
    CHECK(grant_once() != 0 && save());
    snprintf(saved, sizeof saved, "%s.saved", path);
    struct store *s = open_store();
    CHECK(rename(saved, path) == 0);
    CHECK(write_until_refused(s) == TENURE_WENT_BACK && strstr(err.text, "replaced"));
    shut(s);
    fresh();
    s = open_store();
    CHECK(unlink(path) == 0);
    CHECK(write_until_refused(s) == TENURE_WENT_BACK && strstr(err.text, "removed"));
    shut(s);
    fresh();
    s = open_store();
    CHECK(unlink(companion("-gate")) == 0);
    CHECK(write_until_refused(s) == TENURE_WENT_BACK && strstr(err.text, "-gate"));
    shut(s);
}

static void tokens_go_on_above_the_reserve_when_the_gate_was_lost(void)
{
    fresh();
    uint64_t last = grant_once();
    CHECK(unlink(companion("-gate")) == 0);
    CHECK(grant_once() > last + 1);
}

/* P1, P3: who holds cannot know yet that the gate is gone, and that may be where it was noted. */
static void a_gate_that_was_lost_lets_nobody_in_before_its_sessions_have_ended(void)
{
    struct question q = {0};
    fresh();
    struct store *s = open_store();
    q.session = session_open(s, LONG);
    CHECK(q.session != 0 && unlink(companion("-gate")) == 0);
    CHECK(open_code() == TENURE_BUSY && strstr(err.text, "1 session") && strstr(err.text, "-gate"));
    CHECK(open_code() == TENURE_BUSY);
    shut(s);
    struct store *other = open_store();
    CHECK(update(other, "a", ask_liveness, &q) == 0 && q.answer == LIVE_GONE);
    shut(other);
}

/* ---- versions -------------------------------------------------------------------------------- */

static void a_store_of_the_version_before_is_brought_up_to_date(void)
{
    uint64_t last, next;
    fresh();
    struct store *s = open_store();
    CHECK(update(s, "a", add_one, NULL) == 1 && update(s, "b", grant, &last) == 1);
    shut(s);
    CHECK(meddle("ALTER TABLE item DROP COLUMN sequence; PRAGMA user_version = 2") == SQLITE_OK);
    s = open_store();
    ephemeral = true;
    CHECK(update(s, "a", add_one, NULL) == 2 && update(s, "b", grant, &next) == 1 && next > last);
    ephemeral = false;
    CHECK(update2(s, "a", "c", add_one, NULL) == 3);
    shut(s);
}

static bool make_it_version_1(const char *gate)
{
    uint32_t version = 1;
    int fd = open(gate, O_RDWR | O_CLOEXEC);
    bool fine = fd >= 0 && pwrite(fd, &version, sizeof version, 8) == sizeof version &&
                ftruncate(fd, 4096) == 0;
    close(fd);
    return fine;
}

/* Who has it open does not know of the cache. */
static void a_gate_of_the_version_before_is_taken_over_when_nobody_has_it_open(void)
{
    uint64_t last, next;
    fresh();
    struct store *s = open_store();
    CHECK(update(s, "a", grant, &last) == 1);
    shut(s);
    CHECK(make_it_version_1(companion("-gate")));
    s = open_store();
    ephemeral = true;
    CHECK(update(s, "a", grant, &next) == 1 && next > last);
    ephemeral = false;
    uint32_t version = 1;
    int fd = open(companion("-gate"), O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, &version, sizeof version, 8) == sizeof version);
    close(fd);
    CHECK(open_code() == TENURE_FOREIGN && strstr(err.text, "older"));
    shut(s);
}

/* ---- clocks --------------------------------------------------------------------------------- */

static void after_a_reboot_tokens_jump_sessions_are_gone_and_the_clock_goes_on(void)
{
    struct question first = {0}, second = {0};
    fresh();
    struct store *s = open_store();
    uint64_t id = session_open(s, LONG), last, next;
    CHECK(id != 0 && update(s, "a", ask_and_write, &first) == 1);
    CHECK(update(s, "b", grant, &last) == 1);
    shut(s);
    /* Another machine run, whose boot clock was a year ahead of ours. */
    CHECK(meddle("UPDATE meta SET domain = '00000000-0000-0000-0000-000000000000',"
                 " base = base + 31536000000;"
                 "UPDATE item SET last = last + 31536000000 WHERE id = 0") == SQLITE_OK);
    s = open_store();
    second.session = id;
    CHECK(update(s, "a", ask_liveness, &second) == 0 && second.answer == LIVE_GONE);
    CHECK(second.now.ms >= first.now.ms + 31536000000);
    CHECK(second.now.ms < first.now.ms + 31536000000 + 60000);
    CHECK(update(s, "b", grant, &next) == 1 && next > last + 1000000);
    shut(s);
    CHECK(grant_once() == next + 1); /* once */
}

static void another_time_namespace_of_this_boot_is_refused(void)
{
    fresh();
    shut(open_store());
    CHECK(meddle("UPDATE meta SET domain = substr(domain, 1, 36) || '+86400.000000000'") ==
          SQLITE_OK);
    CHECK(open_code() == TENURE_UNSAFE_PLACE && strstr(err.text, "86400"));
}

int main(void)
{
    int failed = TAP_RUN(
        TAP(a_restored_copy_is_refused_until_its_tokens_are_raised),
        TAP(raising_goes_above_what_it_is_told),
        TAP(tokens_are_not_raised_while_somebody_may_hold_one),
        TAP(a_database_that_is_gone_is_missed_by_its_gate),
        TAP(another_store_in_its_place_is_refused),
        TAP(a_file_that_is_replaced_or_removed_while_open_is_noticed),
        TAP(tokens_go_on_above_the_reserve_when_the_gate_was_lost),
        TAP(a_gate_that_was_lost_lets_nobody_in_before_its_sessions_have_ended),
        TAP(a_store_of_the_version_before_is_brought_up_to_date),
        TAP(a_gate_of_the_version_before_is_taken_over_when_nobody_has_it_open),
        TAP(after_a_reboot_tokens_jump_sessions_are_gone_and_the_clock_goes_on),
        TAP(another_time_namespace_of_this_boot_is_refused));
    scratch_remove();
    return failed;
}
