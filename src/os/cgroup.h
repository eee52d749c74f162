/* os/cgroup.h - a control group (v2) for one tree of processes, where the machine lets us.
 *
 * cgroup.kill ends every process in the group in one system call, however fast they fork, and
 * the group knows its processes also when their guardian is dead.  It is the fast way, never
 * the only one: where the file system is not writable (containers, ordinary users) there is no
 * group and os/tree does the work alone; and a process may move out of it.
 *
 * The group is a child of our own and enables no controller: limits and accounting of the
 * parent hold for the tree as before.
 *
 * Only the two usual places of the v2 hierarchy are looked at, each checked with statfs(): on a
 * hybrid machine /sys/fs/cgroup is a tmpfs in which mkdir() "succeeds" and nothing is a group.
 */
#ifndef OS_CGROUP_H
#define OS_CGROUP_H

#include <stdbool.h>

struct cgroup {
    int parent;    /* descriptor of our own group; -1: there is no group */
    int fd;        /* descriptor of the new one, for CLONE_INTO_CGROUP */
    int kill;      /* its cgroup.kill, opened while descriptors can be had */
    char name[48]; /* "tenure-PID-N" in parent */
};

#define CGROUP_NONE ((struct cgroup){.parent = -1, .fd = -1, .kill = -1})

static inline bool cgroup_exists(const struct cgroup *g)
{
    return g->fd >= 0;
}

/* Makes an empty group.  0, or -errno: then go on without. */
int cgroup_make(struct cgroup *ret);

/* Clears away empty ones that dead supervisors left beside it; when nobody waits for us. */
void cgroup_clear(const struct cgroup *g);

/* SIGKILL to every process in it and in groups below it.  0 or -errno; 0 when there is no group. */
int cgroup_kill(const struct cgroup *g);

/* Removes the group, with those below it, unless somebody lives in it: 0 or -errno (-EBUSY). */
int cgroup_remove(const struct cgroup *g);

/* Closes the descriptors and leaves the group. */
void cgroup_close(struct cgroup *g);

#endif
