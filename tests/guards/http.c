/* tests/guards/http.c - the marks of a checker: the rule, what is durable, and many threads. */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/marks.h"
#include "http/place.h"
#include "http/secret.h"
#include "tap.h"

static char dir[64], path[96];
static tenure_error err;

static void make_place(void)
{
    (void)snprintf(dir, sizeof dir, "/tmp/tenure-marks-XXXXXX");
    char *made = mkdtemp(dir);
    assert(made);
    (void)snprintf(path, sizeof path, "%s/marks", dir);
}

static void remove_place(void)
{
    char name[128];
    static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, tails[i]);
        unlink(name);
    }
    rmdir(dir);
}

static struct marks *open_marks(void)
{
    struct marks *m = NULL;
    return marks_open(path, &m, &err) == 0 ? m : NULL;
}

static enum http_verdict judge(struct marks *m, const char *name, uint64_t token)
{
    uint64_t mark;
    return marks_judge(m, text_of(name), token, &mark, &err);
}

static void keep_info(void *arg, const struct marks_info *info)
{
    *(struct marks_info *)arg = *info;
}

static struct marks_info info_of(struct marks *m, const char *name)
{
    struct marks_info info = {.name = NULL};
    (void)marks_each(m, text_of(name), keep_info, &info);
    return info;
}

/* Changes the file as somebody else would. */
static bool change(const char *sql)
{
    sqlite3 *db;
    bool fine = sqlite3_open(path, &db) == SQLITE_OK &&
                sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(db);
    return fine;
}

/* ---- the rule ------------------------------------------------------------------------------ */

static void stale_is_told_from_newer_and_a_mark_never_goes_down(void)
{
    struct marks *m = open_marks();
    CHECK(m && judge(m, "a", 1) == HTTP_BROKEN);
    CHECK(marks_install(m, text_of("a"), false, &err) == 0);
    CHECK(marks_install(m, text_of("b"), true, &err) == 0);
    CHECK(judge(m, "a", 42) == HTTP_RAISE && judge(m, "a", 42) == HTTP_ADMIT);
    CHECK(judge(m, "a", 41) == HTTP_STALE && judge(m, "a", 0) == HTTP_STALE);
    CHECK(judge(m, "b", 42) == HTTP_NEWER && info_of(m, "b").mark == 0);
    CHECK(marks_announce(m, text_of("b"), 42, &err) == 0 && judge(m, "b", 42) == HTTP_ADMIT);
    CHECK(marks_announce(m, text_of("b"), 42, &err) == 0);
    CHECK(marks_announce(m, text_of("b"), 41, &err) == TENURE_NOT_OWNED);
    CHECK(marks_announce(m, text_of("c"), 41, &err) == TENURE_INVALID);
    CHECK(info_of(m, "b").mark == 42 && info_of(m, "b").announced == 2);
    CHECK(info_of(m, "a").count[HTTP_STALE] == 2 && info_of(m, "a").last == HTTP_STALE);
    marks_close(m);
}

static void a_guard_is_as_strict_as_it_was_installed_and_gone_when_removed(void)
{
    struct marks *m = open_marks();
    CHECK(m && marks_install(m, text_of("a"), false, &err) == 0);
    CHECK(marks_install(m, text_of("a"), false, &err) == 0);
    CHECK(marks_install(m, text_of("a"), true, &err) == TENURE_CONFLICT);
    CHECK(marks_install(m, text_of("a//b"), true, &err) == TENURE_INVALID);
    CHECK(judge(m, "a", 7) == HTTP_RAISE && marks_install(m, text_of("a"), false, &err) == 0);
    CHECK(info_of(m, "a").mark == 7);
    CHECK(marks_remove(m, text_of("a"), &err) == 0 && judge(m, "a", 7) == HTTP_BROKEN);
    CHECK(marks_remove(m, text_of("a"), &err) == TENURE_INVALID);
    marks_close(m);
}

static void guards_whose_names_begin_alike_are_not_mixed_up(void)
{
    static const char *const names[] = {"m", "a/b", "a", "a/b/c", "z", "a.b", "ab", "aa"};
    struct marks *m = open_marks();
    CHECK(m);
    for (uint64_t i = 0; i < 8; i++)
        CHECK(marks_install(m, text_of(names[i]), false, &err) == 0 &&
              marks_announce(m, text_of(names[i]), i + 1, &err) == 0);
    marks_close(m);
    m = open_marks();
    CHECK(m && marks_remove(m, text_of("a/b"), &err) == 0);
    for (uint64_t i = 0; i < 8; i++)
        CHECK(i == 1 || info_of(m, names[i]).mark == i + 1);
    CHECK(judge(m, "a/b", 9) == HTTP_BROKEN && judge(m, "a/", 9) == HTTP_BROKEN);
    marks_close(m);
}

