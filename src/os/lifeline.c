#include "os/lifeline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/fail.h"

/* The other end of somebody's FIFO. */
struct end {
    uint64_t id; /* 0: free */
    uint64_t used;
    int fd;
};

struct lifelines {
    int dir;
    struct rights rights; /* of our FIFO */
    uint64_t own;
    int own_fd;
    uint64_t tick;
    struct end end[LIFELINES_CACHED];
};

#define NAME_BYTES 17
static void name_of(uint64_t id, char buf[NAME_BYTES])
{
    snprintf(buf, NAME_BYTES, "%016" PRIx64, id);
}

/* ---- the directory -------------------------------------------------------------------------- */

int lifelines_open(const char *dir, const struct rights *file, struct lifelines **ret,
                   tenure_error *err)
{
    const struct rights rights = rights_of_directory(file);
    int e = access(dir, F_OK) == 0 ? EEXIST : rights_make_directory(dir, &rights);
    if (e != 0 && e != EEXIST)
        return fail_errno(err, e, "the directory %s cannot be made", dir);
    struct lifelines *l = calloc(1, sizeof *l);
    if (!l)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    l->own_fd = -1;
    l->rights = *file;
    l->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (l->dir < 0) {
        e = errno;
        free(l);
        return fail_errno(err, e, "the directory %s cannot be opened", dir);
    }
    *ret = l;
    return 0;
}

void lifelines_forked(struct lifelines *l)
{
    for (size_t i = 0; i < LIFELINES_CACHED; i++) {
        if (l->end[i].id != 0)
            close(l->end[i].fd);
        l->end[i].id = 0;
    }
    if (l->own_fd >= 0)
        close(l->own_fd);
    if (l->dir >= 0)
        close(l->dir);
    l->own_fd = -1;
    l->dir = -1;
    l->own = 0;
}

struct lifelines *lifelines_close(struct lifelines *l)
{
    if (l) {
        lifelines_forked(l);
        free(l);
    }
    return NULL;
}

int lifelines_list(struct lifelines *l, void (*fn)(void *arg, uint64_t id), void *arg)
{
    int fd = openat(l->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        int e = errno;
        if (fd >= 0)
            close(fd);
        return e;
    }
    int e = 0;
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(d);
        if (!entry) {
            e = errno;
            break;
        }
        char *rest, name[NAME_BYTES];
        uint64_t id = strtoull(entry->d_name, &rest, 16);
        name_of(id, name);
        if (id != 0 && strcmp(name, entry->d_name) == 0)
            fn(arg, id);
    }
    closedir(d);
    return e;
}

/* ---- our own -------------------------------------------------------------------------------- */

void lifelines_drop(struct lifelines *l)
{
    if (l->own_fd >= 0)
        close(l->own_fd);
    l->own_fd = -1;
    l->own = 0;
}

