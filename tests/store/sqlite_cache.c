/* tests/store/sqlite_cache.c - records in memory that processes share: none gets lost or old. */
#include <fcntl.h>

#include "sqlite.h"
#include "store/sqlite_engine.h"

/* The number that the row of a name has in the database; -1: there is none. */
static int64_t row_number(const char *key)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    int64_t n = -1;
    if (sqlite3_open(path, &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT bytes FROM record WHERE key = ?1", -1, &q, NULL) ==
            SQLITE_OK) {
        sqlite3_bind_text(q, 1, key, -1, SQLITE_STATIC);
        if (sqlite3_step(q) == SQLITE_ROW) {
            struct store_record r = {.bytes = sqlite3_column_blob(q, 0),
                                     .len = sizeof(uint64_t)};
            n = (int64_t)number_of(&r);
        }
        sqlite3_finalize(q);
    }
    sqlite3_close(db);
    return n;
}

static const char *name_of(int i)
{
    static char name[16];
    snprintf(name, sizeof name, "n%03d", i);
    return name;
}

/* ---- where a record is ---------------------------------------------------------------------- */

static void what_may_be_lost_with_its_sessions_costs_no_commit(void)
{
    fresh();
    struct store *s = open_store(), *other = open_store();
    CHECK(update(s, "a", add_one, NULL) == 1);
    ephemeral = true;
    for (int i = 0; i < 100; i++)
        CHECK(update(i % 2 ? s : other, "a", add_one, NULL) == i + 2);
    CHECK(row_number("a") == 1);
    ephemeral = false;
    CHECK(update(other, "a", add_one, NULL) == 102 && row_number("a") == 102);
    shut(other);
    shut(s);
}

static void the_last_one_who_leaves_writes_back(void)
{
    fresh();
    struct store *s = open_store(), *other = open_store();
    ephemeral = true;
    CHECK(update(s, "a", add_one, NULL) == 1 && update(other, "b", add_one, NULL) == 1);
    shut(s);
    CHECK(row_number("a") == -1);
    shut(other);
    CHECK(row_number("a") == 1 && row_number("b") == 1 && is_sound());
    s = open_store();
    CHECK(update(s, "a", add_one, NULL) == 2);
    shut(s);
    ephemeral = false;
}

/* Takes a record into memory, and leaves when all others do. */
static _Noreturn void come_and_go(int i, int here, int go)
{
    char c = 0;
    struct store *s = open_store();
    if (update(s, name_of(i), add_one, NULL) < 1 || write(here, &c, 1) != 1 ||
        read(go, &c, 1) != 0)
        _exit(1);
    shut(s);
    _exit(0);
}

/* Of those who have the database open: so they all do. */
static void of_those_who_leave_at_once_one_writes_back(void)
{
    enum { ROUNDS = 40, CROWD = 3 };
    bool was_lazy = lazy;
    lazy = false;
    fresh();
    shut(open_store());
    for (int round = 1; round <= ROUNDS; round++) {
        int here[2], go[2], status;
        char c;
        fflush(stdout);
        CHECK(pipe(here) == 0 && pipe(go) == 0);
        ephemeral = true;
        for (int i = 0; i < CROWD; i++) {
            if (fork() == 0) {
                close(go[1]);
                come_and_go(i, here[1], go[0]);
            }
        }
        ephemeral = false;
        for (int i = 0; i < CROWD; i++)
            CHECK(read(here[0], &c, 1) == 1);
        close(go[1]);
        for (int i = 0; i < CROWD; i++)
            CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        for (int i = 0; i < CROWD; i++)
            CHECK(row_number(name_of(i)) == round);
        close(here[0]);
        close(here[1]);
        close(go[0]);
    }
    lazy = was_lazy;
}

static void a_renewal_writes_back_what_has_rested(void)
{
    fresh();
    struct store *s = open_store();
    uint64_t id = session_open(s, LONG);
    int64_t limit = clock_now().ms + LIMIT_MS;
    ephemeral = true;
    CHECK(update(s, "a", add_one, NULL) == 1);
    while (row_number("a") != 1 && before(limit)) {
        CHECK(session_renew(s, id, NULL) == 0);
        usleep(10000);
    }
    CHECK(row_number("a") == 1);
    CHECK(update(s, "a", add_one, NULL) == 2 && row_number("a") == 1);
    ephemeral = false;
    shut(s);
}

