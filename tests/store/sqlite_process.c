/* tests/store/sqlite_process.c - many processes on one file: they die, stop, fork and get in each
 * other's way. */
#include <dirent.h>
#include <fcntl.h>

#include <sys/resource.h>

#include "os/gate.h"
#include "sqlite.h"

/* ---- writing at once ------------------------------------------------------------------------ */

/* Waits for all of them. */
static bool all_ended_well(const pid_t *pid, int count)
{
    bool fine = true;
    int status;
    for (int i = 0; i < count; i++)
        fine = waitpid(pid[i], &status, 0) == pid[i] && status == 0 && fine;
    return fine;
}

static void processes_that_write_at_once_lose_no_update(void)
{
    enum { PROCESSES = 8, UPDATES = 200 };
    pid_t pid[PROCESSES];
    fresh();
    shut(open_store());
    for (int i = 0; i < PROCESSES; i++) {
        fflush(stdout);
        pid[i] = fork();
        if (pid[i] != 0)
            continue;
        struct store *s = open_store();
        int failed = 0;
        for (int n = 0; n < UPDATES; n++)
            failed |= update(s, "n", add_one, NULL) < 0;
        shut(s);
        _exit(failed);
    }
    CHECK(all_ended_well(pid, PROCESSES));
    struct store *s = open_store();
    CHECK(update(s, "n", see, NULL) == PROCESSES * UPDATES);
    shut(s);
}

/* The first start of a crowd: all find that there is no store, and one of them makes it. */
static void a_crowd_that_opens_a_new_store_at_once_gets_in(void)
{
    enum { PROCESSES = 16, ROUNDS = 5 };
    for (int round = 0; round < ROUNDS; round++) {
        pid_t pid[PROCESSES];
        fresh();
        for (int i = 0; i < PROCESSES; i++) {
            fflush(stdout);
            pid[i] = fork();
            if (pid[i] != 0)
                continue;
            struct store *s = open_store();
            _exit(!s || update(s, "n", add_one, NULL) < 0);
        }
        CHECK(all_ended_well(pid, PROCESSES));
    }
}

/* Writes two records that are always equal, in a hurry, until it is killed. */
static void write_pairs(void)
{
    struct store *s = open_store();
    uint64_t token;
    while (update2(s, "x", "y", add_one, NULL) >= 0 && update(s, "z", grant, &token) >= 0)
        continue;
    _exit(1);
}

static int are_equal(void *arg, struct store_view *view)
{
    (void)arg;
    return number_of(&view->in[0]) == number_of(&view->in[1]);
}

static void processes_killed_in_mid_write_leave_a_sound_store(void)
{
    uint64_t last = 0, token;
    fresh();
    shut(open_store());
    for (unsigned round = 0; round < 30; round++) {
        pid_t pid[3];
        for (int i = 0; i < 3; i++) {
            fflush(stdout);
            pid[i] = fork();
            if (pid[i] == 0)
                write_pairs();
        }
        /* Any instant will do; this spreads them over opening, writing and checkpoints. */
        struct store *s = open_store();
        for (unsigned i = 0; i < round * 7 % 40; i++)
            CHECK(update(s, "w", add_one, NULL) > 0);
        for (int i = 0; i < 3; i++)
            end(pid[i]);
        CHECK(update2(s, "x", "y", are_equal, NULL) == 1);
        CHECK(update(s, "z", grant, &token) == 1 && token > last);
        last = token;
        shut(s);
    }
    CHECK(is_sound());
    CHECK(open_code() == 0);
}

/* ---- the gate ------------------------------------------------------------------------------- */

static uint64_t enter_gate(void)
{
    const struct rights rights = {.mode = 0600};
    struct gate *g;
    if (gate_open(companion("-gate"), &rights, 0, &g, &err) < 0 || gate_enter(g, LONG, &err) < 0)
        _exit(1);
    return 1;
}

