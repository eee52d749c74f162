#include "os/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "os/cgroup.h"
#include "os/clock.h"

struct finder {
    host_finding_fn *fn;
    void *arg;
};

static void find(const struct finder *f, bool fine, const char *good, const char *bad)
{
    f->fn(f->arg, fine, fine ? good : bad);
}

static bool file_holds(const char *path, const char *word)
{
    char text[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return false;
    text[n] = '\0';
    return strstr(text, word) != NULL;
}

static bool has_pidfd(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Of nothing that can be open. */
static bool has_close_range(void)
{
    return syscall(SYS_close_range, ~0U, ~0U, 0) == 0;
}

static bool has_boottime_timer(void)
{
    int fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool has_subreaper(void)
{
    int set = 0;
    return prctl(PR_GET_CHILD_SUBREAPER, &set) == 0;
}

static bool has_cgroup(void)
{
    struct cgroup g = CGROUP_NONE;
    if (cgroup_make(&g) < 0)
        return false;
    int rc = cgroup_remove(&g);
    cgroup_close(&g);
    return rc == 0;
}

static void find_clocks(const struct finder *f)
{
    char domain[CLOCK_DOMAIN_BYTES] = "";
    find(f, has_boottime_timer(),
         "CLOCK_BOOTTIME has timers: suspend counts, and no step of the wall clock does",
         "CLOCK_BOOTTIME has no timers: a suspended machine would wake up with live tenures");
    bool known = clock_domain(domain) == 0;
    find(f, known, "the boot id can be read: tokens stay ahead over a restart",
         "the boot id cannot be read: a restart of the machine cannot be told from none");
    if (known && strchr(domain, '+'))
        f->fn(f->arg, true,
              "a time namespace with an offset of its own: a store is shared only within it");
    int64_t error_ms;
    (void)clock_wall_bound(&error_ms);
    f->fn(f->arg, true,
          error_ms >= 0 ? "the kernel knows by how much the wall clock may be off: permits need it"
                        : "by how much the wall clock may be off is unknown: permits must be told");
    if (file_holds("/sys/power/state", "mem") || file_holds("/sys/power/state", "disk"))
        f->fn(f->arg, true, "this machine can be suspended: what is held then ends meanwhile");
}

void host_examine(host_finding_fn *fn, void *arg)
{
    struct finder f = {fn, arg};
    find(&f, has_subreaper(), "subreaper: daemons that detach stay in the command's tree",
         "no subreaper: daemons that detach get out of the command's tree");
    find(&f, has_pidfd(), "pidfd: only processes of the tree are ever signalled",
         "no pidfd: lock and lead cannot run commands here");
    find(&f, has_close_range(), "close_range: the guardian keeps nothing open that is not its own",
         "no close_range (Linux 5.10): lock and lead cannot run commands here");
    find(&f, access("/proc/self/stat", R_OK) == 0, "/proc is there: the tree can be seen",
         "no /proc: lock and lead cannot run commands here");
    fn(arg, true,
       has_cgroup() ? "cgroup v2 is writable: a tree of any size is killed in one call"
                    : "cgroup v2 is not writable: trees are killed process by process, which "
                      "takes longer for large ones");
    find_clocks(&f);
}
