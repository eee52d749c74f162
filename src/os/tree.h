/* os/tree.h - the processes below a process, and how to end them.
 *
 * A tree is what the kernel's parent links say at the moment of a scan of /proc.  Below a
 * subreaper (prctl PR_SET_CHILD_SUBREAPER) nothing gets out of it: a daemon that forks twice
 * and calls setsid() is handed to the subreaper, never past it.  So a subreaper that has no
 * children left (waitid: ECHILD) has no tree left; that, not a scan, proves that it is gone.
 *
 * A scan is not a photograph: what forks or ends meanwhile can be missed.  It is good for
 * finding whom to signal, again and again until the proof above.
 *
 * Never: a signal to a process that only has the number of one that was seen.  A process is
 * named by number and start time, and is signalled through a pidfd that was checked for both.
 *
 * Nothing here allocates from the heap: a guardian uses it after fork() of a threaded process.
 * One thread at a time per tree.
 */
#ifndef OS_TREE_H
#define OS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A process, unique until the machine restarts. */
struct process_id {
    pid_t pid;      /* 0: none */
    uint64_t start; /* clock ticks since boot, /proc/PID/stat field 22 */
};

struct process {
    struct process_id id;
    pid_t parent;
    bool live;   /* at least one thread of it can still run code */
    bool stopped; /* by a signal */
    bool inside; /* it belongs to the tree that was scanned for */
};

struct process_table {
    struct process *at; /* in the order of /proc: ascending */
    size_t count, capacity;
};

struct tree {
    int proc;                    /* /proc, so that a change of root does not matter */
    struct process_table now;    /* the last scan */
    struct process_table before; /* the one before it */
};

/* Processes that are not part of the tree, with all below them. */
struct tree_skip {
    const struct process_id *at;
    size_t count;
};

/* What a pass found. */
struct tree_tally {
    size_t count;      /* processes in the tree, zombies included */
    size_t live;       /* those that can still run code */
    size_t denied;     /* those that may not be signalled (they changed their user) */
    pid_t live_pid;    /* one of the live, 0 when there is none */
};

/* Opens /proc.  -errno; -ENOENT or -ESRCH when there is none, or one of other PID namespace, so
 * that no tree can be seen. */
int tree_open(struct tree *ret);

/* In a child of who has opened `of`: the same /proc, with a place of its own in the listing, which
 * two processes would take from each other.  -errno. */
int tree_open_again(const struct tree *of, struct tree *ret);
void tree_close(struct tree *t);

/* Reads one process: 0, or -ESRCH. */
int tree_process(const struct tree *t, pid_t pid, struct process *ret);

/* Sends `signo` to exactly this process: 0, -ESRCH when it is no more, -EPERM. */
int tree_process_signal(const struct tree *t, struct process_id id, int signo);

/* Finds all below `root`, root excluded.  `skip` may be NULL.  0 or -errno. */
int tree_scan(struct tree *t, pid_t root, const struct tree_skip *skip, struct tree_tally *ret);

/* Sends `signo` once to each of them, until a scan shows nobody new, and SIGCONT after it to those
 * that were stopped, so that they can act on it.  0 or -errno. */
int tree_tell(struct tree *t, pid_t root, const struct tree_skip *skip, int signo,
              struct tree_tally *ret);

/* One pass of ending the tree: stops everybody until a scan shows nobody new, so that no process
 * sees another one die and goes on to its next command; then kills all.  The caller reaps and
 * repeats it until the tree is gone.  0 or -errno. */
int tree_kill(struct tree *t, pid_t root, const struct tree_skip *skip, struct tree_tally *ret);

#endif