static void a_process_that_dies_inside_the_gate_lets_the_others_in(void)
{
    fresh();
    struct store *s = open_store();
    pid_t pid = child(enter_gate, NULL);
    end(pid);
    CHECK(update(s, "a", add_one, NULL) == 1);
    shut(s);
}

static void a_process_stopped_inside_the_gate_is_named_in_time(void)
{
    struct store *s;
    char number[16];
    fresh();
    shut(open_store());
    CHECK(try_open(300, &s) == 0);
    pid_t pid = child(enter_gate, NULL);
    kill(pid, SIGSTOP);
    CHECK(waitpid(pid, NULL, WUNTRACED) == pid);
    int64_t start = clock_now().ms;
    CHECK(update(s, "a", add_one, NULL) == TENURE_BUSY);
    CHECK(clock_now().ms - start >= 300 && clock_now().ms - start < LIMIT_MS);
    snprintf(number, sizeof number, "%d", (int)pid);
    CHECK(strstr(err.text, number) && strstr(err.text, "stopped"));
    CHECK(update(s, "a", see, NULL) == TENURE_BUSY); /* nothing happened, nothing is left over */
    end(pid);
    CHECK(update(s, "a", add_one, NULL) == 1);
    shut(s);
}

/* A turn is left to somebody who sleeps; when he died in his sleep, to nobody. */
static void who_is_left_alone_does_not_sleep_at_the_gate(void)
{
    const struct rights rights = {.mode = 0600};
    struct rusage before_, after;
    struct gate *g;
    fresh();
    shut(open_store());
    CHECK(gate_open(companion("-gate"), &rights, 0, &g, &err) == 0);
    atomic_store(&gate_page(g)->sleeps, 1);
    CHECK(getrusage(RUSAGE_SELF, &before_) == 0);
    for (int64_t end = clock_now().ms + 200; before(end);) {
        CHECK(gate_enter(g, LONG, &err) == 0);
        gate_leave(g);
    }
    CHECK(getrusage(RUSAGE_SELF, &after) == 0);
    CHECK(after.ru_nvcsw - before_.ru_nvcsw < 5);
    gate_close(g);
}

static void a_program_that_locks_the_database_gives_busy_in_time(void)
{
    struct store *s;
    sqlite3 *db;
    fresh();
    shut(open_store());
    CHECK(try_open(200, &s) == 0);
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(update(s, "a", add_one, NULL) == TENURE_BUSY && strstr(err.text, path));
    CHECK(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(update(s, "a", add_one, NULL) == 1);
    sqlite3_close(db);
    shut(s);
}

/* ---- who is alive --------------------------------------------------------------------------- */

static uint64_t hold_session(void)
{
    struct store *s = open_store();
    return session_open(s, LONG);
}

static void the_death_of_a_process_is_noticed_at_once(void)
{
    fresh();
    struct store *s = open_store();
    uint64_t id, own = session_open(s, LONG);
    pid_t pid = child(hold_session, &id);
    struct question q = {.session = id};
    CHECK(own != 0 && id != 0 && liveness_of(s, id) == LIVE);
    s->ops->watch_sessions(s, "x", &id, 1);
    drain(s);
    end(pid);
    CHECK(heard(s, "x", LIMIT_MS)); /* its ttl is longer than that */
    CHECK(liveness_of(s, id) == LIVE_GONE);
    CHECK(update(s, "x", ask_and_write, &q) == 1 && q.answer == LIVE_GONE);
    CHECK(liveness_of(s, id) == LIVE_GONE);
    shut(s);
}

/* Holds a session, and leaves a child behind that holds nothing. */
static uint64_t hold_and_fork(void)
{
    struct store *s = open_store();
    uint64_t id = session_open(s, LONG);
    int p[2];
    char byte = 0;
    if (pipe(p) != 0)
        return 0;
    if (fork() == 0) {
        s->ops->forked(s);
        s->ops->close(s);
        if (write(p[1], &byte, 1) != 1)
            _exit(1);
        prctl(PR_SET_PDEATHSIG, 0);
        alarm(LIMIT_MS / 1000);
        for (;;)
            pause();
    }
    return read(p[0], &byte, 1) == 1 ? id : 0;
}

static void a_child_that_outlives_its_parent_keeps_nothing_alive(void)
{
    fresh();
    struct store *s = open_store();
    uint64_t id;
    pid_t pid = child(hold_and_fork, &id);
    CHECK(id != 0 && liveness_of(s, id) == LIVE);
    end(pid);
    CHECK(liveness_of(s, id) == LIVE_GONE);
    shut(s);
}

static int guard_pid_pipe[2];

/* Holds a session whose lifeline a second process holds, too. */
static uint64_t hold_with_guardian(void)
{
    struct store *s = open_store();
    uint64_t id = session_open(s, LONG);
    int fd = s->ops->lifeline(s);
    pid_t pid = fork();
    if (pid == 0) {
        s->ops->forked(s);
        alarm(LIMIT_MS / 1000);
        for (;;)
            pause();
    }
    bool fine = fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) &&
                write(guard_pid_pipe[1], &pid, sizeof pid) == sizeof pid;
    return fine ? id : 0;
}

