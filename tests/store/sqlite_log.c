/* tests/store/sqlite_log.c - the shim over SQLite's VFS, and the process that it is part of. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "sqlite.h"

#include "store/sqlite_engine.h"

/* ---- what is written is written ------------------------------------------------------------- */

static bool do_sql(sqlite3 *db, const char *sql)
{
    char *text = NULL;
    int rc = sqlite3_exec(db, sql, NULL, NULL, &text);
    if (rc != SQLITE_OK)
        printf("# %s: %s\n", sql, text ? text : "?");
    sqlite3_free(text);
    return rc == SQLITE_OK;
}

static int count_rows(void)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    int n = -1;
    if (sqlite3_open(path, &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT count(*) FROM t", -1, &q, NULL) == SQLITE_OK) {
        n = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int(q, 0) : -1;
        sqlite3_finalize(q);
    }
    sqlite3_close(db);
    return n;
}

static uint64_t write_pages_twice(void)
{
    sqlite3 *db;
    bool fine = sqlite_load(&err) == 0 && sqlite_log_register() == SQLITE_OK &&
                sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                SQLITE_LOG_VFS) == SQLITE_OK &&
                do_sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                           "PRAGMA cache_size = 5; CREATE TABLE t(a INTEGER PRIMARY KEY, b)") &&
                do_sql(db, "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL"
                           " SELECT i + 1 FROM n WHERE i < 200)"
                           " INSERT INTO t SELECT i, zeroblob(1000) FROM n;"
                           "UPDATE t SET b = randomblob(1000) WHERE a % 3 = 0; COMMIT");
    return fine;
}

/* P1: a page that goes to the log twice in a transaction (its cache was too small) has the headers
 * of the frames after it written anew. */
static void a_commit_survives_its_process_also_when_a_page_was_written_twice(void)
{
    uint64_t fine;
    fresh();
    pid_t pid = child(write_pages_twice, &fine);
    end(pid);
    CHECK(fine == 1);
    CHECK(count_rows() == 200 && is_sound());
}

/* ---- how long it is ------------------------------------------------------------------------- */

static int64_t log_bytes(void)
{
    struct stat st;
    return stat(companion("-wal"), &st) == 0 ? (int64_t)st.st_size : -1;
}

/* Who opens a store that nobody has open reads the whole log before it gets in. */
static void the_last_one_who_leaves_leaves_no_long_log(void)
{
    fresh();
    struct store *one = open_store(), *other = open_store();
    for (int i = 0; i < 300; i++)
        CHECK(update(one, "job", add_one, NULL) == i + 1);
    int64_t full = log_bytes();
    CHECK(full > 300 * 2048);
    shut(one);
    CHECK(log_bytes() == full); /* another has it open, and reads it not again */
    CHECK(update(other, "job", add_one, NULL) == 301);
    shut(other);
    CHECK(log_bytes() == 0 && is_sound());
    one = open_store();
    CHECK(update(one, "job", see, NULL) == 301);
    shut(one);
}

/* ---- the process that we are part of -------------------------------------------------------- */

static int open_nothing(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                        int *ret_flags)
{
    (void)vfs, (void)name, (void)flags, (void)ret_flags;
    file->pMethods = NULL;
    return SQLITE_CANTOPEN;
}

static void use_a_store_beside_another_default(void)
{
    sqlite3_vfs *unix_vfs = sqlite3_vfs_find(NULL), mine = *unix_vfs;
    mine.pNext = NULL;
    mine.zName = "of-the-program";
    mine.xOpen = open_nothing;
    CHECK(sqlite3_vfs_register(&mine, 1) == SQLITE_OK);
    struct store *s;
    CHECK(try_open(LIMIT_MS, &s) == 0);
    CHECK(update(s, "x", add_one, NULL) == 1);
    CHECK(sqlite3_vfs_unregister(&mine) == SQLITE_OK);
    CHECK(update(s, "x", add_one, NULL) == 2);
    shut(s);
}

static void a_program_may_have_a_default_vfs_of_its_own(void)
{
    fresh();
    apart(use_a_store_beside_another_default);
}

/* ---- a child that opens the store of its parent --------------------------------------------- */

/* The process that holds SQLite's lock of who has the database open; 0 when nobody does.  Of a
 * process that has it open itself it would take the locks away. */
static pid_t who_has_it_open(void)
{
    struct flock l = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000002, .l_len = 510};
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool asked = fd >= 0 && fcntl(fd, F_GETLK, &l) == 0;
    if (fd >= 0)
        close(fd);
    return asked && l.l_type != F_UNLCK ? l.l_pid : 0;
}

static struct store *parents;

static uint64_t open_as_child(void)
{
    parents->ops->forked(parents);
    struct store *s = open_store();
    bool fine = update(s, "x", add_one, NULL) == 2;
    parents->ops->close(parents);
    return fine && update(s, "x", add_one, NULL) == 3;
}

/* P1: SQLite's account of locks is inherited over fork(), and the locks are not.  With nobody's
 * lock on it, the next program that reads the file takes its log away. */
static void a_child_that_opens_its_parents_store_is_seen_by_others(void)
{
    uint64_t fine;
    fresh();
    parents = open_store();
    CHECK(update(parents, "x", add_one, NULL) == 1);
    pid_t pid = child(open_as_child, &fine);
    shut(parents);
    bool seen = who_has_it_open() == pid;
    end(pid);
    CHECK(fine == 1 && seen);
    CHECK(who_has_it_open() == 0);
    struct store *s = open_store();
    CHECK(update(s, "x", add_one, NULL) == 4);
    shut(s);
}

/* ---- a full disk ---------------------------------------------------------------------------- */

static bool add_many(struct store *s, int n)
{
    int done = 0;
    while (done < n && update(s, "many", add_one, NULL) > 0)
        done++;
    return done == n;
}

static void fill_up(const char *name)
{
    char block[4096] = {0};
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, block, sizeof block) > 0)
        continue;
    close(fd);
}

static void go_on_when_the_disk_is_full(void)
{
    char dir[200];
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        printf("# skip: no mounts here\n");
        return;
    }
    snprintf(dir, sizeof dir, "%.190s", path);
    CHECK(mkdir(dir, 0700) == 0 && mount("none", dir, "tmpfs", 0, "size=1m") == 0);
    snprintf(path, sizeof path, "%s/x.db", dir);
    snprintf(url, sizeof url, "sqlite:%s", path);
    struct store *s = open_store();
    uint64_t id = session_open(s, LONG);
    CHECK(add_many(s, 50) && meddle("PRAGMA wal_checkpoint") == SQLITE_OK && add_many(s, 50));
    fill_up(companion(".fill"));
    CHECK(add_many(s, 1000) && session_renew(s, id, NULL) == 0 && session_close(s, id) == 0);
    CHECK(unlink(companion(".fill")) == 0);
    shut(s);
    CHECK(is_sound());
}

/* Renewals that fail because somebody else filled the disk would take every tenure. */
static void a_full_disk_stops_nobody_as_long_as_the_log_has_room(void)
{
    fresh();
    apart(go_on_when_the_disk_is_full);
}

int main(void)
{
    int failed = TAP_RUN(TAP(a_commit_survives_its_process_also_when_a_page_was_written_twice),
                         TAP(the_last_one_who_leaves_leaves_no_long_log),
                         TAP(a_full_disk_stops_nobody_as_long_as_the_log_has_room),
                         TAP(a_program_may_have_a_default_vfs_of_its_own),
                         TAP(a_child_that_opens_its_parents_store_is_seen_by_others));
    scratch_remove();
    return failed;
}