/* 0 and *ret, or an errno. */
static int make_fifo(struct lifelines *l, const char *name, int *ret)
{
    int n = mkfifoat(l->dir, name, 0600);
    if (n != 0 && errno == EEXIST && unlinkat(l->dir, name, 0) == 0)
        n = mkfifoat(l->dir, name, 0600);
    if (n != 0)
        return errno;
    int fd = openat(l->dir, name, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    int e = fd < 0 ? errno : 0;
    if (e == 0)
        e = rights_give_open(fd, &l->rights);
    if (e != 0) {
        if (fd >= 0)
            close(fd);
        unlinkat(l->dir, name, 0);
        return e;
    }
    *ret = fd;
    return 0;
}

int lifelines_hold(struct lifelines *l, uint64_t id, tenure_error *err)
{
    char name[NAME_BYTES];
    int fd = -1;
    name_of(id, name);
    int e = make_fifo(l, name, &fd);
    if (e != 0)
        return fail_errno(err, e, "the session's FIFO %s cannot be made", name);
    lifelines_drop(l);
    l->own = id;
    l->own_fd = fd;
    return 0;
}

uint64_t lifelines_own(const struct lifelines *l)
{
    return l->own;
}

int lifelines_own_fd(const struct lifelines *l)
{
    return l->own_fd;
}

bool lifelines_own_intact(const struct lifelines *l)
{
    char name[NAME_BYTES];
    struct stat ours, found;
    if (l->own_fd < 0)
        return false;
    name_of(l->own, name);
    return fstat(l->own_fd, &ours) == 0 &&
           fstatat(l->dir, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == found.st_dev && ours.st_ino == found.st_ino;
}

size_t lifelines_drain(struct lifelines *l, uint64_t *hint, size_t cap)
{
    if (l->own_fd < 0)
        return 0;
    ssize_t n;
    do {
        n = read(l->own_fd, hint, cap * sizeof *hint);
    } while (n < 0 && errno == EINTR);
    return n < 0 ? 0 : (size_t)n / sizeof *hint; /* writes of 8 bytes are never torn */
}

/* ---- others --------------------------------------------------------------------------------- */

static enum lifeline_state poll_end(int fd)
{
    struct pollfd p = {.fd = fd, .events = 0};
    int n;
    do {
        n = poll(&p, 1, 0);
    } while (n < 0 && errno == EINTR);
    return n > 0 && (p.revents & POLLERR) ? LIFELINE_ENDED : LIFELINE_RUNS;
}

int lifelines_watch(struct lifelines *l, uint64_t id, enum lifeline_state *ret_state)
{
    char name[NAME_BYTES];
    struct stat st;
    name_of(id, name);
    int fd = openat(l->dir, name, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        *ret_state = errno == ENXIO ? LIFELINE_ENDED : LIFELINE_UNKNOWN;
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode)) {
        close(fd);
        *ret_state = LIFELINE_UNKNOWN; /* not one of ours: never write to it */
        return -1;
    }
    *ret_state = LIFELINE_RUNS;
    return fd;
}

static void end_close(struct end *e)
{
    if (e->id != 0)
        close(e->fd);
    e->id = 0;
    e->used = 0;
}

/* The cached end of a session, opened if need be; NULL when it cannot be, and *ret_state says
 * why. */
static struct end *end_of(struct lifelines *l, uint64_t id, enum lifeline_state *ret_state)
{
    struct end *oldest = &l->end[0];
    for (struct end *e = l->end; e < l->end + LIFELINES_CACHED; e++) {
        if (e->id == id) {
            e->used = ++l->tick;
            return e;
        }
        if (e->used < oldest->used)
            oldest = e;
    }
    int fd = lifelines_watch(l, id, ret_state);
    if (fd < 0)
        return NULL;
    end_close(oldest);
    *oldest = (struct end){.id = id, .used = ++l->tick, .fd = fd};
    return oldest;
}

enum lifeline_state lifelines_ask(struct lifelines *l, uint64_t id)
{
    enum lifeline_state state;
    if (id == l->own && l->own_fd >= 0)
        return LIFELINE_RUNS;
    struct end *e = end_of(l, id, &state);
    if (!e)
        return state;
    state = poll_end(e->fd);
    if (state == LIFELINE_ENDED)
        end_close(e);
    return state;
}

void lifelines_bury(struct lifelines *l, uint64_t id)
{
    char name[NAME_BYTES];
    for (struct end *e = l->end; e < l->end + LIFELINES_CACHED; e++) {
        if (e->id == id)
            end_close(e);
    }
    name_of(id, name);
    unlinkat(l->dir, name, 0); /* somebody else may have been faster */
}

/* ---- bells ---------------------------------------------------------------------------------- */

/* Writing to a FIFO whose reader has ended raises SIGPIPE in this thread.  It is held back for
 * the time of the writes and taken away, unless one was pending before: that one is not ours. */
struct quiet {
    sigset_t before;
    bool pending;
};

static bool quiet_begin(struct quiet *q)
{
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (pthread_sigmask(SIG_BLOCK, &pipe, &q->before) != 0)
        return false;
    q->pending = false;
    if (sigismember(&q->before, SIGPIPE) == 1 && sigpending(&pending) == 0)
        q->pending = sigismember(&pending, SIGPIPE) == 1;
    return true;
}

static void quiet_end(struct quiet *q, bool broke)
{
    if (broke && !q->pending) {
        sigset_t pipe;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        int n;
        do {
            n = sigtimedwait(&pipe, NULL, &(struct timespec){0});
        } while (n < 0 && errno == EINTR);
    }
    pthread_sigmask(SIG_SETMASK, &q->before, NULL);
}

/* Returns false when the reader has ended. */
static bool ring_one(struct lifelines *l, uint64_t id, uint64_t hint)
{
    enum lifeline_state state;
    ssize_t n;
    struct end *e = NULL;
    bool ours = id == l->own && l->own_fd >= 0;
    if (!ours) {
        e = end_of(l, id, &state);
        if (!e)
            return true;
    }
    do {
        n = write(ours ? l->own_fd : e->fd, &hint, sizeof hint);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EPIPE && e) {
        end_close(e);
        return false;
    }
    return true; /* also when it is full: then there are hints enough to wake it up */
}

void lifelines_ring(struct lifelines *l, const uint64_t *id, uint32_t count, uint64_t hint)
{
    struct quiet q;
    bool broke = false;
    if (count == 0 || !quiet_begin(&q))
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (!ring_one(l, id[i], hint))
            broke = true;
    }
    quiet_end(&q, broke);
}
