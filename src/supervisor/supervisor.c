#include "supervisor/supervisor.h"

#include "os/clock.h"
#include "supervisor/guardian.h"
#include "supervisor/rescue.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SUPERVISORS_MAX = 32, /* of one process: the command, its probe, and room */
    HAND_FLOOR_MS = 10,   /* the guardian has at least so long before we lend a hand */
    HAND_UNKNOWN_MS = 15,
    RETRY_MS = 10,       /* between passes over the tree of a late guardian */
    REAP_MS = 3,         /* between looks at the orphans of a dead one */
    QUIET_MS = 50,       /* a guardian with nobody below it has so long to notice */
};

struct supervisor {
    struct orders *orders; /* shared with the guardian */
    struct leash *leash;   /* of the orders */
    struct cgroup group;
    struct rescue rescue;
    int stop_signal;
    struct span close_wait;
    struct span hand; /* how late the guardian may be */

    struct process_id guardian;
    int guardian_fd; /* pidfd; -1 once it is reaped */
    int socket;      /* -1 once it was read to its end */
    int command_fd;  /* pidfd; -1 before the start */
    int timer, epoll;

    sigset_t waiting;     /* signals for a command that has not started yet */
    struct instant retry_at, quiet_since;
    struct instant asked_at; /* when supervisor_stop() came */
    size_t left;          /* processes that were left behind */
    bool started;         /* the guardian has its orders */
    bool asked;           /* supervisor_stop() came before any deadline */
    bool stopping;        /* SUPERVISOR_STOPPING was told */
    bool has_final;       /* the last report came */
    bool put_down;        /* we killed the guardian ourselves */
    bool done;            /* the final event was told */
    struct report final;
};

/* The only state of the process: which guardians are not orphans of another one. */
static struct supervisor *running[SUPERVISORS_MAX];

static int complain(tenure_error *err, int error, const char *what)
{
    int code = error == ENOMEM ? TENURE_NO_MEMORY : TENURE_INTERNAL;
    if (err) {
        err->code = code;
        snprintf(err->text, sizeof err->text, "cannot supervise a command: %s: %s", what,
                 strerror(error));
    }
    return code;
}

/* ---- standing by --------------------------------------------------------------------------- */

static void release(struct supervisor *s)
{
    for (size_t i = 0; i < SUPERVISORS_MAX; i++)
        if (running[i] == s)
            running[i] = NULL;
    int fds[] = {s->guardian_fd, s->socket, s->command_fd, s->timer, s->epoll};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    cgroup_close(&s->group);
    if (s->rescue.tree.proc >= 0)
        rescue_close(&s->rescue);
    orders_free(s->orders);
    free(s);
}

static struct supervisor *supervisor_new(void)
{
    struct supervisor *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->group = CGROUP_NONE;
    s->rescue.tree.proc = -1;
    s->guardian_fd = s->socket = s->command_fd = s->timer = s->epoll = -1;
    s->quiet_since = s->asked_at = INSTANT_NEVER;
    sigemptyset(&s->waiting);
    return s;
}

/* Closing alone would not do while a guardian that is just starting has a copy. */
static void forget(struct supervisor *s, int *fd)
{
    epoll_ctl(s->epoll, EPOLL_CTL_DEL, *fd, NULL);
    close(*fd);
    *fd = -1;
}