/* ---- the file ------------------------------------------------------------------------------ */

static void marks_stand_after_a_restart(void)
{
    struct stat st;
    struct marks *m = open_marks();
    CHECK(m && marks_install(m, text_of("a"), true, &err) == 0);
    CHECK(marks_announce(m, text_of("a"), INT64_MAX, &err) == 0);
    marks_close(m);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    m = open_marks();
    CHECK(m && info_of(m, "a").mark == INT64_MAX && info_of(m, "a").strict);
    CHECK(judge(m, "a", 42) == HTTP_STALE);
    marks_close(m);
}

static void one_checker_uses_a_file_at_a_time(void)
{
    struct marks *m = open_marks(), *other;
    CHECK(m && marks_open(path, &other, &err) == TENURE_BUSY);
    CHECK(strstr(err.text, "another checker") != NULL);
    marks_close(m);
}

/* Else what was announced would be gone with the process, or be in one of two files. */
static void no_mark_rises_in_a_file_that_was_removed_or_replaced(void)
{
    char away[128], log[128];
    (void)snprintf(away, sizeof away, "%s-journal", path); /* remove_place() knows it */
    (void)snprintf(log, sizeof log, "%s-wal", path);
    struct marks *m = open_marks();
    CHECK(m && marks_install(m, text_of("a"), false, &err) == 0 && judge(m, "a", 7) == HTTP_RAISE);
    CHECK(rename(path, away) == 0);
    CHECK(marks_announce(m, text_of("a"), 8, &err) == TENURE_CORRUPT);
    CHECK(strstr(err.text, "removed or replaced") != NULL && judge(m, "a", 7) == HTTP_ADMIT);
    FILE *f = fopen(path, "w");
    CHECK(f && fclose(f) == 0 && judge(m, "a", 8) == HTTP_UNAVAILABLE);
    CHECK(rename(away, path) == 0 && marks_announce(m, text_of("a"), 8, &err) == 0);
    CHECK(unlink(log) == 0 && judge(m, "a", 9) == HTTP_UNAVAILABLE);
    marks_close(m);
    m = open_marks();
    CHECK(m && info_of(m, "a").mark == 8);
    marks_close(m);
}

static void what_is_no_marks_file_is_refused_and_not_touched(void)
{
    struct marks *m;
    CHECK(change("PRAGMA application_id = 1952804469; CREATE TABLE item(x)"));
    CHECK(marks_open(path, &m, &err) == TENURE_FOREIGN);
    CHECK(change("INSERT INTO item VALUES (1)"));
    unlink(path);
    CHECK(change("CREATE TABLE guard(name, mark, strict)"));
    CHECK(marks_open(path, &m, &err) == TENURE_FOREIGN);
    CHECK(marks_open("/bin/sh", &m, &err) == TENURE_FOREIGN);
    CHECK(marks_open("/tmp/no such directory/marks", &m, &err) == TENURE_UNREACHABLE);
    CHECK(marks_open(dir, &m, &err) < 0);
    CHECK(marks_open(":memory:", &m, &err) == TENURE_INVALID);
    CHECK(marks_open("", &m, &err) == TENURE_INVALID);
}

static void a_newer_file_and_a_damaged_one_are_refused(void)
{
    struct marks *m = open_marks();
    CHECK(m && marks_install(m, text_of("a"), false, &err) == 0);
    marks_close(m);
    CHECK(change("PRAGMA user_version = 2"));
    CHECK(marks_open(path, &m, &err) == TENURE_FOREIGN && strstr(err.text, "version 2"));
    CHECK(change("PRAGMA user_version = 1; PRAGMA ignore_check_constraints = 1;"
                 "UPDATE guard SET mark = -1"));
    CHECK(marks_open(path, &m, &err) == TENURE_CORRUPT);
    CHECK(truncate(path, 4096 + 100) == 0);
    CHECK(marks_open(path, &m, &err) == TENURE_CORRUPT);
}

/* Fills the file system below `dir`. */
static void fill(bool full)
{
    char name[128];
    static char block[4096];
    (void)snprintf(name, sizeof name, "%s/filler", dir);
    FILE *f = full ? fopen(name, "w") : NULL;
    while (f && fwrite(block, sizeof block, 1, f) == 1 && fflush(f) == 0)
        ;
    if (f)
        fclose(f);
    if (!full)
        unlink(name);
}

