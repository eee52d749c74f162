/* tests/lib/process.c - a handle and other processes: fork, kill, stop.
 *
 *     process memory | process sqlite | process postgres URL
 *
 * A memory store ends with its process, so all but the fork is for the others. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib.h"

static void a_forked_child_cannot_use_the_handle_and_keeps_nothing_alive(void)
{
    fresh();
    tenure *a = open_as("a", 0);
    tenure_claim *c;
    CHECK(acquire(a, "x", 0, &c) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        tenure_claim *d;
        bool fine = tenure_check(c) == TENURE_FORKED && tenure_process(a) == TENURE_FORKED &&
                    acquire(a, "y", 0, &d) == TENURE_FORKED &&
                    tenure_release(c, NULL) == TENURE_FORKED &&
                    tenure_leave(c, NULL) == TENURE_FORKED && tenure_close(a) == NULL;
        _exit(fine ? 0 : 1);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(tenure_process(a) == 0 && tenure_check(c) > 0);
    CHECK(tenure_release(c, &err) == 0);
    tenure_close(a);
}

/* Descriptors of this process that lead to a store's gate or lifelines. */
static int count_descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char link[300], to[300];
        snprintf(link, sizeof link, "/proc/self/fd/%s", e->d_name);
        ssize_t len = readlink(link, to, sizeof to - 1);
        to[len > 0 ? len : 0] = '\0';
        n += strstr(to, ".db-gate") != NULL || strstr(to, ".db-live") != NULL;
    }
    if (d)
        closedir(d);
    return d ? n : -1;
}

static _Atomic bool enough;

static void *open_and_close(void *arg)
{
    while (!atomic_load(&enough))
        tenure_close(open_as("t", 0));
    return arg;
}

/* P7: what a child keeps open, its parent seems to hold on to when it is dead. */
static void a_child_forked_while_a_handle_is_opened_keeps_nothing_of_it(void)
{
    fresh();
    pthread_t thread;
    int bad = 0;
    atomic_store(&enough, false);
    CHECK(pthread_create(&thread, NULL, open_and_close, NULL) == 0);
    for (int i = 0; is_sqlite && i < 60; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            _exit(count_descriptors() == 0 ? 0 : 1);
        bad += pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    CHECK(bad == 0);
}

/* Starts a process that acquires x, says so through the pipe, and goes on as `then` says. */
static pid_t holder(int64_t ttl_ms, int *ret_pipe, void (*then)(int pipe))
{
    int fd[2];
    if (pipe(fd) != 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        tenure *t = open_for("child", ttl_ms, TENURE_PUMP);
        tenure_claim *c;
        if (!t || acquire(t, "x", 20000, &c) != 0 || write(fd[1], "h", 1) != 1)
            _exit(1);
        then(fd[1]);
        for (;;)
            pause();
    }
    close(fd[1]);
    char byte;
    if (read(fd[0], &byte, 1) != 1)
        pid = -1;
    *ret_pipe = fd[0];
    return pid;
}

static void nothing(int pipe)
{
    (void)pipe;
}

/* The child's pid goes through the pipe, so that the case can end it. */
static void fork_a_child_that_stays(int pipe)
{
    pid_t pid = fork();
    while (pid == 0)
        pause();
    if (write(pipe, &pid, sizeof pid) != sizeof pid)
        _exit(1);
}

/* A holder and the handle *ret of somebody else; 0 where a store has but one process. */
static pid_t meet(int64_t ttl_ms, void (*then)(int pipe), int *ret_pipe, tenure **ret)
{
    if (!is_sqlite && !server)
        return 0;
    fresh();
    pid_t pid = holder(ttl_ms, ret_pipe, then);
    *ret = open_as("b", 0);
    return pid;
}

static void part(pid_t pid, int pipe, tenure *other)
{
    waitpid(pid, NULL, 0);
    close(pipe);
    tenure_close(other);
}

/* P7: the death of a process frees its claims at kernel speed on its host: far below its ttl, also
 * where the machine is busy. */
#define LONG_TTL 15000
#define NOTICED_WITHIN (LONG_TTL / 4)

static void the_claims_of_a_killed_process_are_free_at_once(void)
{
    if (server)
        return; /* who is alive hangs on renewals there */
    int fd;
    tenure *b;
    tenure_claim *d;
    pid_t pid = meet(LONG_TTL, nothing, &fd, &b);
    if (pid == 0)
        return;
    tenure_terms terms = TENURE_TERMS_INIT;
    CHECK(pid > 0 && tenure_ask(b, "x", &terms, &d, &err) == 0);
    CHECK(tenure_check(d) == TENURE_WAITING);
    int64_t start = now();
    kill(pid, SIGKILL);
    CHECK(tenure_wait(d, 20000, &err) == 0);
    CHECK(now() - start < NOTICED_WITHIN);
    part(pid, fd, b);
}

static void a_child_that_survives_its_parent_does_not_keep_the_claims(void)
{
    if (server)
        return;
    int fd;
    tenure *b;
    tenure_claim *d;
    pid_t pid = meet(LONG_TTL, fork_a_child_that_stays, &fd, &b), survivor;
    if (pid == 0)
        return;
    CHECK(pid > 0 && read(fd, &survivor, sizeof survivor) == sizeof survivor);
    int64_t start = now();
    kill(pid, SIGKILL);
    int code = acquire(b, "x", 20000, &d);
    int64_t took = now() - start;
    bool survived = kill(survivor, SIGKILL) == 0;
    CHECK(survived && code == 0 && took < NOTICED_WITHIN);
    part(pid, fd, b);
}

static void a_stopped_process_loses_its_claims_after_the_ttl_and_knows_when_it_wakes(void)
{
    int fd;
    tenure *b;
    tenure_claim *d;
    pid_t pid = meet(TTL, nothing, &fd, &b);
    if (pid == 0)
        return;
    CHECK(pid > 0);
    int64_t start, took;
    int code;
    do { /* one that is stopped in its turn at the gate keeps everybody out, who is told so */
        kill(pid, SIGSTOP);
        start = now();
        code = acquire(b, "x", 20000, &d);
        took = now() - start;
        kill(pid, code == TENURE_BUSY ? SIGCONT : SIGKILL);
    } while (code == TENURE_BUSY && strstr(err.text, "is stopped"));
    kill(pid, SIGKILL);
    part(pid, fd, b);
    CHECK(code == 0 && took >= TTL / 6 && took < 2 * TTL + 5000);
}

/* ---- the log --------------------------------------------------------------------------------- */

static bool make_pairs(const char *name, int n)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure *t;
    tenure_claim *c;
    opt.ttl_ms = 60000;
    bool fine = tenure_open(url, &opt, &t, &err) == 0;
    for (int i = 0; i < n && fine; i++)
        fine = acquire(t, name, 20000, &c) == 0 && tenure_release(c, &err) == 0;
    if (!fine)
        printf("# %s: %s\n", name, err.text);
    return fine; /* the handle stays: nobody calls on it again */
}