static void a_lifeline_in_another_process_keeps_the_session(void)
{
    fresh();
    struct store *s = open_store();
    uint64_t id;
    pid_t guardian;
    CHECK(pipe(guard_pid_pipe) == 0);
    pid_t pid = child(hold_with_guardian, &id);
    CHECK(read(guard_pid_pipe[0], &guardian, sizeof guardian) == sizeof guardian);
    CHECK(id != 0 && liveness_of(s, id) == LIVE);
    end(pid);
    CHECK(liveness_of(s, id) == LIVE);
    kill(guardian, SIGKILL);
    int64_t limit = clock_now().ms + LIMIT_MS; /* it is not our child: nothing to wait for */
    while (liveness_of(s, id) == LIVE && before(limit))
        continue;
    CHECK(liveness_of(s, id) == LIVE_GONE);
    close(guard_pid_pipe[0]);
    close(guard_pid_pipe[1]);
    shut(s);
}

static void a_removed_lifeline_ends_nobody_before_its_own_next_renewal(void)
{
    fresh();
    struct store *s = open_store(), *t = open_store();
    uint64_t id = session_open(s, LONG);
    char name[340];
    snprintf(name, sizeof name, "%s/%016llx", companion("-live"), (unsigned long long)id);
    CHECK(id != 0 && unlink(name) == 0);
    CHECK(liveness_of(t, id) == LIVE);
    CHECK(session_renew(s, id, NULL) == TENURE_LOST);
    CHECK(liveness_of(t, id) == LIVE_GONE && session_renew(s, id, NULL) == TENURE_LOST);
    shut(t);
    shut(s);
}

static int count_entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;
    if (!d)
        return -1;
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void the_remains_of_the_dead_are_cleared_away(void)
{
    fresh();
    struct store *s = open_store();
    for (int i = 0; i < 5; i++)
        end(child(hold_session, NULL));
    CHECK(count_entries(companion("-live")) == 5);
    for (int i = 0; i < 64; i++)
        CHECK(session_close(s, session_open(s, LONG)) == 0);
    CHECK(count_entries(companion("-live")) == 0);
    shut(s);
}

/* ---- bells ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t pipe_signals;

static void on_pipe(int signal)
{
    (void)signal;
    pipe_signals++;
}

static void ringing_at_a_dead_process_raises_no_signal(void)
{
    fresh();
    struct store *s = open_store();
    struct sigaction act = {.sa_handler = on_pipe}, old;
    uint64_t id;
    pid_t pid = child(hold_session, &id);
    CHECK(sigaction(SIGPIPE, &act, &old) == 0);
    CHECK(update(s, "a", ring_at, &id) == 1); /* now the descriptor is kept */
    end(pid);
    CHECK(update(s, "a", ring_at, &id) == 2 && update(s, "a", ring_at, &id) == 3);
    CHECK(pipe_signals == 0);
    CHECK(sigaction(SIGPIPE, &old, NULL) == 0);
    shut(s);
}

