#include "os/signals.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* All that may be meant for the command.  Not here: faults of our own (SIGSEGV, SIGABRT, ...),
 * what only concerns one process (SIGCHLD, SIGPIPE, limits, timers), and what nobody can take. */
static const int watched[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM,
                              SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGPWR};

static bool is_ignored(int signo)
{
    struct sigaction action;
    return sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void signals_look(struct signals_origin *ret)
{
    int rc = pthread_sigmask(SIG_SETMASK, NULL, &ret->mask);
    assert(rc == 0);
    sigemptyset(&ret->ignored);
    for (int signo = 1; signo <= SIGRTMAX; signo++)
        if (is_ignored(signo))
            sigaddset(&ret->ignored, signo);
}

static void watched_set(const struct signals_origin *origin, sigset_t *ret)
{
    sigemptyset(ret);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        if (!sigismember(&origin->ignored, watched[i]))
            sigaddset(ret, watched[i]);
    for (int signo = SIGRTMIN; signo <= SIGRTMAX; signo++)
        if (!sigismember(&origin->ignored, signo))
            sigaddset(ret, signo);
}

int signals_open(struct signals *s)
{
    sigset_t set;
    watched_set(&s->origin, &set);
    s->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (s->fd < 0)
        return -errno;
    int rc = pthread_sigmask(SIG_BLOCK, &set, NULL);
    assert(rc == 0);
    /* A reader of our messages that went away must not end the supervision. */
    signal(SIGPIPE, SIG_IGN);
    /* Ignored, the kernel would reap the command and throw its status away. */
    signal(SIGCHLD, SIG_DFL);
    return 0;
}

static bool is_from_terminal(const struct signalfd_siginfo *info)
{
    if (info->ssi_code != SI_KERNEL)
        return false;
    switch (info->ssi_signo) {
    case SIGHUP:
        return getsid(0) != getpid();
    case SIGINT:
    case SIGQUIT:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGWINCH:
        return true;
    default:
        return false;
    }
}

int signals_next(struct signals *s, struct signals_event *ret)
{
    struct signalfd_siginfo info;
    ssize_t n;
    do
        n = read(s->fd, &info, sizeof info);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof info)
        return 0;
    *ret = (struct signals_event){
        .signo = (int)info.ssi_signo,
        .sender = info.ssi_code == SI_KERNEL ? 0 : (pid_t)info.ssi_pid,
        .from_terminal = is_from_terminal(&info),
    };
    return 1;
}

void signals_suspend(int signo)
{
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, signo);
    /* Pending while blocked, it takes effect within the call that unblocks it.  In an orphaned
     * process group the kernel drops it, as it did for the command. */
    raise(signo);
    int rc = pthread_sigmask(SIG_UNBLOCK, &one, &before);
    assert(rc == 0);
    rc = pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert(rc == 0);
}

void signals_close(struct signals *s)
{
    struct signals_event e;
    while (signals_next(s, &e))
        continue;
    if (!sigismember(&s->origin.ignored, SIGPIPE))
        signal(SIGPIPE, SIG_DFL);
    if (sigismember(&s->origin.ignored, SIGCHLD))
        signal(SIGCHLD, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, &s->origin.mask, NULL);
    close(s->fd);
    s->fd = -1;
}

void signals_restore(const struct signals_origin *origin)
{
    static const int changed[] = {SIGPIPE, SIGCHLD}; /* the others we leave as they are */
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = sigismember(&origin->ignored, changed[i]) ? SIG_IGN : SIG_DFL;
        int rc = sigaction(changed[i], &action, NULL);
        assert(rc == 0);
    }
    sigprocmask(SIG_SETMASK, &origin->mask, NULL);
}