/* A mark is raised until the disk is full; then nobody is admitted who needs a mark to rise. */
static void on_a_full_disk_no_mark_rises_and_nobody_is_let_in_without_one(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", dir, "tmpfs", 0, "size=256k") != 0)
        return; /* only root can make a small disk */
    struct marks_totals totals;
    uint64_t token = 2;
    struct marks *m = open_marks();
    CHECK(m && marks_install(m, text_of("a"), false, &err) == 0 && judge(m, "a", 1) == HTTP_RAISE);
    fill(true);
    while (token < 1000 && judge(m, "a", token) == HTTP_RAISE)
        token++;
    CHECK(token < 1000 && judge(m, "a", token) == HTTP_UNAVAILABLE);
    CHECK(err.code == TENURE_NO_SPACE);
    CHECK(marks_announce(m, text_of("a"), token, &err) == TENURE_NO_SPACE);
    CHECK(info_of(m, "a").mark == token - 1 && judge(m, "a", token - 1) == HTTP_ADMIT);
    marks_total(m, &totals);
    CHECK(!totals.durable);
    fill(false);
    CHECK(judge(m, "a", token) == HTTP_RAISE);
    marks_total(m, &totals);
    CHECK(totals.durable);
    marks_close(m);
    unlink(path);
    umount2(dir, MNT_DETACH);
}

/* ---- threads ------------------------------------------------------------------------------- */

#define CHECKERS 4
#define ROUNDS 50

static struct marks *shared;
static _Atomic uint64_t told; /* the last announcement that has returned */
static atomic_bool wrong, over;
static _Atomic unsigned looks;

/* A check that begins after an announcement returned never admits a lower token. */
static void *check_all_the_time(void *arg)
{
    uint64_t mark;
    tenure_error trouble;
    (void)arg;
    while (!atomic_load(&over)) {
        uint64_t before = atomic_load(&told);
        enum http_verdict v = before > 1 ? marks_judge(shared, text_of("a"), before - 1, &mark,
                                                       &trouble)
                                         : HTTP_STALE;
        if (v != HTTP_STALE)
            atomic_store(&wrong, true);
        v = marks_judge(shared, text_of("a"), before, &mark, &trouble);
        if (before > 0 && v != HTTP_ADMIT && v != HTTP_STALE)
            atomic_store(&wrong, true);
        atomic_fetch_add(&looks, 1);
    }
    return NULL;
}

static void after_an_announcement_returned_no_check_admits_a_lower_token(void)
{
    pthread_t thread[CHECKERS];
    shared = open_marks();
    CHECK(shared && marks_install(shared, text_of("a"), false, &err) == 0);
    for (int i = 0; i < CHECKERS; i++)
        CHECK(pthread_create(&thread[i], NULL, check_all_the_time, NULL) == 0);
    int code = 0;
    for (uint64_t token = 1; token <= ROUNDS && code == 0; token++) {
        code = marks_announce(shared, text_of("a"), token, &err);
        atomic_store(&told, token);
        /* Guards come and go meanwhile. */
        if (code == 0)
            code = marks_install(shared, text_of(token % 2 ? "b" : "A"), false, &err);
        if (code == 0)
            code = marks_remove(shared, text_of(token % 2 ? "b" : "A"), &err);
        for (unsigned seen = atomic_load(&looks); atomic_load(&looks) < seen + CHECKERS;)
            sched_yield();
    }
    atomic_store(&over, true);
    for (int i = 0; i < CHECKERS; i++)
        pthread_join(thread[i], NULL);
    CHECK(code == 0 && !atomic_load(&wrong));
    marks_close(shared);
}

#define WRITERS 4
#define WRITES 60

static _Atomic uint64_t tokens, admitted;

/* Shows a token of its own each time; what is admitted is never lower than what had been admitted
 * before the check began. */
static void *write_all_the_time(void *arg)
{
    uint64_t mark;
    tenure_error trouble;
    (void)arg;
    for (int i = 0; i < WRITES; i++) {
        uint64_t token = atomic_fetch_add(&tokens, 1) + 1;
        if (i % 3 == 0)
            sched_yield(); /* lets another one overtake */
        uint64_t before = atomic_load(&admitted);
        enum http_verdict v = marks_judge(shared, text_of("a"), token, &mark, &trouble);
        if ((http_verdict_admits(v) && token < before) || mark < token ||
            (v == HTTP_STALE && mark == token))
            atomic_store(&wrong, true);
        for (uint64_t seen = before; http_verdict_admits(v) && seen < token;) {
            if (atomic_compare_exchange_weak(&admitted, &seen, token))
                break;
        }
    }
    return NULL;
}

