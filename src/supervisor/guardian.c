#include "supervisor/guardian.h"

#include "os/clock.h"
#include "os/point.h"
#include "os/tree.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RETRY_FIRST_MS = 5, /* between killing passes: who was killed needs the processor to die */
    RETRY_LAST_MS = 200,
    GROUP_WAIT_MS = 20, /* after cgroup.kill the walk is only needed for who left the group */
    DYING_US = 1000, /* what the end of one process takes: 600 us on two cores, and room */
    STUCK_AFTER_MS = 1000, /* SIGKILL that has no effect for so long is worth a report */
};

enum guardian_state {
    STARTING,  /* forked, exec not yet confirmed */
    RUNNING,   /* the command runs */
    STOPPING,  /* the tree was told to stop */
    LEFTOVERS, /* the command ended, what it left was told to stop */
    KILLING,   /* SIGKILL until the tree is gone */
};

struct guardian {
    const struct orders *orders;
    struct leash *leash;
    int supervisor;
    int lifeline;   /* -1: none */
    struct cgroup group;
    enum guardian_state state;
    struct tree tree;
    int timer, child_signal, exec_report;
    pid_t command;
    bool in_group; /* the command was born in the control group */
    bool command_ended, alone; /* alone: the supervisor is dead */
    int exec_error;
    struct instant limit; /* LEFTOVERS: when patience ends */
    struct span lead;     /* how much before kill_at, for a tree that was told and is large */
    struct instant killing_since, retry_at;
    int64_t retry_ms;
    bool stuck_reported, forced;
};

static void tell(struct guardian *g, struct report report)
{
    ssize_t n;
    do
        n = send(g->supervisor, &report, sizeof report, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    (void)n; /* a supervisor that does not read is dead, or has its own eyes on the tree */
}

static _Noreturn void fail(struct guardian *g, int error)
{
    tell(g, (struct report){.kind = REPORT_FAILED, .value = error});
    _exit(0);
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Closes everything but what the guardian works with: the store's files, the program's sockets,
 * and the descriptors that the user meant for the command. */
static void close_others(const struct guardian *g)
{
    const struct cgroup *group = &g->group;
    int keep[] = {STDERR_FILENO,   g->supervisor,  g->lifeline,  g->timer,  g->child_signal,
                  g->exec_report,  g->tree.proc,   group->parent, group->fd, group->kill};
    size_t n = sizeof keep / sizeof *keep;
    qsort(keep, n, sizeof *keep, compare_ints);
    for (size_t i = 0; i < n; i++) {
        if (keep[i] < STDERR_FILENO)
            continue;
        unsigned first = (unsigned)keep[i] + 1;
        unsigned last = i + 1 < n ? (unsigned)keep[i + 1] : ~0U;
        if (i + 1 < n && last > 0)
            last--;
        if (first <= last)
            close_range(first, last, 0);
    }
}

/* ---- starting ----------------------------------------------------------------------------- */

/* What can be done before the orders come; as little as can be, since where there is one processor,
 * or two halves of one, the supervisor stands still meanwhile. */
static int prepare(struct guardian *g, const struct tree *tree)
{
    /* Not "tenure": `pkill -9 tenure` shall not kill both of us at once. */
    prctl(PR_SET_NAME, "guardian");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return -errno;
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    g->child_signal = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
    g->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (g->child_signal < 0 || g->timer < 0)
        return -errno;
    return tree_open_again(tree, &g->tree);
}

static int start(struct guardian *g)
{
    struct spawn spawn = g->orders->spawn;
    struct spawned command;
    spawn.cgroup = &g->group;
    int rc = spawn_start(&spawn, &command);
    if (rc < 0)
        return rc;
    g->command = command.pid;
    g->exec_report = command.report;
    g->in_group = command.in_group;
    return 0;
}

static void read_exec_report(struct guardian *g)
{
    int rc = spawn_report(g->exec_report);
    g->exec_report = -1;
    if (rc < 0) {
        g->exec_error = -rc;
        return;
    }
    if (g->state == STARTING)
        g->state = RUNNING;
    tell(g, (struct report){.kind = REPORT_STARTED, .value = g->command});
}

/* ---- ending ------------------------------------------------------------------------------- */

/* Reaps all that ended.  True when no child is left, and with it no tree: see os/tree.h. */
static bool reap(struct guardian *g)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == 0)
            return false;
        if (pid < 0) {
            if (errno == EINTR)
                continue;
            return true;
        }
        if (pid == g->command) {
            g->command_ended = true;
            leash_note_end(g->leash, status, g->state == STARTING || g->state == RUNNING);
        }
    }
}

