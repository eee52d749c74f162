#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int step_aside(void)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0)
        return -errno;
    if (dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return -errno;
    return 0;
}

/* Returns the errno that kept the child from becoming the program. */
static int become(const struct spawn *s, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return errno;
    if (getppid() != parent) /* it died before the line above could work */
        return ESRCH;
    if (s->aside) {
        int rc = step_aside();
        if (rc < 0)
            return -rc;
    }
    signals_restore(s->signals);
    execvp(s->argv[0], s->argv);
    return errno;
}

/* ---- birth -------------------------------------------------------------------------------- */

struct birth {
    const struct spawn *spawn;
    pid_t parent;
    int report;
};

/* The child, from its first instruction on. */
static _Noreturn void child_run(const struct birth *b)
{
    int why = become(b->spawn, b->parent);
    ssize_t n = write(b->report, &why, sizeof why);
    (void)n; /* nobody reads any more: then nobody needs to know */
    _exit(why == ENOENT ? 127 : 126);
}

/* The sanitizers keep books about each process's stack, which two cannot share. */
#ifdef __has_feature
#define CHECKED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define CHECKED 1
#else
#define CHECKED 0
#endif

/* As vfork(), which cannot say where the child is born: to copy our memory for somebody who is
 * about to leave it was a tenth of a start.  We sleep until the child is the program, or has
 * ended; it uses our memory, and of our stack what lies below, and never comes back from here.
 * Where nobody has written this for the processor the memory is copied.  -errno. */
static pid_t clone_child(struct clone_args *args, const struct birth *b)
{
#if defined __x86_64__ && !CHECKED
    long rc;
    args->flags |= CLONE_VM | CLONE_VFORK;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "mov %[birth], %%rdi\n\t"
                     "lea -128(%%rsp), %%rsp\n\t" /* below the red zone of this function */
                     "and $-16, %%rsp\n\t"
                     "call *%[run]\n\t"
                     "hlt\n"
                     "1:"
                     : "=a"(rc)
                     : "0"((long)SYS_clone3), "D"(args), "S"(sizeof *args), [birth] "r"(b),
                       [run] "r"(child_run)
                     : "rcx", "r11", "cc", "memory");
    return (pid_t)rc;
#else
    long rc = syscall(SYS_clone3, args, sizeof *args);
    if (rc == 0)
        child_run(b);
    return rc < 0 ? -errno : (pid_t)rc;
#endif
}

/* In the group, or where there is none or no right to it anywhere: then the tree is ended by the
 * walk alone.  -errno. */
static pid_t bear(const struct birth *b, bool *ret_in_group)
{
    const struct cgroup *g = b->spawn->cgroup;
    struct clone_args args = {.exit_signal = SIGCHLD};
    *ret_in_group = g && cgroup_exists(g);
    if (*ret_in_group) {
        args.flags = CLONE_INTO_CGROUP;
        args.cgroup = (unsigned long long)g->fd;
        pid_t pid = clone_child(&args, b);
        if (pid >= 0)
            return pid;
        args = (struct clone_args){.exit_signal = SIGCHLD};
    }
    *ret_in_group = false;
    pid_t pid = clone_child(&args, b);
    if (pid >= 0)
        return pid;
    pid = fork(); /* no clone3() here: a sandbox, an old container */
    if (pid == 0)
        child_run(b);
    return pid < 0 ? -errno : pid;
}

int spawn_start(const struct spawn *s, struct spawned *ret)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return -errno;
    const struct birth birth = {.spawn = s, .parent = getpid(), .report = report[1]};
    char **before = environ;
    bool in_group;
    environ = (char **)(uintptr_t)s->envp; /* execvp() takes PATH from there */
    pid_t pid = bear(&birth, &in_group);
    environ = before;
    close(report[1]);
    if (pid < 0) {
        close(report[0]);
        return pid;
    }
    *ret = (struct spawned){.pid = pid, .report = report[0], .in_group = in_group};
    return 0;
}

int spawn_report(int report)
{
    int why;
    ssize_t n;
    do
        n = read(report, &why, sizeof why);
    while (n < 0 && errno == EINTR);
    close(report);
    return n == (ssize_t)sizeof why ? -why : 0;
}