static void more_records_than_lines_are_all_kept(void)
{
    enum { NAMES = 500 };
    fresh();
    struct store *s = open_store(), *other = open_store();
    ephemeral = true;
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < NAMES; i++)
            CHECK(update(i % 3 ? s : other, name_of(i), add_one, NULL) == round);
    }
    ephemeral = false;
    for (int i = 0; i < NAMES; i++)
        CHECK(update(other, name_of(i), see, NULL) == 3);
    shut(s);
    shut(other);
    for (int i = 0; i < NAMES; i++)
        CHECK(row_number(name_of(i)) == 3);
}

static int grow(void *arg, struct store_view *view)
{
    size_t len = *(size_t *)arg;
    memset(view->out[0].bytes, 'x', len);
    view->out[0].len = len;
    view->out[0].what = STORE_PUT;
    view->fx->changed = true;
    return (int)view->in[0].len;
}

static void a_record_that_outgrows_its_line_moves_to_its_row_and_back(void)
{
    static const size_t size[] = {100, 1880, 1881, 100000, 1880, 5, 1881, 5};
    size_t before_ = 0;
    fresh();
    struct store *s = open_store();
    ephemeral = true;
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        size_t len = size[i];
        CHECK(update(s, "a", grow, &len) == (int)before_);
        before_ = len;
    }
    ephemeral = false;
    shut(s);
}

/* A decision on several records takes them as they are, wherever they are. */
static void several_records_are_changed_as_a_whole(void)
{
    fresh();
    struct store *s = open_store();
    CHECK(update(s, "b", add_one, NULL) == 1);
    ephemeral = true;
    for (int i = 0; i < 5; i++)
        CHECK(update(s, "a", add_one, NULL) == i + 1);
    CHECK(update2(s, "a", "b", add_one, NULL) == 6 && update(s, "b", add_one, NULL) == 3);
    CHECK(update(s, "a", erase, NULL) == 0 && update(s, "a", see, NULL) == 0);
    CHECK(update(s, "a", add_one, NULL) == 1);
    ephemeral = false;
    shut(s);
}

/* Records that rest are written with a renewal, which does not depend on their room. */
static void a_session_is_renewed_when_there_is_no_room_for_records(void)
{
    enum { NAMES = 100, LONGER_THAN_A_REST_MS = 1500 };
    fresh();
    struct store *s = open_store();
    uint64_t id = session_open(s, LONG);
    CHECK(update(s, "a", add_one, NULL) == 1);
    CHECK(sqlite3_exec(sqlite_of(s)->db, "PRAGMA max_page_count = 1", NULL, NULL, NULL) ==
          SQLITE_OK); /* as many as there are */
    ephemeral = true;
    for (int i = 0; i < NAMES; i++)
        CHECK(update(s, name_of(i), add_one, NULL) == 1);
    ephemeral = false;
    for (int64_t limit = clock_now().ms + LONGER_THAN_A_REST_MS; before(limit); usleep(10000))
        CHECK(session_renew(s, id, NULL) == 0);
    CHECK(row_number(name_of(NAMES - 1)) == -1);
    CHECK(sqlite3_exec(sqlite_of(s)->db, "PRAGMA max_page_count = 100000", NULL, NULL, NULL) ==
              SQLITE_OK &&
          session_renew(s, id, NULL) == 0 && row_number(name_of(NAMES - 1)) == 1);
    shut(s);
}

/* ---- reading -------------------------------------------------------------------------------- */

struct seen {
    int count;
    bool fine; /* in order, and each as it is */
    char last[32];
};

static bool see_one(void *arg, const struct store_record *r, struct facts *facts)
{
    struct seen *seen = arg;
    (void)facts;
    seen->fine = seen->fine && strcmp(r->key, seen->last) > 0 &&
                 number_of(r) == (uint64_t)strlen(r->key);
    snprintf(seen->last, sizeof seen->last, "%s", r->key);
    seen->count++;
    return true;
}

static struct seen read_all(struct store *s, const char *prefix, const char *after)
{
    struct seen seen = {.fine = true};
    struct store_read op = {.prefix = prefix, .after = after, .fn = see_one, .arg = &seen};
    store_read(s, &op);
    seen.fine = seen.fine && finish(s, &op.op) == 0;
    return seen;
}

