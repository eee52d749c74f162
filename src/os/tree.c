#include "os/tree.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <unistd.h>

enum {
    TABLE_FIRST = 512,       /* processes; grows by doubling */
    DIRENT_BYTES = 16 * 1024,
    STOP_ROUNDS_MAX = 64,    /* a tree that still grows then is killed as it is, and again */
    TELL_ROUNDS_MAX = 16,    /* who forks faster than that is not told, but killed in the end */
};

int tree_open(struct tree *ret)
{
    struct tree t = {.proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (t.proc < 0)
        return -errno;
    char link[16];
    ssize_t n = readlinkat(t.proc, "self", link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    if (n <= 0 || atoi(link) != getpid()) {
        close(t.proc);
        return -ESRCH;
    }
    *ret = t;
    return 0;
}

int tree_open_again(const struct tree *of, struct tree *ret)
{
    *ret = (struct tree){.proc = openat(of->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    return ret->proc < 0 ? -errno : 0;
}

static void table_free(struct process_table *table)
{
    if (table->at)
        munmap(table->at, table->capacity * sizeof *table->at);
    *table = (struct process_table){0};
}

void tree_close(struct tree *t)
{
    table_free(&t->now);
    table_free(&t->before);
    close(t->proc);
    t->proc = -1;
}

/* Pages of our own instead of the heap, see the header. */
static int table_grow(struct process_table *table)
{
    size_t size = table->capacity * sizeof *table->at;
    size_t capacity = table->capacity ? table->capacity * 2 : TABLE_FIRST;
    void *at;
    if (table->at)
        at = mremap(table->at, size, capacity * sizeof *table->at, MREMAP_MAYMOVE);
    else
        at = mmap(NULL, capacity * sizeof *table->at, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return -errno;
    table->at = at;
    table->capacity = capacity;
    return 0;
}

/* The text after the name in parentheses, which may itself hold parentheses and blanks:
 * "S 1 ..." from field 3 on.  False when it is not a stat line. */
static bool stat_parse(char *line, struct process *ret)
{
    char *at = strrchr(line, ')');
    if (!at || at[1] != ' ' || at[2] == '\0')
        return false;
    char state = at[2];
    at += 3;
    int threads = 1;
    for (int field = 4; field <= 22; field++) {
        char *end;
        unsigned long long value = strtoull(at, &end, 10); /* negative ones are not ours */
        if (end == at)
            return false;
        at = end;
        if (field == 4)
            ret->parent = (pid_t)value;
        else if (field == 20)
            threads = (int)value;
        else if (field == 22)
            ret->id.start = value;
    }
    /* A leader that called pthread_exit() shows as a zombie while its other threads run. */
    ret->live = (state != 'Z' && state != 'X') || threads > 1;
    ret->stopped = state == 'T';
    ret->inside = false;
    return true;
}

int tree_process(const struct tree *t, pid_t pid, struct process *ret)
{
    char buf[1024];
    snprintf(buf, sizeof buf, "%d/stat", (int)pid);
    int fd = openat(t->proc, buf, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    ssize_t n = read(fd, buf, sizeof buf - 1);
    close(fd);
    if (n <= 0)
        return -ESRCH;
    buf[n] = '\0';
    struct process p = {.id = {.pid = pid}};
    if (!stat_parse(buf, &p))
        return -EPROTO;
    *ret = p;
    return 0;
}

int tree_process_signal(const struct tree *t, struct process_id id, int signo)
{
    assert(id.pid > 0);
    int fd = pidfd_open(id.pid, 0);
    if (fd < 0)
        return -errno;
    /* From here on the descriptor is one process, whoever gets the number later. */
    struct process p;
    int rc = tree_process(t, id.pid, &p);
    if (rc == 0 && p.id.start != id.start)
        rc = -ESRCH;
    if (rc == 0 && pidfd_send_signal(fd, signo, NULL, 0) != 0)
        rc = -errno;
    close(fd);
    return rc;
}

static struct process *table_find(const struct process_table *table, pid_t pid)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->at[middle].id.pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->count && table->at[low].id.pid == pid ? &table->at[low] : NULL;
}

static int table_add(struct process_table *table, const struct process *p)
{
    if (table->count == table->capacity) {
        int rc = table_grow(table);
        if (rc < 0)
            return rc;
    }
    table->at[table->count++] = *p;
    return 0;
}

/* Reads every process of the machine that /proc shows. */
static int table_read(struct tree *t)
{
    _Alignas(struct dirent64) char buf[DIRENT_BYTES];
    t->now.count = 0;
    if (lseek(t->proc, 0, SEEK_SET) < 0)
        return -errno;
    for (;;) {
        ssize_t n = getdents64(t->proc, buf, sizeof buf);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const void *)(buf + at);
            at += entry->d_reclen;
            struct process p;
            pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
            if (pid <= 0 || tree_process(t, pid, &p) < 0)
                continue; /* no process, or not any more */
            int rc = table_add(&t->now, &p);
            if (rc < 0)
                return rc;
        }
    }
}

static bool is_skipped(const struct tree_skip *skip, struct process_id id)
{
    for (size_t i = 0; skip && i < skip->count; i++)
        if (skip->at[i].pid == id.pid && skip->at[i].start == id.start)
            return true;
    return false;
}

/* A parent that ended while we read /proc is in no table, and its child would seem to be nobody's:
 * by now it has a new one. */
static void find_lost_parents(struct tree *t)
{
    for (size_t i = 0; i < t->now.count; i++) {
        struct process *p = &t->now.at[i], again;
        if (p->parent == 0 || table_find(&t->now, p->parent))
            continue;
        if (tree_process(t, p->id.pid, &again) == 0 && again.id.start == p->id.start)
            *p = again;
    }
}

/* Marks who is below root.  Parents mostly have the lower numbers, so two rounds are common. */
static void table_mark(struct process_table *table, pid_t root, const struct tree_skip *skip)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < table->count; i++) {
            struct process *p = &table->at[i];
            if (p->inside || p->id.pid == root || is_skipped(skip, p->id))
                continue;
            const struct process *parent = table_find(table, p->parent);
            if (p->parent == root || (parent && parent->inside))
                changed = p->inside = true;
        }
    }
}