static int watch(struct supervisor *s, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

/* Everything that can fail before there is a guardian.  NULL, or what failed with errno set. */
static const char *prepare(struct supervisor *s, size_t orders_bytes, int pair[2])
{
    if (signal(SIGCHLD, SIG_DFL) == SIG_ERR)
        return "SIGCHLD";
    s->orders = orders_new(orders_bytes);
    if (!s->orders)
        return "shared memory";
    s->leash = &s->orders->leash;
    errno = -rescue_open(&s->rescue);
    if (errno)
        return "/proc";
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (s->epoll < 0 || s->timer < 0)
        return "a timer";
    errno = -watch(s, s->timer);
    if (errno)
        return "a timer";
    if (close_range(~0U, ~0U, 0) != 0) /* the guardian would keep what is not its own */
        return "close_range (Linux 5.10 or later)";
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return "a socket";
    return NULL;
}

static pid_t fork_guardian(struct supervisor *s, const int pair[2])
{
    const struct guardian_start start = {
        .orders = s->orders, .tree = &s->rescue.tree,
        .supervisor = pair[1], .supervisor_end = pair[0]};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        guardian_run(&start);
    int saved = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return pid;
}

static void arm(struct supervisor *s);

/* The guardian runs: from here on whatever fails ends it again, by the end of the socket. */
static const char *adopt(struct supervisor *s, pid_t pid)
{
    struct process guardian;
    s->guardian_fd = pidfd_open(pid, 0);
    if (s->guardian_fd < 0)
        return "pidfd (Linux 5.10 or later)";
    errno = -tree_process(&s->rescue.tree, pid, &guardian);
    if (errno)
        return "/proc";
    s->guardian = guardian.id;
    errno = -watch(s, s->socket);
    if (!errno)
        errno = -watch(s, s->guardian_fd);
    return errno ? "epoll" : NULL;
}

static int give_up(struct supervisor *s, int error, const char *what, tenure_error *err)
{
    release(s);
    return complain(err, error, what);
}

static int stand_by(size_t orders_bytes, struct supervisor **ret, tenure_error *err)
{
    size_t slot = 0;
    while (slot < SUPERVISORS_MAX && running[slot])
        slot++;
    if (slot == SUPERVISORS_MAX)
        return complain(err, EAGAIN, "too many at once");
    struct supervisor *s = supervisor_new();
    if (!s)
        return complain(err, ENOMEM, "memory");
    int pair[2];
    const char *what = prepare(s, orders_bytes, pair);
    if (what)
        return give_up(s, errno, what, err);
    s->socket = pair[0];
    pid_t pid = fork_guardian(s, pair);
    int saved = errno;
    close(pair[1]);
    if (pid < 0)
        return give_up(s, saved, "a process", err);
    what = adopt(s, pid);
    if (what) {
        saved = errno;
        shutdown(s->socket, SHUT_RDWR);
        waitpid(pid, NULL, 0);
        return give_up(s, saved, what, err);
    }
    running[slot] = s;
    *ret = s;
    return 0;
}

int supervisor_stand_by(struct supervisor **ret, tenure_error *err)
{
    return stand_by(orders_size(NULL), ret, err);
}

/* ---- starting ------------------------------------------------------------------------------ */

/* A guardian that has no orders has no tree. */
static void dismiss(struct supervisor *s)
{
    siginfo_t info;
    pidfd_send_signal(s->guardian_fd, SIGKILL, NULL, 0);
    while (waitid(P_PIDFD, (id_t)s->guardian_fd, &info, WEXITED) != 0 && errno == EINTR)
        continue;
    release(s);
}

static void set_hand(struct supervisor *s, struct span margin)
{
    s->hand = SPAN(margin.ms > 0 ? margin.ms / 3 : HAND_UNKNOWN_MS);
    if (s->hand.ms < HAND_FLOOR_MS)
        s->hand.ms = HAND_FLOOR_MS;
}

/* 0 or -errno. */
static int give_orders(struct supervisor *s, const struct supervisor_options *opt)
{
    orders_write(s->orders, opt);
    s->stop_signal = s->orders->stop_signal;
    s->close_wait = opt->close_wait;
    set_hand(s, opt->margin);
    if (!opt->without_group && cgroup_make(&s->group) < 0)
        s->group = CGROUP_NONE; /* the walk over the tree does without */
    int rc = orders_send(s->orders, s->socket, opt->lifeline, &s->group);
    if (rc < 0) {
        int removed = cgroup_remove(&s->group);
        (void)removed; /* the next start clears it away */
        cgroup_close(&s->group);
    }
    return rc;
}

int supervisor_start(const struct supervisor_options *opt, struct supervisor *ready,
                     struct supervisor **ret, tenure_error *err)
{
    struct supervisor *s = ready;
    size_t bytes = orders_size(opt);
    int rc = s && bytes <= s->orders->size ? give_orders(s, opt) : -EPIPE;
    if (rc == -EPIPE || rc == -ECONNRESET) { /* none, one with too little room, or it was killed */
        supervisor_close(s);
        int code = stand_by(bytes, &s, err);
        if (code < 0)
            return code;
        rc = give_orders(s, opt);
    }
    if (rc < 0) {
        dismiss(s);
        return complain(err, -rc, "its orders");
    }
    s->started = true;
    arm(s);
    *ret = s;
    return 0;
}

/* ---- time --------------------------------------------------------------------------------- */

/* When to tell the tree to stop, should the guardian not have done it. */
static struct instant tell_due(struct supervisor *s)
{
    struct instant stop = instant_min(INSTANT(atomic_load(&s->leash->stop_at)), s->asked_at);
    return instant_add(stop, s->hand);
}

static struct instant kill_due(struct supervisor *s)
{
    return instant_add(leash_kill_at(s->leash), s->hand);
}

static struct instant next_due(struct supervisor *s)
{
    if (s->done)
        return INSTANT_NEVER;
    if (s->guardian_fd < 0)
        return s->retry_at;
    struct instant kill = kill_due(s);
    struct instant due = kill.ms > s->retry_at.ms ? kill : s->retry_at;
    if (!atomic_load(&s->leash->told) && !atomic_load(&s->leash->ended))
        due = instant_min(due, tell_due(s));
    return due;
}

static void arm(struct supervisor *s)
{
    struct instant due = next_due(s);
    struct itimerspec spec = {0};
    if (due.ms != INT64_MAX) {
        int64_t ms = due.ms > 0 ? due.ms : 1; /* 0 would disarm it */
        spec.it_value.tv_sec = ms / 1000;
        spec.it_value.tv_nsec = ms % 1000 * 1000000;
    }
    if (timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &spec, NULL) != 0)
        abort(); /* cannot be: both arguments are ours */
}

