/* tests/store/sqlite_back.c - whether the store is still the one that it was, and none that is
 * older: a copy was put back, a gate was lost, there was another version, the machine ran anew. */
#include <fcntl.h>

#include "os/gate.h"
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

/* A file that was moved or copied without its log, by somebody who took it for all of the store. */
static void the_database_file_alone_gives_out_no_token_a_second_time(void)
{
    char first[sizeof path];
    fresh();
    memcpy(first, path, sizeof first);
    struct store *s = open_store();
    uint64_t last = 0;
    CHECK(update(s, "a", grant, &last) == 1);
    fresh();
    CHECK(copy(first, path) && grant_once() > last);
    shut(s);
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

static bool keep(const char *suffix)
{
    char from[300], to[320];
    snprintf(from, sizeof from, "%s", companion(suffix));
    snprintf(to, sizeof to, "%s.kept", from);
    return copy(from, to);
}

/* Under the number that it had, as long as the file system gives that out again. */
static bool put_back(const char *suffix)
{
    enum { TRIES = 100 };
    char from[320], to[300], tried[340];
    struct stat old, new;
    snprintf(to, sizeof to, "%s", companion(suffix));
    snprintf(from, sizeof from, "%s.kept", to);
    bool fine = stat(to, &old) == 0 && unlink(to) == 0, same = false;
    for (int i = 0; i < TRIES && fine && !same; i++) {
        snprintf(tried, sizeof tried, "%s.%d", to, i);
        fine = copy(from, tried) && stat(tried, &new) == 0;
        same = fine && new.st_ino == old.st_ino;
    }
    return fine && rename(tried, to) == 0;
}

/* P1.  As `tar` does; and the file system may well give the gate the number that it had. */
static void all_files_of_an_archive_give_out_no_token_a_second_time(void)
{
    uint64_t last = 0;
    fresh();
    CHECK(grant_once() != 0 && keep("") && keep("-wal") && keep("-gate"));
    for (int i = 0; i < 3; i++)
        last = grant_once();
    CHECK(put_back("-gate") && put_back("") && put_back("-wal"));
    CHECK(grant_once() > last);
}

/* Adds to a record that then is in memory only, and stays with it. */
static uint64_t add_to_line(void)
{
    struct store *s = open_store();
    ephemeral = true;
    return update(s, "line", add_one, NULL) == 1;
}

static int peek(const char *key)
{
    struct store *s = open_store();
    int n = update(s, key, see, NULL);
    shut(s);
    return n;
}

/* What is in memory belongs to one database, and is not written to another one. */
static void who_is_refused_changes_nothing(void)
{
    char other[300], own[300];
    fresh();
    for (int i = 0; i < 3; i++)
        CHECK(grant_once() != 0);
    CHECK(save());
    snprintf(other, sizeof other, "%s.saved", path);
    fresh();
    shut(open_store());
    end(child(add_to_line, NULL));
    CHECK(save());
    snprintf(own, sizeof own, "%s.saved", path);
    unlink(companion("-wal"));
    unlink(companion("-shm"));
    CHECK(copy(other, path) && open_code() == TENURE_WENT_BACK);
    unlink(companion("-wal"));
    unlink(companion("-shm"));
    CHECK(copy(own, path) && peek("line") == 1);
}

static uint64_t rest_in_line(void)
{
    struct store *s = open_store();
    uint64_t id = session_open(s, LONG);
    int64_t limit = clock_now().ms + LIMIT_MS, since = clock_now().ms;
    if (update(s, "a", add_one, NULL) != 1 || !save())
        return 0;
    ephemeral = true;
    if (update(s, "a", add_one, NULL) != 2)
        return 0;
    while (clock_now().ms < since + 1500 && before(limit)) {
        if (session_renew(s, id, NULL) < 0)
            return 0;
        usleep(20000);
    }
    return 1;
}

/* It has the tokens of now, and is not refused; what it does not know, memory does. */
static void a_copy_that_misses_what_was_written_back_is_told_again(void)
{
    uint64_t fine;
    char name[8];
    fresh();
    pid_t pid = child(rest_in_line, &fine);
    end(pid);
    CHECK(fine && restore());
    struct store *s = open_store();
    CHECK(update(s, "a", see, NULL) == 2);
    ephemeral = true;
    for (int i = 0; i < 300; i++) { /* more than there is room for */
        snprintf(name, sizeof name, "n%d", i);
        CHECK(update(s, name, add_one, NULL) == 1);
    }
    ephemeral = false;
    CHECK(update(s, "a", see, NULL) == 2);
    shut(s);
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

/* Who had it open, and held nothing, may not begin to. */
static void nobody_begins_behind_a_gate_that_was_lost(void)
{
    fresh();
    struct store *s = open_store();
    CHECK(update(s, "a", add_one, NULL) == 1);
    CHECK(unlink(companion("-gate")) == 0);
    struct store *other = open_store();
    CHECK(session_open(s, LONG) == 0 && err.code == TENURE_WENT_BACK);
    shut(s);
    CHECK(session_open(other, LONG) != 0);
    shut(other);
}

static bool never(void *arg, const struct store_record *record, struct facts *facts)
{
    (void)record;
    (void)facts;
    *(bool *)arg = true;
    return true;
}

/* What it says is of before. */
static void nobody_looks_behind_a_gate_that_was_lost(void)
{
    bool seen = false;
    struct store_read op = {.prefix = "", .fn = never, .arg = &seen};
    fresh();
    struct store *s = open_store();
    ephemeral = true;
    CHECK(update(s, "a", add_one, NULL) == 1);
    ephemeral = false;
    CHECK(unlink(companion("-gate")) == 0);
    store_read(s, &op);
    CHECK(finish(s, &op.op) == TENURE_WENT_BACK && !seen);
    shut(s);
}

/* It was made at some time, and does not know what was noted since. */
static void a_copy_of_the_gate_lets_nobody_in_before_its_sessions_have_ended(void)
{
    char saved[300];
    fresh();
    struct store *s = open_store();
    CHECK(session_open(s, LONG) != 0);
    snprintf(saved, sizeof saved, "%s.saved", path);
    CHECK(copy(companion("-gate"), saved));
    ephemeral = true;
    CHECK(update(s, "a", add_one, NULL) == 1);
    ephemeral = false;
    CHECK(rename(saved, companion("-gate")) == 0);
    CHECK(open_code() == TENURE_BUSY && strstr(err.text, "1 session"));
    CHECK(open_code() == TENURE_BUSY);
    shut(s);
    CHECK(open_code() == 0 && open_code() == 0);
}

static void a_gate_that_is_written_over_lets_nobody_in(void)
{
    static const char none[4096];
    fresh();
    struct store *s = open_store();
    ephemeral = true;
    CHECK(update(s, "a", add_one, NULL) == 1);
    int fd = open(companion("-gate"), O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, none, sizeof none, 0) == sizeof none);
    close(fd);
    CHECK(update(s, "a", add_one, NULL) == TENURE_WENT_BACK && strstr(err.text, "written over"));
    ephemeral = false;
    shut(s);
}

/* P1: nor does a damaged one get its tokens into the database. */
static void a_gate_whose_tokens_are_above_the_reserve_is_damaged(void)
{
    const uint64_t much = (uint64_t)1 << 61;
    fresh();
    uint64_t last = grant_once();
    int fd = open(companion("-gate"), O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, &much, sizeof much, offsetof(struct gate_page, token)) ==
                         sizeof much);
    close(fd);
    CHECK(grant_once() == 0 && err.code == TENURE_CORRUPT && strstr(err.text, "--raise-to"));
    CHECK(grant_once() == 0);
    CHECK(store_raise(url, last, &err) == 0);
    CHECK(grant_once() > last);
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

static bool set_version(uint32_t version, bool cut)
{
    int fd = open(companion("-gate"), O_RDWR | O_CLOEXEC);
    bool fine = fd >= 0 && pwrite(fd, &version, sizeof version, 8) == sizeof version &&
                (!cut || ftruncate(fd, 4096) == 0);
    close(fd);
    return fine;
}

/* Who has it open does not know of the cache (1), or of young sessions (2). */
static void a_gate_of_a_version_before_is_taken_over_when_nobody_has_it_open(void)
{
    for (uint32_t version = 1; version < GATE_VERSION; version++) {
        uint64_t last, next;
        fresh();
        struct store *s = open_store();
        CHECK(update(s, "a", grant, &last) == 1);
        shut(s);
        CHECK(set_version(version, version == 1));
        s = open_store();
        ephemeral = true;
        CHECK(update(s, "a", grant, &next) == 1 && next > last);
        ephemeral = false;
        CHECK(set_version(version, false));
        CHECK(open_code() == TENURE_FOREIGN && strstr(err.text, "older"));
        shut(s);
    }
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

int main(int argc, char **argv)
{
    lazy = argc > 1 && strcmp(argv[1], "lazy") == 0;
    int failed = TAP_RUN(
        TAP(a_restored_copy_is_refused_until_its_tokens_are_raised),
        TAP(the_database_file_alone_gives_out_no_token_a_second_time),
        TAP(raising_goes_above_what_it_is_told),
        TAP(tokens_are_not_raised_while_somebody_may_hold_one),
        TAP(a_database_that_is_gone_is_missed_by_its_gate),
        TAP(all_files_of_an_archive_give_out_no_token_a_second_time),
        TAP(another_store_in_its_place_is_refused),
        TAP(who_is_refused_changes_nothing),
        TAP(a_copy_that_misses_what_was_written_back_is_told_again),
        TAP(a_file_that_is_replaced_or_removed_while_open_is_noticed),
        TAP(tokens_go_on_above_the_reserve_when_the_gate_was_lost),
        TAP(a_gate_that_was_lost_lets_nobody_in_before_its_sessions_have_ended),
        TAP(nobody_begins_behind_a_gate_that_was_lost),
        TAP(nobody_looks_behind_a_gate_that_was_lost),
        TAP(a_copy_of_the_gate_lets_nobody_in_before_its_sessions_have_ended),
        TAP(a_gate_that_is_written_over_lets_nobody_in),
        TAP(a_gate_whose_tokens_are_above_the_reserve_is_damaged),
        TAP(a_store_of_the_version_before_is_brought_up_to_date),
        TAP(a_gate_of_a_version_before_is_taken_over_when_nobody_has_it_open),
        TAP(after_a_reboot_tokens_jump_sessions_are_gone_and_the_clock_goes_on),
        TAP(another_time_namespace_of_this_boot_is_refused));
    scratch_remove();
    return failed;
}