static int set_to_length(void *arg, struct store_view *view)
{
    (void)arg;
    put_number(view, 0, strlen(view->in[0].key));
    return 0;
}

static void who_reads_sees_lines_and_rows_in_order(void)
{
    static const char *const row[] = {"a", "ab", "b", "bcd", "z"};
    static const char *const line[] = {"aa", "ab", "ac", "bc", "zz", "zzz"};
    static const char *const old = "bcd";
    fresh();
    struct store *s = open_store();
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        CHECK(update(s, row[i], row[i] == old ? set_to_length : add_one, NULL) >= 0);
    ephemeral = true;
    for (size_t i = 0; i < sizeof line / sizeof line[0]; i++)
        CHECK(update(s, line[i], set_to_length, NULL) == 0);
    ephemeral = false;
    CHECK(update(s, "ab", see, NULL) == 2); /* 1 in its row */
    struct seen all = read_all(s, "", NULL);
    CHECK(all.fine && all.count == 10);
    struct seen some = read_all(s, "a", "aa");
    CHECK(some.fine && some.count == 2 && strcmp(some.last, "ac") == 0);
    CHECK(read_all(s, "zz", NULL).count == 2 && read_all(s, "q", NULL).count == 0);
    shut(s);
}

/* One that moves to its row and then to another line, while somebody copies lines, is met twice. */
static void a_record_that_is_met_twice_is_shown_once_as_it_is(void)
{
    enum { LINE = 4096 }; /* behind a block with the hashes */
    fresh();
    struct store *s = open_store();
    uint64_t *hash = gate_room(sqlite_of(s)->gate);
    char *line = (char *)hash + LINE;
    ephemeral = true;
    CHECK(update(s, "aa", add_one, NULL) == 1);
    for (int i = 1; i < 3; i++) {
        memcpy(line + i * LINE, line, LINE);
        hash[i] = hash[0];
    }
    CHECK(update(s, "aa", add_one, NULL) == 2); /* in the first one */
    ephemeral = false;
    struct seen seen = read_all(s, "", NULL);
    CHECK(seen.fine && seen.count == 1);
    shut(s);
}

/* ---- who dies ------------------------------------------------------------------------------- */

#define KILL_NAMES 200

/* Adds to one name after the other, and says so, until it is killed. */
static _Noreturn void add_for_ever(int fd, unsigned seed)
{
    ephemeral = true;
    struct store *s = open_store();
    for (;; seed = seed * 1103515245 + 12345) {
        uint8_t i = (uint8_t)((seed >> 16) % KILL_NAMES);
        if (update(s, name_of(i), add_one, NULL) < 1 || write(fd, &i, 1) != 1)
            _exit(1);
    }
}

static void kill_after_a_while(pid_t pid, int fd, uint64_t *counted, unsigned n)
{
    uint8_t i;
    for (unsigned k = 0; k < n; k++) {
        if (read(fd, &i, 1) == 1)
            counted[i]++;
    }
    kill(pid, SIGKILL);
    while (read(fd, &i, 1) == 1)
        counted[i]++;
    waitpid(pid, NULL, 0);
}

/* P1: a record is never older than what somebody was told, whoever dies when. */
static void who_is_killed_takes_nothing_along(void)
{
    enum { ROUNDS = 60 };
    uint64_t counted[KILL_NAMES] = {0}, sum = 0, told = 0;
    fresh();
    shut(open_store());
    for (unsigned round = 0; round < ROUNDS; round++) {
        int p[2];
        fflush(stdout);
        CHECK(pipe(p) == 0);
        pid_t pid = fork();
        if (pid == 0) {
            close(p[0]);
            add_for_ever(p[1], round);
        }
        close(p[1]);
        kill_after_a_while(pid, p[0], counted, 50 + round * 17 % 300);
        close(p[0]);
    }
    struct store *s = open_store();
    for (int i = 0; i < KILL_NAMES; i++) {
        int n = update(s, name_of(i), see, NULL);
        CHECK(n >= (int)counted[i]);
        sum += (uint64_t)n;
        told += counted[i];
    }
    CHECK(told >= ROUNDS * 50);
    CHECK(sum <= told + ROUNDS); /* each may have done one that it could not tell of */
    shut(s);
    CHECK(is_sound());
}