/* ---- reports of the guardian -------------------------------------------------------------- */

static void command_started(struct supervisor *s, pid_t pid)
{
    struct process p;
    int fd = pidfd_open(pid, 0);
    /* Its number may be somebody else's by now: it is the command if the guardian is its parent. */
    if (fd >= 0 && tree_process(&s->rescue.tree, pid, &p) == 0 && p.parent == s->guardian.pid) {
        s->command_fd = fd;
    } else if (fd >= 0) {
        close(fd);
    }
    for (int signo = 1; signo <= SIGRTMAX; signo++)
        if (sigismember(&s->waiting, signo) == 1)
            supervisor_signal(s, signo);
    sigemptyset(&s->waiting);
    cgroup_clear(&s->group);
}

/* Turns a report into an event; false when there is nothing to tell yet. */
static bool take_report(struct supervisor *s, const struct report *r, struct supervisor_event *ret)
{
    *ret = (struct supervisor_event){.count = r->count};
    switch (r->kind) {
    case REPORT_STARTED:
        command_started(s, r->value);
        ret->kind = SUPERVISOR_STARTED;
        ret->pid = r->value;
        return true;
    case REPORT_STOPPING:
        ret->kind = SUPERVISOR_STOPPING;
        return !s->stopping && (s->stopping = true);
    case REPORT_LEFTOVERS:
        s->left = r->count;
        ret->kind = SUPERVISOR_LEFTOVERS;
        ret->status = atomic_load(&s->leash->status);
        return r->count > 0; /* 0: they are ending already */
    case REPORT_STUCK:
        ret->kind = SUPERVISOR_STUCK;
        ret->pid = r->value;
        return true;
    case REPORT_FAILED:
    case REPORT_GONE:
        s->has_final = true;
        s->final = *r;
        return false; /* told when the guardian has let go of the lifeline */
    }
    return false;
}

