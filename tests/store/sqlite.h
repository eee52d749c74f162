/* tests/store/sqlite.h - a SQLite store of each case's own, and processes that use it. */
#ifndef TESTS_STORE_SQLITE_H
#define TESTS_STORE_SQLITE_H

#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tools.h"

static char path[256], url[300];
static bool lazy; /* stores are opened so (store_options) */

static inline void fresh(void)
{
    static int n;
    snprintf(path, sizeof path, "%s/%d.db", scratch(), ++n);
    snprintf(url, sizeof url, "sqlite:%s", path);
    err = (tenure_error){0};
}

static inline int try_open(int64_t patience_ms, struct store **ret)
{
    const struct store_options opt = {
        .patience = SPAN(patience_ms), .create = true, .lazy = lazy};
    return store_open(url, &opt, ret, &err);
}

static inline struct store *open_store(void)
{
    struct store *s;
    if (try_open(LIMIT_MS, &s) < 0) {
        printf("# %s\n", err.text);
        exit(2);
    }
    return s;
}

/* What opening fails with; 0 when it does not. */
static inline int open_code(void)
{
    struct store *s;
    int code = try_open(LIMIT_MS, &s);
    if (code == 0)
        shut(s);
    return code;
}

/* A companion of the store: "-gate", "-live", "-wal". */
static inline const char *companion(const char *suffix)
{
    static char name[300];
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return name;
}

/* A process that runs fn and then stays until it is killed; fn's number comes back. */
static inline pid_t child(uint64_t (*fn)(void), uint64_t *ret)
{
    int p[2];
    uint64_t n = 0;
    fflush(stdout);
    if (pipe(p) != 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(p[0]);
        n = fn();
        if (write(p[1], &n, sizeof n) != sizeof n)
            _exit(1);
        close(p[1]);
        for (;;)
            pause();
    }
    close(p[1]);
    if (pid < 0 || read(p[0], &n, sizeof n) != sizeof n)
        abort();
    close(p[0]);
    if (ret)
        *ret = n;
    return pid;
}

static inline void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* In a child: runs the case's body with CHECKs, and reports the first that failed. */
static inline void apart(void (*body)(void))
{
    int p[2], status, line = 0;
    if (pipe(p) != 0)
        abort();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        tap_failure = NULL;
        body();
        line = tap_failure ? tap_line : 0;
        if (tap_failure)
            printf("# %s: %s\n", tap_failure, err.text);
        fflush(stdout);
        if (write(p[1], &line, sizeof line) != sizeof line)
            _exit(1);
        _exit(0);
    }
    close(p[1]);
    bool told = read(p[0], &line, sizeof line) == sizeof line;
    close(p[0]);
    waitpid(pid, &status, 0);
    CHECK(told && WIFEXITED(status));
    tap_line = line;
    if (line != 0)
        tap_failure = "in a process of its own";
}

static inline bool copy(const char *from, const char *to)
{
    char buf[8192];
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    size_t n = 0;
    bool fine = in && out;
    while (fine && (n = fread(buf, 1, sizeof buf, in)) > 0)
        fine = fwrite(buf, 1, n, out) == n;
    if (in)
        fclose(in);
    return out && fclose(out) == 0 && fine;
}

/* Changes the database behind the store's back. */
static inline int meddle(const char *sql)
{
    sqlite3 *db;
    int rc = sqlite3_open(path, &db);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_close(db);
    return rc;
}

/* Keeps a copy of the database as it is, whole and without its log. */
static inline bool save(void)
{
    char saved[300];
    snprintf(saved, sizeof saved, "%s.saved", path);
    return meddle("PRAGMA wal_checkpoint(TRUNCATE)") == SQLITE_OK && copy(path, saved);
}

/* Puts the copy in the place of the database, as an operator would. */
static inline bool restore(void)
{
    char saved[300];
    snprintf(saved, sizeof saved, "%s.saved", path);
    unlink(companion("-wal"));
    unlink(companion("-shm"));
    return copy(saved, path);
}

static inline bool is_sound(void)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    bool sound = false;
    if (sqlite3_open(path, &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &q, NULL) == SQLITE_OK) {
        sound = sqlite3_step(q) == SQLITE_ROW &&
                strcmp((const char *)sqlite3_column_text(q, 0), "ok") == 0;
        sqlite3_finalize(q);
    }
    sqlite3_close(db);
    return sound;
}

#endif
