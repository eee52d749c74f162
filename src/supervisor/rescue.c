#include "supervisor/rescue.h"

#include "os/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SKIP_MAX = 256,
    GROUP_WAIT_MS = 20, /* after cgroup.kill the walk is only needed for who left the group */
    WALK_WAIT_MS = 10,  /* and twice the last one: a walk takes time from those who are dying */
};

/* Without any child the scan of the machine is saved: the common case. */
static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) == 0 ||
           errno != ECHILD;
}

static int note_strangers(struct rescue *r)
{
    struct tree_tally tally;
    int rc = tree_scan(&r->tree, getpid(), NULL, &tally);
    if (rc < 0)
        return rc;
    r->strangers = calloc(tally.count + 1, sizeof *r->strangers);
    if (!r->strangers)
        return -ENOMEM;
    for (size_t i = 0; i < r->tree.now.count; i++) {
        const struct process *p = &r->tree.now.at[i];
        if (p->inside && p->parent == getpid())
            r->strangers[r->stranger_count++] = p->id;
    }
    return 0;
}

int rescue_open(struct rescue *ret)
{
    struct rescue r = {0};
    int rc = tree_open(&r.tree);
    if (rc < 0)
        return rc;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        rc = -errno;
    if (rc == 0 && has_children())
        rc = note_strangers(&r);
    if (rc < 0) {
        rescue_close(&r);
        return rc;
    }
    *ret = r;
    return 0;
}

void rescue_close(struct rescue *r)
{
    tree_close(&r->tree);
    free(r->strangers);
    r->strangers = NULL;
    r->stranger_count = 0;
}

void rescue_tell(struct rescue *r, pid_t guardian, int signo)
{
    struct tree_tally tally;
    int rc = tree_tell(&r->tree, guardian, NULL, signo, &tally);
    (void)rc; /* who was not told is killed in the end */
}

void rescue_kill_below(struct rescue *r, pid_t guardian, const struct cgroup *group,
                       struct tree_tally *ret)
{
    int rc = cgroup_kill(group);
    (void)rc; /* the walk does without */
    struct tree_tally tally = {.live = 1}; /* when nothing can be seen, somebody may be there */
    rc = tree_kill(&r->tree, guardian, NULL, &tally);
    (void)rc;
    *ret = tally;
}

/* Reaps the zombies among our own new children. */
static void reap_orphans(struct rescue *r, struct leash *leash)
{
    for (size_t i = 0; i < r->tree.now.count; i++) {
        const struct process *p = &r->tree.now.at[i];
        if (!p->inside || p->parent != getpid())
            continue;
        int status;
        if (waitpid(p->id.pid, &status, WNOHANG) == p->id.pid &&
            p->id.pid == atomic_load(&leash->command))
            leash_note_end(leash, status, false);
    }
}

/* All children are orphans of the tree: true when none is left, which proves that it is gone. */
static bool reap_all(struct leash *leash)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid == 0)
            return false;
        if (pid < 0 && errno == ECHILD)
            return true;
        if (pid > 0 && pid == atomic_load(&leash->command))
            leash_note_end(leash, status, false);
    }
}

/* True when nobody is left as far as scans can tell. */
static bool walk_orphans(struct rescue *r, const struct tree_skip *skip, struct leash *leash,
                         struct instant now)
{
    struct tree_tally tally;
    int rc = tree_kill(&r->tree, getpid(), skip, &tally);
    if (rc == 0) {
        reap_orphans(r, leash);
        r->clear_scans = tally.count == 0 ? r->clear_scans + 1 : 0;
    }
    struct instant end = clock_now();
    r->walk_at = instant_add(end, SPAN(WALK_WAIT_MS + 2 * instant_diff(now, end).ms));
    return r->clear_scans >= 2;
}

bool rescue_kill_orphans(struct rescue *r, const struct tree_skip *others,
                         const struct cgroup *group, struct leash *leash)
{
    struct process_id skipped[SKIP_MAX];
    size_t n = 0;
    for (size_t i = 0; i < others->count && n < SKIP_MAX; i++)
        skipped[n++] = others->at[i];
    for (size_t i = 0; i < r->stranger_count && n < SKIP_MAX; i++)
        skipped[n++] = r->strangers[i];
    const struct tree_skip skip = {.at = skipped, .count = n};

    struct instant now = clock_now();
    if (r->walk_at.ms == 0) { /* the first time */
        bool by_group = cgroup_exists(group) && cgroup_kill(group) == 0;
        r->walk_at = instant_add(now, SPAN(by_group ? GROUP_WAIT_MS : 0));
    }
    if (n == 0 && reap_all(leash))
        return true;
    return instant_reached(now, r->walk_at) && walk_orphans(r, &skip, leash, now);
}