/* A process that makes pairs, says how it went through the pipe, and never calls again. */
static pid_t pairs_in_child(const char *name, int n, int pipe)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        bool fine = make_pairs(name, n);
        fflush(stdout);
        if (write(pipe, &fine, sizeof fine) != sizeof fine)
            _exit(1);
        for (;;)
            pause();
    }
    return pid;
}

static double log_mb(void)
{
    char name[340];
    struct stat st;
    snprintf(name, sizeof name, "%s-wal", strchr(url, ':') + 1);
    return stat(name, &st) == 0 ? (double)st.st_size / 1048576 : -1;
}

/* Each pair is two commits: 20,000 of them are some 80 MB of a log that never begins anew. */
static void the_log_stays_short_beside_who_works_and_who_stopped_working(void)
{
    enum { BUSY = 4, PAIRS = 4000, ALONE = 8000 };
    static const char *const name[BUSY] = {"a", "b", "c", "d"};
    int p[2];
    pid_t pid[BUSY];
    bool fine = true;
    if (!is_sqlite)
        return;
    fresh();
    CHECK(pipe(p) == 0);
    for (int i = 0; i < BUSY; i++)
        pid[i] = pairs_in_child(name[i], PAIRS, p[1]);
    for (int i = 0; i < BUSY; i++) {
        bool went;
        fine &= read(p[0], &went, sizeof went) == sizeof went && went;
    }
    double crowd = log_mb();
    fine = make_pairs("e", ALONE) && fine;
    double alone = log_mb();
    for (int i = 0; i < BUSY; i++) {
        kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
    close(p[0]);
    close(p[1]);
    printf("# the log has %.0f MB after the crowd, %.0f MB after one more\n", crowd, alone);
    CHECK(fine);
    CHECK(crowd < 40 && alone < 40);
}

int main(int argc, char **argv)
{
    is_sqlite = argc > 1 && strcmp(argv[1], "sqlite") == 0;
    server = argc > 2 ? argv[2] : NULL;
    signal(SIGCHLD, SIG_DFL);
    return TAP_RUN(TAP(a_forked_child_cannot_use_the_handle_and_keeps_nothing_alive),
                   TAP(a_child_forked_while_a_handle_is_opened_keeps_nothing_of_it),
                   TAP(the_log_stays_short_beside_who_works_and_who_stopped_working),
                   TAP(the_claims_of_a_killed_process_are_free_at_once),
                   TAP(a_child_that_survives_its_parent_does_not_keep_the_claims),
                   TAP(a_stopped_process_loses_its_claims_after_the_ttl_and_knows_when_it_wakes));
}