/* Counts the tree, and tells it to stop. */
static size_t tell_tree(struct guardian *g, bool aloud)
{
    struct tree_tally tally = {0};
    int rc;
    if (aloud)
        rc = tree_tell(&g->tree, getpid(), NULL, g->orders->stop_signal, &tally);
    else
        rc = tree_scan(&g->tree, getpid(), NULL, &tally);
    (void)rc; /* who was not told is killed in the end */
    return tally.live;
}

/* A tree that is too large to die within the margin has to start earlier (P12). */
static void set_lead(struct guardian *g, size_t count)
{
    int64_t needed_ms = (int64_t)count * DYING_US / 1000;
    if (g->orders->margin.ms > 0 && needed_ms > g->orders->margin.ms)
        g->lead = SPAN(needed_ms - g->orders->margin.ms);
}

static struct instant kill_at(struct guardian *g)
{
    return instant_add(leash_kill_at(g->leash), SPAN(-g->lead.ms));
}

static void start_stopping(struct guardian *g)
{
    g->state = STOPPING;
    set_lead(g, tell_tree(g, leash_claim_telling(g->leash)));
    tell(g, (struct report){.kind = REPORT_STOPPING});
}

static void start_leftovers(struct guardian *g)
{
    size_t count = tell_tree(g, g->state != STOPPING); /* once is enough */
    g->state = LEFTOVERS;
    g->limit = instant_add(clock_now(), g->orders->leftover_grace); /* from when all were told */
    set_lead(g, count);
    tell(g, (struct report){.kind = REPORT_LEFTOVERS, .count = count});
}

static void start_killing(struct guardian *g, struct instant now)
{
    g->state = KILLING;
    g->killing_since = g->retry_at = now;
    g->retry_ms = 0;
    g->forced = true;
}

/* One pass.  The group first, it is one call; the walk when that was not the end of it. */
static void kill_pass(struct guardian *g, struct instant now)
{
    bool by_group = g->in_group && cgroup_kill(&g->group) == 0;
    bool first = g->retry_ms == 0;
    struct tree_tally tally = {0};
    if (!by_group || !first)
        (void)tree_kill(&g->tree, getpid(), NULL, &tally); /* failed: the next pass tries again */
    if (!g->stuck_reported && tally.live > 0 &&
        instant_reached(now, instant_add(g->killing_since, SPAN(STUCK_AFTER_MS)))) {
        g->stuck_reported = true;
        tell(g, (struct report){
            .kind = REPORT_STUCK, .value = tally.live_pid, .count = tally.live});
    }
    if (first)
        g->retry_ms = by_group ? GROUP_WAIT_MS : RETRY_FIRST_MS;
    /* A pass over a large tree takes time from those who are dying. */
    struct instant end = clock_now();
    int64_t wait_ms = g->retry_ms + 2 * instant_diff(now, end).ms;
    g->retry_at = instant_add(end, SPAN(wait_ms < RETRY_LAST_MS ? wait_ms : RETRY_LAST_MS));
    g->retry_ms = g->retry_ms * 2 < RETRY_LAST_MS ? g->retry_ms * 2 : RETRY_LAST_MS;
}

static void listen_to_supervisor(struct guardian *g)
{
    char wake[16];
    for (;;) {
        ssize_t n = recv(g->supervisor, wake, sizeof wake, MSG_DONTWAIT);
        if (n > 0)
            continue; /* a deadline moved closer: step() reads the leash */
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            g->alone = true;
        return;
    }
}