/* ---- the machine was down ------------------------------------------------------------------- */

/* Ends as if the power had: the lines are as they are, and what the database said last. */
static uint64_t add_and_stay(void)
{
    struct store *s = open_store();
    ephemeral = true;
    uint64_t token = 0;
    for (int i = 0; i < 3; i++) {
        if (update(s, "line", add_one, NULL) != i + 1 || update(s, "token", grant, &token) != 1)
            return 0;
    }
    ephemeral = false;
    if (update(s, "row", add_one, NULL) != 1)
        return 0;
    return token;
}

#define REBOOT                                                                                     \
    "UPDATE meta SET domain = '00000000-0000-0000-0000-000000000000';"

static void after_a_reboot_lines_go_to_their_rows(void)
{
    uint64_t last, next;
    fresh();
    pid_t pid = child(add_and_stay, &last);
    end(pid);
    CHECK(last != 0 && row_number("line") == -1);
    CHECK(meddle(REBOOT) == SQLITE_OK);
    struct store *s = open_store();
    CHECK(row_number("line") == 3 && update(s, "line", see, NULL) == 3);
    CHECK(update(s, "row", see, NULL) == 1);
    CHECK(update(s, "token", grant, &next) == 1 && next > last);
    shut(s);
    CHECK(is_sound());
}

/* The disk had an older page of the gate than of the database. */
static void after_a_reboot_an_older_line_does_not_go_before_its_row(void)
{
    uint64_t last;
    fresh();
    pid_t pid = child(add_and_stay, &last);
    end(pid);
    CHECK(meddle("UPDATE item SET sequence = 1000000 WHERE key = 'row';"
                 "INSERT INTO item(id, key, size, bytes, sequence)"
                 " SELECT -7, 'line', size, bytes, 1000000 FROM item WHERE key = 'row';" REBOOT) ==
          SQLITE_OK);
    struct store *s = open_store();
    CHECK(update(s, "line", see, NULL) == 1);
    ephemeral = true; /* whose numbers go on above those of before */
    CHECK(update(s, "line", add_one, NULL) == 2);
    ephemeral = false;
    CHECK(update(s, "line", add_one, NULL) == 3 && row_number("line") == 3);
    shut(s);
}

/* A page that was half written: the line has one half that is whole, or none. */
static void after_a_reboot_a_damaged_line_counts_for_nothing(void)
{
    uint64_t last;
    char byte;
    fresh();
    pid_t pid = child(add_and_stay, &last);
    end(pid);
    int fd = open(companion("-gate"), O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    for (off_t at = 2 * 4096; pread(fd, &byte, 1, at + 2000) == 1; at += 4096) {
        char junk[3000];
        memset(junk, 0x5a, sizeof junk);
        CHECK(pwrite(fd, junk, sizeof junk, at + 280) == (ssize_t)sizeof junk);
    }
    close(fd);
    CHECK(meddle(REBOOT) == SQLITE_OK);
    struct store *s = open_store();
    CHECK(update(s, "line", see, NULL) == 0 && update(s, "row", see, NULL) == 1);
    shut(s);
    CHECK(is_sound());
}

int main(int argc, char **argv)
{
    lazy = argc > 1 && strcmp(argv[1], "lazy") == 0;
    int failed = TAP_RUN(TAP(what_may_be_lost_with_its_sessions_costs_no_commit),
                         TAP(the_last_one_who_leaves_writes_back),
                         TAP(of_those_who_leave_at_once_one_writes_back),
                         TAP(a_renewal_writes_back_what_has_rested),
                         TAP(a_session_is_renewed_when_there_is_no_room_for_records),
                         TAP(more_records_than_lines_are_all_kept),
                         TAP(a_record_that_outgrows_its_line_moves_to_its_row_and_back),
                         TAP(several_records_are_changed_as_a_whole),
                         TAP(who_reads_sees_lines_and_rows_in_order),
                         TAP(a_record_that_is_met_twice_is_shown_once_as_it_is),
                         TAP(who_is_killed_takes_nothing_along),
                         TAP(after_a_reboot_lines_go_to_their_rows),
                         TAP(after_a_reboot_an_older_line_does_not_go_before_its_row),
                         TAP(after_a_reboot_a_damaged_line_counts_for_nothing));
    scratch_remove();
    return failed;
}