/* 1: an event; 0: nothing to read. */
static int read_reports(struct supervisor *s, struct supervisor_event *ret)
{
    while (s->socket >= 0) {
        struct report report;
        ssize_t n = recv(s->socket, &report, sizeof report, MSG_DONTWAIT);
        if (n == (ssize_t)sizeof report) {
            if (take_report(s, &report, ret))
                return 1;
        } else if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0 && errno == EAGAIN) {
            return 0;
        } else {
            forget(s, &s->socket);
        }
    }
    return 0;
}

/* ---- what is due -------------------------------------------------------------------------- */

static int finish(struct supervisor *s, struct supervisor_event *ret)
{
    int rc = cgroup_remove(&s->group); /* done by the guardian, unless it was killed */
    (void)rc;
    s->done = true;
    *ret = (struct supervisor_event){.kind = SUPERVISOR_ENDED, .count = s->left};
    if (s->has_final && s->final.kind == REPORT_FAILED) {
        ret->kind = SUPERVISOR_NOT_STARTED;
        ret->error = s->final.value;
        return 1;
    }
    ret->status = atomic_load(&s->leash->ended) ? atomic_load(&s->leash->status) : SIGKILL;
    ret->forced = !s->has_final || s->final.forced;
    if (!s->has_final && !s->put_down)
        ret->cause = SUPERVISOR_GUARDIAN_DIED;
    else if (atomic_load(&s->leash->by_itself))
        ret->cause = SUPERVISOR_BY_ITSELF;
    else
        ret->cause = s->asked ? SUPERVISOR_ASKED : SUPERVISOR_DEADLINE;
    return 1;
}

