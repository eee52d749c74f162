/* worker.c - guarded work: a command that writes to the tests' resource and says what befalls it.
 *
 *     worker SOCKET WHO [KEY=NUMBER...]
 *
 * Sends one datagram for each thing that happens, "WHO TOKEN PID WHAT", to the resource, whose
 * queue gives them their order.  WHAT is begin, mark, signal-N, fds-A,B,..., or end.  The token
 * is $TENURE_TOKEN.
 *
 *     every=MS    between two marks (20)           for=MS      ends by itself after so long
 *     code=N      its exit code (0)                cleanup=MS  goes on for so long after a signal
 *     deaf=1      ignores the signals              child=1     has a child that marks, too
 *     daemon=1    leaves a detached process behind that keeps all descriptors and marks
 *     busy=N      N threads that only compute
 */
#include <errno.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum key { EVERY, FOR, CODE, CLEANUP, DEAF, CHILD, DAEMON, BUSY, KEYS };
static const char *const names[KEYS] = {"every", "for",   "code",   "cleanup",
                                        "deaf",  "child", "daemon", "busy"};
static long option[KEYS] = {20, -1, 0, 0, 0, 0, 0, 0};

static struct sockaddr_un resource = {.sun_family = AF_UNIX};
static const char *token;
static volatile sig_atomic_t caught;

static void tell(int fd, const char *who, const char *what)
{
    char line[512];
    int n = snprintf(line, sizeof line, "%s %s %d %s", who, token, (int)getpid(), what);
    while (sendto(fd, line, (size_t)n, 0, (struct sockaddr *)&resource, sizeof resource) < 0) {
        if (errno != EINTR)
            _exit(120); /* the test is over */
    }
}

static void catch_signal(int signo)
{
    caught = signo;
}

static void listen_to_signals(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1};
    struct sigaction act = {.sa_handler = option[DEAF] ? SIG_IGN : catch_signal};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &act, NULL);
}

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Says which descriptors were inherited; the one in use and the listing's own are left out. */
static void tell_descriptors(int fd, const char *who)
{
    char list[400] = "fds-";
    size_t used = strlen(list);
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        int n = atoi(e->d_name);
        if (e->d_name[0] == '.' || n == fd || n == dirfd(dir))
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s,", e->d_name);
        if (used >= sizeof list)
            break;
    }
    if (dir)
        closedir(dir);
    tell(fd, who, list);
}

/* Marks until a signal, and through the clean-up after it, or until its time is over. */
static void work(int fd, const char *who)
{
    char what[32];
    long end = option[FOR] < 0 ? -1 : now_ms() + option[FOR];
    tell(fd, who, "begin");
    tell_descriptors(fd, who);
    while (end < 0 || now_ms() < end) {
        if (caught) {
            snprintf(what, sizeof what, "signal-%d", (int)caught);
            caught = 0;
            tell(fd, who, what);
            long cleaned = now_ms() + option[CLEANUP];
            end = end < 0 || cleaned < end ? cleaned : end;
        }
        tell(fd, who, "mark");
        pause_ms(option[EVERY]);
    }
    tell(fd, who, "end");
}

static void *compute(void *arg)
{
    for (volatile unsigned long n = 0;; n++)
        continue;
    return arg;
}

static void start_busy(void)
{
    pthread_t thread;
    for (long i = 0; i < option[BUSY]; i++) {
        if (pthread_create(&thread, NULL, compute, NULL) != 0)
            _exit(121);
    }
}

/* A process beside the command, in its session or out of it. */
static void start_other(int fd, const char *who, const char *suffix, int detach)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", who, suffix);
    pid_t pid = fork();
    if (pid != 0)
        return;
    if (detach && (setsid() < 0 || fork() != 0))
        _exit(0);
    option[FOR] = -1;
    work(fd, name);
    _exit(0);
}

static int parse(int argc, char **argv)
{
    for (int i = 3; i < argc; i++) {
        int key = 0;
        const char *value = strchr(argv[i], '=');
        while (key < KEYS && (!value || strncmp(argv[i], names[key], strlen(names[key])) != 0))
            key++;
        if (key == KEYS)
            return i;
        option[key] = atol(value + 1);
    }
    return 0;
}

int main(int argc, char **argv)
{
    int wrong = argc < 3 ? 0 : parse(argc, argv);
    if (argc < 3 || wrong || strlen(argv[1]) >= sizeof resource.sun_path) {
        fprintf(stderr, "worker SOCKET WHO [KEY=NUMBER...]%s%s\n", wrong ? ": " : "",
                wrong ? argv[wrong] : "");
        return 122;
    }
    snprintf(resource.sun_path, sizeof resource.sun_path, "%s", argv[1]);
    token = getenv("TENURE_TOKEN") ? getenv("TENURE_TOKEN") : "0";
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (fd < 0)
        return 123;
    listen_to_signals();
    start_busy();
    if (option[CHILD])
        start_other(fd, argv[2], "child", 0);
    if (option[DAEMON])
        start_other(fd, argv[2], "daemon", 1);
    work(fd, argv[2]);
    return (int)option[CODE];
}
