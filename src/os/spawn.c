#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdint.h>

#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Like fork(), but born in the group.  Without clone3 or the right to it: a plain fork(), and
 * the tree is ended by the walk alone. */
static pid_t fork_into(const struct cgroup *g, bool *ret_in_group)
{
    *ret_in_group = true;
    if (g && cgroup_exists(g)) {
        struct clone_args args = {
            .flags = CLONE_INTO_CGROUP,
            .exit_signal = SIGCHLD,
            .cgroup = (unsigned long long)g->fd,
        };
        long pid = syscall(SYS_clone3, &args, sizeof args);
        if (pid >= 0)
            return (pid_t)pid;
    }
    *ret_in_group = false;
    return fork();
}

static int step_aside(void)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0)
        return -errno;
    if (dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return -errno;
    return 0;
}

/* The child.  Returns the errno that kept it from becoming the program. */
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
    environ = (char **)(uintptr_t)s->envp; /* execvp() takes PATH from there */
    signals_restore(s->signals);
    execvp(s->argv[0], s->argv);
    return errno;
}

int spawn_start(const struct spawn *s, struct spawned *ret)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return -errno;
    pid_t parent = getpid();
    bool in_group;
    pid_t pid = fork_into(s->cgroup, &in_group);
    if (pid < 0) {
        int saved = errno;
        close(report[0]);
        close(report[1]);
        return -saved;
    }
    if (pid == 0) {
        int why = become(s, parent);
        ssize_t n = write(report[1], &why, sizeof why);
        (void)n; /* nobody reads any more: then nobody needs to know */
        _exit(why == ENOENT ? 127 : 126);
    }
    close(report[1]);
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