static void reap_guardian(struct supervisor *s)
{
    siginfo_t info = {0};
    if (waitid(P_PIDFD, (id_t)s->guardian_fd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
        return;
    forget(s, &s->guardian_fd);
    s->retry_at = clock_now();
}

static bool orphans_are_gone(struct supervisor *s)
{
    struct process_id others[SUPERVISORS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < SUPERVISORS_MAX; i++)
        if (running[i] && running[i]->guardian_fd >= 0)
            others[n++] = running[i]->guardian;
    const struct tree_skip skip = {.at = others, .count = n};
    return rescue_kill_orphans(&s->rescue, &skip, &s->group, s->leash);
}

/* The guardian is late with killing.  When nobody is left below it, it cannot tell us so:
 * it is stopped, and put down. */
static void lend_a_hand(struct supervisor *s, struct instant now)
{
    struct tree_tally tally;
    rescue_kill_below(&s->rescue, s->guardian.pid, &s->group, &tally);
    if (tally.live > 0) {
        s->quiet_since = INSTANT_NEVER;
    } else if (s->quiet_since.ms == INT64_MAX) {
        s->quiet_since = now;
    } else if (instant_reached(now, instant_add(s->quiet_since, SPAN(QUIET_MS)))) {
        s->put_down = true;
        pidfd_send_signal(s->guardian_fd, SIGKILL, NULL, 0);
    }
}

/* A pass over a large tree takes time from those who are dying. */
static struct instant after_pass(struct instant began)
{
    struct instant now = clock_now();
    return instant_add(now, SPAN(RETRY_MS + 2 * instant_diff(began, now).ms));
}

/* 1: an event. */
static int do_due(struct supervisor *s, struct supervisor_event *ret)
{
    struct instant now = clock_now();
    if (s->guardian_fd < 0) {
        if (s->has_final)
            return finish(s, ret);
        if (!instant_reached(now, s->retry_at))
            return 0;
        if (orphans_are_gone(s))
            return finish(s, ret);
        s->retry_at = instant_add(now, SPAN(REAP_MS));
        return 0;
    }
    if (instant_reached(now, kill_due(s)) && instant_reached(now, s->retry_at)) {
        lend_a_hand(s, now);
        s->retry_at = after_pass(now);
        return 0;
    }
    if (instant_reached(now, tell_due(s)) && !atomic_load(&s->leash->ended) &&
        leash_claim_telling(s->leash)) {
        rescue_tell(&s->rescue, s->guardian.pid, s->stop_signal);
        s->stopping = true;
        *ret = (struct supervisor_event){.kind = SUPERVISOR_STOPPING};
        return 1;
    }
    return 0;
}

int supervisor_fd(const struct supervisor *s)
{
    return s->epoll;
}

int supervisor_process(struct supervisor *s, struct supervisor_event *ret)
{
    uint64_t fired;
    ssize_t n = read(s->timer, &fired, sizeof fired);
    (void)n; /* only to make it unreadable: what is due is decided by the clock */
    struct supervisor_event event;
    int rc = 0;
    if (!s->done) {
        rc = read_reports(s, &event);
        if (rc == 0) {
            if (s->guardian_fd >= 0)
                reap_guardian(s);
            if (s->guardian_fd < 0)
                rc = read_reports(s, &event); /* its last words */
        }
        if (rc == 0)
            rc = do_due(s, &event);
    }
    arm(s);
    if (rc == 1)
        *ret = event;
    return rc;
}

/* ---- the caller's wishes ------------------------------------------------------------------ */

static void wake_guardian(struct supervisor *s)
{
    if (s->socket >= 0)
        send(s->socket, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* full: it is awake already */
    arm(s);
}

/* A renewal is our look at the guardian: one that was stopped could not tell us how the command
 * ends, and the deadline that would reveal it moves away with each renewal. */
static void wake_stopped_guardian(struct supervisor *s)
{
    siginfo_t info = {0};
    if (s->guardian_fd >= 0 &&
        waitid(P_PIDFD, (id_t)s->guardian_fd, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid != 0)
        pidfd_send_signal(s->guardian_fd, SIGCONT, NULL, 0);
}

void supervisor_deadline(struct supervisor *s, struct instant stop_at, struct instant kill_at)
{
    int64_t stop_before = atomic_exchange(&s->leash->stop_at, stop_at.ms);
    int64_t kill_before = atomic_exchange(&s->leash->kill_at, kill_at.ms);
    if (stop_at.ms < stop_before || kill_at.ms < kill_before)
        wake_guardian(s);
    wake_stopped_guardian(s);
}

void supervisor_stop(struct supervisor *s, struct instant kill_at)
{
    if (!s->stopping)
        s->asked = true;
    s->asked_at = instant_min(s->asked_at, clock_now());
    if (kill_at.ms < atomic_load(&s->leash->end_at))
        atomic_store(&s->leash->end_at, kill_at.ms);
    atomic_store(&s->leash->asked, true);
    wake_guardian(s);
}

void supervisor_signal(struct supervisor *s, int signo)
{
    if (s->command_fd >= 0)
        pidfd_send_signal(s->command_fd, signo, NULL, 0); /* ESRCH: it has ended */
    else if (!atomic_load(&s->leash->ended))
        sigaddset(&s->waiting, signo);
}

struct supervisor *supervisor_close(struct supervisor *s)
{
    if (!s)
        return NULL;
    if (!s->started) {
        dismiss(s);
        return NULL;
    }
    struct instant now = clock_now();
    struct instant patience = instant_add(now, s->close_wait);
    if (!s->done)
        supervisor_stop(s, now);
    while (!s->done && !instant_reached(now, patience)) {
        struct supervisor_event event;
        struct pollfd fd = {.fd = s->epoll, .events = POLLIN};
        poll(&fd, 1, RETRY_MS);
        while (supervisor_process(s, &event) == 1)
            continue;
        now = clock_now();
    }
    release(s);
    return NULL;
}

int supervisor_exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int supervisor_exec_code(int error)
{
    return error == ENOENT ? 127 : 126;
}