static _Noreturn void finish(struct guardian *g)
{
    POINT("tree-gone");
    int rc = cgroup_remove(&g->group);
    (void)rc; /* the supervisor, or the next one, tries again */
    if (g->exec_report >= 0)
        read_exec_report(g);
    if (g->exec_error)
        fail(g, g->exec_error);
    tell(g, (struct report){.kind = REPORT_GONE, .forced = g->forced});
    listen_to_supervisor(g);
    if (g->alone && g->orders->last_words) /* when this fails the session ends by expiry */
        execve(g->orders->last_words[0], g->orders->last_words, g->orders->spawn.envp);
    _exit(0); /* lets go of the lifeline */
}

/* ---- the loop ----------------------------------------------------------------------------- */

/* Moves on to what is due. */
static void step(struct guardian *g, struct instant now)
{
    if (g->state != KILLING &&
        (g->alone || instant_reached(now, kill_at(g)) ||
         (g->state == LEFTOVERS && instant_reached(now, g->limit))))
        start_killing(g, now);
    if ((g->state == STARTING || g->state == RUNNING) &&
        instant_reached(now, leash_stop_at(g->leash)))
        start_stopping(g);
    if (g->command_ended && g->state != LEFTOVERS && g->state != KILLING)
        start_leftovers(g);
    if (g->state == KILLING && instant_reached(now, g->retry_at))
        kill_pass(g, now);
}

static struct instant next_due(struct guardian *g)
{
    if (g->state == KILLING)
        return g->retry_at;
    struct instant due = kill_at(g);
    if (g->state == LEFTOVERS)
        due = instant_min(due, g->limit);
    if (g->state == STARTING || g->state == RUNNING)
        due = instant_min(due, leash_stop_at(g->leash));
    return due;
}

static void arm(struct guardian *g, struct instant when)
{
    struct itimerspec spec = {0};
    if (when.ms != INT64_MAX) {
        int64_t ms = when.ms > 0 ? when.ms : 1; /* 0 would disarm it */
        spec.it_value.tv_sec = ms / 1000;
        spec.it_value.tv_nsec = ms % 1000 * 1000000;
    }
    if (timerfd_settime(g->timer, TFD_TIMER_ABSTIME, &spec, NULL) != 0)
        abort(); /* cannot be: both arguments are ours */
}

static void drain(int fd)
{
    char buf[1024];
    while (read(fd, buf, sizeof buf) > 0)
        continue;
}

/* A guardian that was stopped before it could read its orders may come too late for them. */
static bool comes_too_late(struct guardian *g)
{
    listen_to_supervisor(g);
    return g->alone || instant_reached(clock_now(), leash_kill_at(g->leash));
}

void guardian_run(const struct guardian_start *from)
{
    struct guardian g = {
        .orders = from->orders, .leash = &from->orders->leash, .supervisor = from->supervisor,
        .lifeline = -1, .group = CGROUP_NONE, .timer = -1, .child_signal = -1, .exec_report = -1,
        .tree = {.proc = -1},
    };
    close(from->supervisor_end);
    int rc = prepare(&g, from->tree);
    int orders = orders_await(g.orders, g.supervisor, &g.lifeline, &g.group);
    if (orders == -EPIPE)
        _exit(0); /* there was no work for us */
    if (rc < 0 || orders < 0)
        fail(&g, rc < 0 ? -rc : -orders);
    if (comes_too_late(&g)) {
        close_others(&g);
        finish(&g);
    }
    rc = start(&g);
    if (rc < 0)
        fail(&g, -rc);
    atomic_store(&g.leash->command, g.command);
    close_others(&g);
    setsid(); /* cannot fail: the child of a fork leads no group */
    for (;;) {
        arm(&g, next_due(&g));
        struct pollfd fds[] = {
            {.fd = g.alone ? -1 : g.supervisor, .events = POLLIN},
            {.fd = g.child_signal, .events = POLLIN},
            {.fd = g.timer, .events = POLLIN},
            {.fd = g.exec_report, .events = POLLIN},
        };
        int ready = poll(fds, sizeof fds / sizeof *fds, -1);
        if (ready > 0 && fds[3].revents)
            read_exec_report(&g);
        if (ready > 0 && fds[0].revents)
            listen_to_supervisor(&g);
        drain(g.child_signal);
        drain(g.timer);
        if (reap(&g))
            finish(&g);
        step(&g, clock_now());
    }
}
