/* supervisor/rescue.h - what the supervisor does when the guardian does not.
 *
 * While the guardian lives but is late (stopped, starved) the tree below it is ended from here.
 * When it was killed, the kernel has handed its orphans to us, the next subreaper, and they are
 * ended and reaped here.  Children that are not the guardian's are known beforehand (the program
 * that became us may have had some) and are left alone, with all below them.
 */
#ifndef SUPERVISOR_RESCUE_H
#define SUPERVISOR_RESCUE_H

#include "core/time.h"
#include "os/cgroup.h"
#include "os/tree.h"
#include "supervisor/leash.h"

struct rescue {
    struct tree tree;
    struct process_id *strangers; /* heap; children that are not ours to end */
    size_t stranger_count;
    struct instant walk_at;       /* when the next walk over orphans is due */
    int clear_scans;              /* in a row that found nobody */
};

/* Becomes the subreaper and notes the children that exist already: before the fork of the
 * guardian.  -errno. */
int rescue_open(struct rescue *ret);
void rescue_close(struct rescue *r);

/* Tells all below the guardian to stop. */
void rescue_tell(struct rescue *r, pid_t guardian, int signo);

/* One pass of killing below a guardian that lives.  The tally says who was there. */
void rescue_kill_below(struct rescue *r, pid_t guardian, const struct cgroup *group,
                       struct tree_tally *ret);

/* Kills and reaps what a dead guardian left; to be called every few milliseconds until it returns
 * true: the tree is gone.  `others` are guardians that live. */
bool rescue_kill_orphans(struct rescue *r, const struct tree_skip *others,
                         const struct cgroup *group, struct leash *leash);

#endif
