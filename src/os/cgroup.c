#include "os/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

enum {
    NAME_TRIES = 16,
    NEST_MAX = 8, /* supervisors within supervisors whose groups are cleared in one go */
    DIR_MODE = 0755,
    STALE_S = 10, /* a group that is empty for so long is nobody's */
};

/* Our own group as a path in the v2 hierarchy ("0::/path"), or false. */
static bool own_path(char *buf, size_t cap)
{
    char text[PATH_MAX + 1024];
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    for (char *line = text; line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        if (strncmp(line, "0::/", 4) == 0) {
            /* "/.." is outside of our cgroup namespace: nothing there is ours. */
            size_t length = strlen(line + 3);
            if (length >= cap || strncmp(line + 3, "/..", 3) == 0)
                return false;
            memcpy(buf, line + 3, length + 1);
            return true;
        }
        line = end ? end + 1 : NULL;
    }
    return false;
}

/* Opens our own group. */
static int own_open(void)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char path[PATH_MAX];
    if (!own_path(path, sizeof path))
        return -ENOENT;
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        struct statfs fs;
        if (statfs(mounts[i], &fs) != 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
            continue;
        char full[PATH_MAX + 32];
        snprintf(full, sizeof full, "%s%s", mounts[i], path);
        int fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
    }
    return -ENOENT;
}

/* Removes the group `name` and groups like it below.  rmdir() refuses one that has processes. */
static int remove_nested(int parent, const char *name, int depth)
{
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno != EBUSY || depth == NEST_MAX)
        return -errno;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int saved = errno;
        close(fd);
        return -saved;
    }
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, "tenure-", 7) == 0)
            remove_nested(fd, entry->d_name, depth + 1);
    closedir(dir);
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}

/* Whether it was made long ago; by the wall clock, which decides nothing but tidiness. */
static bool is_old(int parent, const char *name)
{
    struct stat st;
    return fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           time(NULL) - st.st_mtime > STALE_S;
}

/* When supervisor and guardian are killed at once nobody removes their group.  The number in its
 * name is of their PID namespace: here it can be missing, or somebody else's for ever, as 1 is.  So
 * an old one may go as well; none that has processes does.  A supervisor whose group was empty
 * and went too does without. */
void cgroup_clear(const struct cgroup *g)
{
    if (!cgroup_exists(g))
        return;
    int fd = openat(g->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        int pid, serial;
        if (sscanf(entry->d_name, "tenure-%d-%d", &pid, &serial) != 2 || pid <= 0)
            continue;
        if ((kill(pid, 0) != 0 && errno == ESRCH) || is_old(g->parent, entry->d_name))
            remove_nested(g->parent, entry->d_name, 0);
    }
    closedir(dir);
}

static int open_parts(struct cgroup *g)
{
    g->fd = openat(g->parent, g->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (g->fd < 0)
        return -errno;
    g->kill = openat(g->fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
    return g->kill < 0 ? -errno : 0; /* ENOENT: older than Linux 5.14 */
}

int cgroup_make(struct cgroup *ret)
{
    struct cgroup g = CGROUP_NONE;
    g.parent = own_open();
    if (g.parent < 0)
        return g.parent;
    int rc = -EEXIST;
    for (int n = 1; n <= NAME_TRIES && rc == -EEXIST; n++) {
        snprintf(g.name, sizeof g.name, "tenure-%d-%d", (int)getpid(), n);
        rc = mkdirat(g.parent, g.name, DIR_MODE) == 0 ? 0 : -errno;
    }
    if (rc == 0) {
        rc = open_parts(&g);
        if (rc < 0)
            unlinkat(g.parent, g.name, AT_REMOVEDIR);
    }
    if (rc < 0) {
        cgroup_close(&g);
        return rc;
    }
    *ret = g;
    return 0;
}

int cgroup_kill(const struct cgroup *g)
{
    if (!cgroup_exists(g))
        return 0;
    return write(g->kill, "1", 1) == 1 ? 0 : -errno;
}

int cgroup_remove(const struct cgroup *g)
{
    return cgroup_exists(g) ? remove_nested(g->parent, g->name, 0) : 0;
}

void cgroup_close(struct cgroup *g)
{
    int fds[] = {g->parent, g->fd, g->kill};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    *g = CGROUP_NONE;
}