int tree_scan(struct tree *t, pid_t root, const struct tree_skip *skip, struct tree_tally *ret)
{
    int rc = table_read(t);
    if (rc < 0)
        return rc;
    find_lost_parents(t);
    table_mark(&t->now, root, skip);
    struct tree_tally tally = {0};
    for (size_t i = 0; i < t->now.count; i++) {
        const struct process *p = &t->now.at[i];
        if (!p->inside)
            continue;
        tally.count++;
        if (p->live) {
            tally.live++;
            tally.live_pid = p->id.pid;
        }
    }
    *ret = tally;
    return 0;
}

/* Whether the scan before the last one found it already. */
static bool was_inside(const struct tree *t, const struct process *p)
{
    const struct process *known = table_find(&t->before, p->id.pid);
    return known && known->inside && known->id.start == p->id.start;
}

/* Signals those of the last scan that were not in the one before; returns how many that were.  A
 * zombie counts: it was listed before it was read, and may have forked in between. */
static size_t signal_new(struct tree *t, int signo, struct tree_tally *tally)
{
    size_t fresh = 0;
    for (size_t i = 0; i < t->now.count; i++) {
        const struct process *p = &t->now.at[i];
        if (!p->inside || was_inside(t, p))
            continue;
        fresh++;
        if (!p->live)
            continue;
        int rc = tree_process_signal(t, p->id, signo);
        if (rc == 0 && p->stopped && signo != SIGKILL && signo != SIGSTOP)
            rc = tree_process_signal(t, p->id, SIGCONT);
        if (rc == -EPERM)
            tally->denied++;
    }
    return fresh;
}

/* Scans and signals until a scan shows nobody new. */
static int signal_all(struct tree *t, pid_t root, const struct tree_skip *skip, int signo,
                      int rounds_max, struct tree_tally *ret)
{
    t->before.count = 0;
    for (int round = 1;; round++) {
        int rc = tree_scan(t, root, skip, ret);
        if (rc < 0)
            return rc;
        if (signal_new(t, signo, ret) == 0 || round == rounds_max)
            return 0;
        struct process_table swap = t->before;
        t->before = t->now;
        t->now = swap;
    }
}

int tree_tell(struct tree *t, pid_t root, const struct tree_skip *skip, int signo,
              struct tree_tally *ret)
{
    return signal_all(t, root, skip, signo, TELL_ROUNDS_MAX, ret);
}

int tree_kill(struct tree *t, pid_t root, const struct tree_skip *skip, struct tree_tally *ret)
{
    /* A stopped process cannot fork: nobody new means that everybody is stopped. */
    int rc = signal_all(t, root, skip, SIGSTOP, STOP_ROUNDS_MAX, ret);
    if (rc < 0)
        return rc;
    ret->denied = 0;
    t->before.count = 0;
    signal_new(t, SIGKILL, ret);
    return 0;
}