static void of_many_first_writers_an_older_one_is_never_admitted_after_a_newer(void)
{
    pthread_t thread[WRITERS];
    atomic_store(&wrong, false);
    shared = open_marks();
    CHECK(shared && marks_install(shared, text_of("a"), false, &err) == 0);
    for (int i = 0; i < WRITERS; i++)
        CHECK(pthread_create(&thread[i], NULL, write_all_the_time, NULL) == 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(thread[i], NULL);
    struct marks_info info = info_of(shared, "a");
    CHECK(!atomic_load(&wrong) && info.mark == atomic_load(&admitted));
    marks_close(shared);
    shared = open_marks();
    CHECK(shared && info_of(shared, "a").mark == info.mark);
    marks_close(shared);
}

/* ---- places and secrets --------------------------------------------------------------------- */

static bool base_is(const char *target, const char *base)
{
    struct http_place place;
    return http_place_parse(target, &place, &err) == 0 && strcmp(place.base, base) == 0;
}

static void a_place_is_taken_apart(void)
{
    struct http_place place;
    CHECK(base_is("http://127.0.0.1", "http://127.0.0.1:7420"));
    CHECK(base_is("http://[::1]:80/?secret=s", "http://[::1]:80"));
    CHECK(base_is("https://guard.example/tenure/", "https://guard.example:443/tenure"));
    CHECK(http_place_parse("http://h:1?secret=/a/b", &place, &err) == 0);
    CHECK(strcmp(place.secret_file, "/a/b") == 0 && strcmp(place.host, "h") == 0);
    static const char *const bad[] = {"http:", "http://", "http://?secret=s", "http:h", "ftp://h",
                                      "http://h:x", "http://h:65536", "http://u:p@h",
                                      "http://h?x=y", "http://h?secret=", "http://[h", "http://[h]",
                                      "http://h?secret=a&secret=b"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(http_place_parse(bad[i], &place, &err) == TENURE_INVALID);
}

static bool secret_file(const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");
    return f && fputs(text, f) >= 0 && fclose(f) == 0 && chmod(path, mode) == 0;
}

static void a_secret_is_read_and_is_shown_whole_or_not_at_all(void)
{
    struct secret s;
    CHECK(secret_file("0123456789abcdef\n", 0600) && secret_read(path, &s, &err) == 0);
    CHECK(secret_is_shown(&s, text_of("Bearer 0123456789abcdef")));
    CHECK(!secret_is_shown(&s, text_of("Bearer 0123456789abcdeF")));
    CHECK(!secret_is_shown(&s, text_of("Bearer 0123456789abcde")));
    CHECK(!secret_is_shown(&s, text_of("Basic: 0123456789abcdef")));
    CHECK(!secret_is_shown(&s, text_of("")));
    CHECK(secret_file("0123456789abcdef", 0604) && secret_read(path, &s, &err) == TENURE_DENIED);
    CHECK(secret_file("0123456789abcdef", 0620) && secret_read(path, &s, &err) == TENURE_DENIED);
    CHECK(secret_file("too short", 0600) && secret_read(path, &s, &err) == TENURE_INVALID);
    CHECK(secret_file("0123456789 abcdef", 0600) && secret_read(path, &s, &err) == TENURE_INVALID);
    CHECK(secret_file("", 0600) && secret_read(path, &s, &err) == TENURE_INVALID);
    CHECK(secret_read(dir, &s, &err) == TENURE_DENIED);
    unlink(path);
    CHECK(secret_read(path, &s, &err) == TENURE_UNREACHABLE);
}

#define PLACED(function)                                                                           \
    static void in_place_##function(void)                                                          \
    {                                                                                              \
        make_place();                                                                              \
        function();                                                                                \
        remove_place();                                                                            \
    }
#define CASES(X)                                                                                   \
    X(stale_is_told_from_newer_and_a_mark_never_goes_down)                                         \
    X(a_guard_is_as_strict_as_it_was_installed_and_gone_when_removed)                              \
    X(guards_whose_names_begin_alike_are_not_mixed_up)                                             \
    X(marks_stand_after_a_restart)                                                                 \
    X(one_checker_uses_a_file_at_a_time)                                                           \
    X(no_mark_rises_in_a_file_that_was_removed_or_replaced)                                        \
    X(what_is_no_marks_file_is_refused_and_not_touched)                                            \
    X(a_newer_file_and_a_damaged_one_are_refused)                                                  \
    X(after_an_announcement_returned_no_check_admits_a_lower_token)                                \
    X(of_many_first_writers_an_older_one_is_never_admitted_after_a_newer)                          \
    X(a_place_is_taken_apart)                                                                      \
    X(a_secret_is_read_and_is_shown_whole_or_not_at_all)                                           \
    X(on_a_full_disk_no_mark_rises_and_nobody_is_let_in_without_one)
CASES(PLACED)

int main(void)
{
#define CASE(function) {#function, in_place_##function},
    return TAP_RUN(CASES(CASE));
}
