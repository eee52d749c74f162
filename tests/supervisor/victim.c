/* tests/supervisor/victim.c - a command that makes a tree of processes that do not want to end.
 *
 *     supervisor-victim FD STEPS
 *
 * Every process writes its pid as a line to FD, so the test can hold a pidfd of each.  STEPS are
 * done one after the other; a step that forks goes on in the child, and the parent waits:
 *
 *     c  child                                  d  daemon: forks twice, setsid()
 *     t  ignore SIGTERM, SIGINT, SIGHUP         g  own process group
 *     s  stop itself                            z  main thread ends, another one stays
 *     x  like c, but the parent exits with 0    e  exit with 0
 *     n  take a name that looks like the fields of /proc/PID/stat
 *     u  become root for good (of a setuid program), which nobody else may signal
 *     bN bomb: every process forks as fast as it can until there are N
 *     rN restless: N children at any time, each ends after a moment and is replaced
 *     fN a flat tree of N children
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RESTLESS_US = 2000 };

static int out;

static void announce(void)
{
    char line[32];
    int n = snprintf(line, sizeof line, "%d\n", (int)getpid());
    if (write(out, line, (size_t)n) != n)
        _exit(70);
}

static _Noreturn void linger(void)
{
    for (;;)
        pause();
}

static void *linger_thread(void *unused)
{
    (void)unused;
    linger();
}

/* The child goes on; the parent lingers, or exits. */
static void descend(int parent_exits)
{
    pid_t pid = fork();
    if (pid < 0)
        _exit(71);
    if (pid > 0 && parent_exits)
        _exit(0);
    if (pid > 0)
        linger();
    announce();
}

static void become_daemon(void)
{
    pid_t pid = fork();
    if (pid < 0)
        _exit(71);
    if (pid > 0) {
        waitpid(pid, NULL, 0);
        linger();
    }
    setsid();
    pid = fork();
    if (pid != 0)
        _exit(pid < 0 ? 71 : 0);
    announce();
}

static _Noreturn void bomb(int limit)
{
    atomic_int *count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (count == MAP_FAILED)
        _exit(71);
    atomic_store(count, 1);
    while (atomic_fetch_add(count, 1) < limit)
        if (fork() == 0)
            announce();
    linger();
}

static void start_restless(void)
{
    if (fork() == 0) {
        usleep(RESTLESS_US);
        _exit(0);
    }
}

static _Noreturn void restless(int count)
{
    for (int i = 0; i < count; i++)
        start_restless();
    for (;;) {
        wait(NULL);
        start_restless();
    }
}

static _Noreturn void flat(int count)
{
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            announce();
            linger();
        }
    }
    linger();
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 64;
    out = atoi(argv[1]);
    announce();
    for (char *step = argv[2]; *step; step++) {
        pthread_t thread;
        switch (*step) {
        case 'c': descend(0); break;
        case 'x': descend(1); break;
        case 'd': become_daemon(); break;
        case 'e': return 0;
        case 'g': setpgid(0, 0); break;
        case 'n': prctl(PR_SET_NAME, "a) Z 1 (1) ("); break;
        case 'u':
            if (setresuid(0, 0, 0) != 0)
                return 72;
            announce();
            break;
        case 's': raise(SIGSTOP); break;
        case 'b': bomb(atoi(step + 1));
        case 'r': restless(atoi(step + 1));
        case 'f': flat(atoi(step + 1));
        case 't':
            signal(SIGTERM, SIG_IGN);
            signal(SIGINT, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            break;
        case 'z':
            if (pthread_create(&thread, NULL, linger_thread, NULL) != 0)
                return 71;
            pthread_exit(NULL);
        default: return 64;
        }
    }
    linger();
}