static void a_signal_that_was_pending_before_stays_pending(void)
{
    fresh();
    struct store *s = open_store();
    uint64_t id;
    pid_t pid = child(hold_session, &id);
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    CHECK(update(s, "a", ring_at, &id) == 1);
    end(pid);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0 && raise(SIGPIPE) == 0);
    CHECK(update(s, "a", ring_at, &id) == 2);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1);
    CHECK(sigtimedwait(&set, NULL, &(struct timespec){0}) == SIGPIPE);
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
    shut(s);
}

static void a_stopped_process_that_takes_no_bells_holds_nobody_up(void)
{
    fresh();
    struct store *s = open_store();
    uint64_t id;
    pid_t pid = child(hold_session, &id); /* it never reads */
    for (int i = 0; i < 9000; i++)         /* more than the 64 KiB of a FIFO */
        CHECK(update(s, "a", ring_at, &id) == i + 1);
    CHECK(liveness_of(s, id) == LIVE);
    end(pid);
    shut(s);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void the_log_does_not_grow_for_ever(void)
{
    fresh();
    struct store *s = open_store();
    struct stat st;
    uint64_t token;
    CHECK(session_open(s, LONG) != 0);
    for (int i = 0; i < 8000; i++)
        CHECK(update(s, "a", grant, &token) == 1);
    CHECK(stat(companion("-wal"), &st) == 0 && st.st_size < 24 * 1024 * 1024);
    shut(s);
}

static void an_idle_handle_does_not_keep_the_log_from_being_used_again(void)
{
    fresh();
    struct store *s = open_store(), *idle = open_store();
    struct stat st;
    uint64_t token, id = session_open(idle, LONG);
    CHECK(session_renew(idle, id, NULL) == 0 && session_close(idle, id) == 0);
    CHECK(idle->ops->due(idle).ms == INSTANT_NEVER.ms);
    for (int i = 0; i < 8000; i++)
        CHECK(update(s, "a", grant, &token) == 1);
    CHECK(stat(companion("-wal"), &st) == 0 && st.st_size < 24 * 1024 * 1024);
    shut(idle);
    shut(s);
}

int main(int argc, char **argv)
{
    lazy = argc > 1 && strcmp(argv[1], "lazy") == 0;
    int failed = TAP_RUN(
        TAP(processes_that_write_at_once_lose_no_update),
                   TAP(a_crowd_that_opens_a_new_store_at_once_gets_in),
        TAP(processes_killed_in_mid_write_leave_a_sound_store),
        TAP(a_process_that_dies_inside_the_gate_lets_the_others_in),
        TAP(a_process_stopped_inside_the_gate_is_named_in_time),
        TAP(who_is_left_alone_does_not_sleep_at_the_gate),
        TAP(a_program_that_locks_the_database_gives_busy_in_time),
        TAP(the_death_of_a_process_is_noticed_at_once),
        TAP(a_child_that_outlives_its_parent_keeps_nothing_alive),
        TAP(a_lifeline_in_another_process_keeps_the_session),
        TAP(a_removed_lifeline_ends_nobody_before_its_own_next_renewal),
        TAP(the_remains_of_the_dead_are_cleared_away),
        TAP(ringing_at_a_dead_process_raises_no_signal),
        TAP(a_signal_that_was_pending_before_stays_pending),
        TAP(a_stopped_process_that_takes_no_bells_holds_nobody_up),
        TAP(the_log_does_not_grow_for_ever),
        TAP(an_idle_handle_does_not_keep_the_log_from_being_used_again));
    scratch_remove();
    return failed;
}
