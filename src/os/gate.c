#include "os/gate.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/fail.h"
#include "os/pages.h"

static_assert(sizeof(struct gate_page) <= GATE_PAGE_BYTES, "the page has room for its struct");
static_assert(sizeof(_Atomic uint32_t) == 4 && ATOMIC_INT_LOCK_FREE == 2,
              "a futex word is a plain int");

#define SPINS 1000 /* some tens of microseconds */

/* So many entries within AT_ONCE_NS of the last departure are a streak.  When it ends without our
 * being back, those who sleep find out with their slice. */
#define STREAK 4
#define AT_ONCE_NS 100000

/* How long it is believed that the gate file is still the one that others find. */
#define PLACE_MS 20

/* Written to by whoever comes to do one thing: the page, and the beginning of the room. */
#define FILL_BYTES (3 * (size_t)GATE_PAGE_BYTES)

struct gate {
    int fd;
    bool inside;
    int64_t left_ns;       /* when we left for the last time */
    unsigned streak;       /* how many times in a row we then came back at once */
    bool yields;           /* not again before somebody else was inside */
    struct instant burst;  /* since when nobody else was */
    uint32_t slot;         /* byte 1 + slot of the file is locked by us */
    struct instant placed; /* when the file was last seen in its place */
    uint64_t file;         /* which one it is: identify() */
    pid_t pid;
    char comm[16];
    size_t bytes; /* of page and room */
    struct gate_page *page;
    char path[];
};

struct gate_page *gate_page(const struct gate *g)
{
    return g->page;
}

void *gate_room(const struct gate *g)
{
    return g->page ? (char *)g->page + GATE_PAGE_BYTES : NULL;
}

/* A number above 0 that no other open gate of this file has. */
static uint32_t user_of(const struct gate *g)
{
    return g->slot + 1;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* An OFD lock of one byte of the file: 0, or an errno. */
static int lock(int fd, off_t byte, int command)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int n;
    do {
        n = fcntl(fd, command, &l);
    } while (n != 0 && errno == EINTR);
    return n == 0 ? 0 : errno;
}

static void unlock(int fd, off_t byte)
{
    struct flock l = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int n = fcntl(fd, F_OFD_SETLK, &l);
    assert(n == 0);
}

static int open_file(const char *path, const struct rights *rights, int *ret)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        int e = rights_make_file(path, rights);
        if (e != 0 && e != EEXIST) /* somebody else was faster */
            return e;
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    }
    if (fd < 0)
        return errno;
    *ret = fd;
    return 0;
}

/* What tells our file from all others: its inode, and when that was born, since the number of one
 * that was removed is soon given to another one.  0 when nobody knows. */
static uint64_t identify(int fd)
{
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) != 0)
        return 0;
    uint64_t born = 0;
    if (st.stx_mask & STATX_BTIME)
        born = (uint64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
    return st.stx_ino * UINT64_C(0x9e3779b97f4a7c15) ^ born;
}

/* Of a version before.  The first one did not ask in which file it is, the second for its inode. */
static void page_upgrade(struct gate *g, uint64_t ino)
{
    struct gate_page *p = g->page;
    if (p->version == 1 || p->file == ino)
        p->file = g->file;
    p->version = GATE_VERSION;
}

/* Fills the page of a new file; leaves an old one as it is.  Entered. */
static int page_prepare(struct gate *g, uint64_t ino, tenure_error *err)
{
    static const char none[8];
    struct gate_page *p = g->page;
    if (memcmp(p->magic, none, sizeof none) == 0) {
        p->version = GATE_VERSION;
        p->file = g->file;
        memcpy(p->magic, GATE_MAGIC, sizeof p->magic);
        return 0;
    }
    if (memcmp(p->magic, GATE_MAGIC, sizeof p->magic) != 0)
        return fail(err, TENURE_FOREIGN, "%s is not a gate of tenure", g->path);
    if (p->version >= 1 && p->version < GATE_VERSION) {
        if (!gate_is_alone(g))
            return fail(err, TENURE_FOREIGN, "%s is in use by an older tenure; stop the programs "
                                             "that use it first", g->path);
        page_upgrade(g, ino);
    }
    if (p->version != GATE_VERSION)
        return fail(err, TENURE_FOREIGN, "%s has version %u; this tenure knows version %d",
                    g->path, p->version, GATE_VERSION);
    return 0;
}

static int page_map(struct gate *g, tenure_error *err)
{
    struct stat st;
    int e = lock(g->fd, 0, F_OFD_SETLKW); /* held for microseconds while it is made */
    if (e != 0)
        return fail_errno(err, e, "%s cannot be locked", g->path);
    if (fstat(g->fd, &st) != 0)
        return fail_errno(err, errno, "%s", g->path);
    g->file = identify(g->fd);
    if (st.st_size < (off_t)g->bytes) {
        e = posix_fallocate(g->fd, 0, (off_t)g->bytes);
        if (e != 0)
            return fail_errno(err, e, "no room for %s", g->path);
    }
    void *at = mmap(NULL, g->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, g->fd, 0);
    if (at == MAP_FAILED)
        return fail_errno(err, errno, "%s cannot be mapped", g->path);
    g->page = at;
    int code = page_prepare(g, st.st_ino, err);
    if (code == 0)
        pages_fill(at, g->bytes < FILL_BYTES ? g->bytes : FILL_BYTES);
    return code;
}

/* Finds a slot that nobody holds.  If its last owner died inside, its place is cleared. */
static int take_slot(struct gate *g, tenure_error *err)
{
    struct gate_page *p = g->page;
    for (int tries = 0; tries < GATE_SLOTS; tries++) {
        g->slot = atomic_fetch_add(&p->next_slot, 1) % GATE_SLOTS;
        int e = lock(g->fd, 1 + (off_t)g->slot, F_OFD_SETLK);
        if (e == 0) {
            uint32_t stale = user_of(g);
            atomic_compare_exchange_strong(&p->inside, &stale, 0);
            return 0;
        }
        if (e != EAGAIN && e != EACCES)
            return fail_errno(err, e, "%s cannot be locked", g->path);
    }
    return fail(err, TENURE_BUSY, "%s has %d users: no more can open it", g->path, GATE_SLOTS);
}

int gate_open(const char *path, const struct rights *rights, size_t room, struct gate **ret,
              tenure_error *err)
{
    size_t len = strlen(path) + 1;
    struct gate *g = calloc(1, sizeof *g + len);
    if (!g)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    memcpy(g->path, path, len);
    g->bytes = GATE_PAGE_BYTES + room;
    g->pid = getpid();
    if (prctl(PR_GET_NAME, g->comm) != 0)
        g->comm[0] = '\0';
    int e = open_file(path, rights, &g->fd);
    if (e != 0) {
        free(g);
        if (e == EACCES && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0)
            return fail(err, TENURE_READ_ONLY, "%s may be read, but not written to", path);
        return fail_errno(err, e, "%s cannot be opened for writing", path);
    }
    int code = page_map(g, err);
    if (code == 0)
        code = take_slot(g, err);
    if (code < 0) {
        gate_close(g);
        return code;
    }
    unlock(g->fd, 0);
    *ret = g;
    return 0;
}

struct gate *gate_close(struct gate *g)
{
    if (!g)
        return NULL;
    if (g->inside)
        gate_leave(g);
    gate_forked(g);
    free(g);
    return NULL;
}

void gate_forked(struct gate *g)
{
    if (g->page)
        munmap(g->page, g->bytes);
    if (g->fd >= 0)
        close(g->fd);
    g->page = NULL;
    g->fd = -1;
    g->inside = false;
}

/* ---- entering ------------------------------------------------------------------------------- */

/* Sleeps for a slice, unless a wake-up came since `seen`.  Returns whether it was woken. */
static bool sleep_on(struct gate_page *p, uint32_t seen, int64_t slice_ms)
{
    struct timespec t = {.tv_nsec = slice_ms * 1000000};
    /* Shared, not private: the word is in a file. */
    long n = syscall(SYS_futex, &p->wakes, FUTEX_WAIT, seen, &t, NULL, 0);
    if (n == 0 || errno != ETIMEDOUT)
        return true;
    atomic_store(&p->woken, 0); /* whoever was woken may have died */
    return false;
}

/* The state letter of a process of our PID namespace, if it is the one named comm; else 0. */
static char process_state(int pid, const char *comm)
{
    char path[32], line[128];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    if (n <= 0)
        return 0;
    line[n] = '\0';
    char *left = strchr(line, '('), *right = strrchr(line, ')');
    if (!left || !right || right <= left || right[1] != ' ')
        return 0;
    *right = '\0';
    return strcmp(left + 1, comm) == 0 ? right[2] : 0;
}

static int busy(struct gate *g, int64_t waited_ms, tenure_error *err)
{
    char comm[sizeof g->page->owner_comm + 1] = "";
    int pid = atomic_load(&g->page->owner_pid);
    memcpy(comm, g->page->owner_comm, sizeof g->page->owner_comm);
    if (pid == 0)
        return fail(err, TENURE_BUSY, "%s was shut for %lld ms", g->path, (long long)waited_ms);
    const char *state = process_state(pid, comm) == 'T' ? ", which is stopped: continue or kill it"
                                                        : "";
    return fail(err, TENURE_BUSY, "%s was shut for %lld ms, by process %d (%s)%s", g->path,
                (long long)waited_ms, pid, comm, state);
}

bool gate_is_in_place(const struct gate *g)
{
    struct stat st;
    return fstat(g->fd, &st) == 0 && st.st_nlink > 0;
}

/* The same, asked now and then. */
static bool is_in_place(struct gate *g)
{
    struct instant now = clock_now();
    if (instant_diff(g->placed, now).ms < PLACE_MS)
        return true;
    if (!gate_is_in_place(g))
        return false; /* and the next one looks again */
    g->placed = now;
    return true;
}

static int come_in(struct gate *g, bool slept, tenure_error *err)
{
    struct gate_page *p = g->page;
    g->streak = !slept && clock_fine_ns() - g->left_ns < AT_ONCE_NS ? g->streak + 1 : 0;
    g->inside = true;
    if (slept)
        atomic_store(&p->woken, 0);
    if (atomic_exchange(&p->last, user_of(g)) != user_of(g) || slept) /* nobody wanted our turn */
        g->burst = clock_now();
    g->yields = false;
    memcpy(p->owner_comm, g->comm, sizeof p->owner_comm);
    atomic_store_explicit(&p->owner_pid, g->pid, memory_order_relaxed);
    if (is_in_place(g))
        return 0;
    gate_leave(g);
    return fail(err, TENURE_WENT_BACK, "%s was removed while the store was open; open it anew",
                g->path);
}

/* Whether we had our turn, and nobody else has had one since. */
static bool must_yield(const struct gate *g)
{
    return g->yields && atomic_load(&g->page->last) == user_of(g);
}

/* Whether the owner of a slot is dead: the kernel has dropped its lock. */
static bool is_dead(const struct gate *g, uint32_t inside)
{
    struct flock l = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)inside, .l_len = 1};
    return fcntl(g->fd, F_OFD_GETLK, &l) == 0 && l.l_type == F_UNLCK;
}

/* Takes the place of nobody, or of `from` that is dead; else *from is who is inside. */
static bool try_in(struct gate *g, uint32_t *from)
{
    return atomic_compare_exchange_strong(&g->page->inside, from, user_of(g));
}

/* Turns on the spot for about as long as a small transaction takes: who is inside is about to
 * leave, and would be back inside before one who sleeps is awake. */
static bool spin_in(struct gate *g)
{
    for (int i = 0; i < SPINS; i++) {
        uint32_t seen = 0;
        if (atomic_load_explicit(&g->page->inside, memory_order_relaxed) == 0 && try_in(g, &seen))
            return true;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    return false;
}

/* Sleeps until it can come in.  Slices grow, since there may be many who sleep, and each of them
 * would find out that who is inside died. */
static int enter_slowly(struct gate *g, struct span patience, tenure_error *err)
{
    struct gate_page *p = g->page;
    struct instant since = clock_now();
    uint32_t seen = 0;
    int64_t slice_ms = GATE_SLICE_MS;
    bool woken = true;
    for (bool slept = false;; slept = true) {
        uint32_t wakes = atomic_load(&p->wakes), before = seen;
        atomic_store(&p->sleeps, 1); /* then try: a departure after it wakes us */
        seen = 0;
        if ((slept || !must_yield(g)) && (try_in(g, &seen) || (woken && spin_in(g))))
            return come_in(g, true, err);
        if (slept && seen != 0 && seen == before && is_dead(g, seen) && try_in(g, &seen))
            return come_in(g, true, err);
        struct instant now = clock_now();
        int64_t waited = instant_diff(since, now).ms;
        if (waited >= patience.ms)
            return busy(g, waited, err);
        if (slept && woken)
            atomic_store(&p->woken, 0);
        woken = sleep_on(p, wakes, slice_ms);
        if (slice_ms < GATE_SLICE_MAX_MS)
            slice_ms += GATE_SLICE_MS;
    }
}

int gate_enter(struct gate *g, struct span patience, tenure_error *err)
{
    uint32_t seen = 0;
    assert(!g->inside);
    if (!must_yield(g) && (try_in(g, &seen) || spin_in(g)))
        return come_in(g, false, err);
    return enter_slowly(g, patience, err);
}

/* Wakes one who sleeps.  Of several departures in a row only the first does: who runs anyway would
 * only be joined by more who find the gate shut. */
static void wake_one(struct gate_page *p)
{
    if (atomic_load(&p->sleeps) == 0 || atomic_exchange(&p->woken, 1) != 0)
        return;
    atomic_store(&p->sleeps, 0);
    atomic_fetch_add(&p->wakes, 1);
    if (syscall(SYS_futex, &p->wakes, FUTEX_WAKE, 1, NULL, NULL, 0) > 0)
        atomic_store(&p->sleeps, 1); /* there may be more */
    else
        atomic_store(&p->woken, 0);
}

void gate_leave(struct gate *g)
{
    struct gate_page *p = g->page;
    assert(g->inside);
    g->inside = false;
    g->yields = (atomic_load(&p->sleeps) != 0 || atomic_load(&p->woken) != 0) &&
                instant_diff(g->burst, clock_now()).ms >= GATE_BURST_MS;
    atomic_store_explicit(&p->owner_pid, 0, memory_order_relaxed);
    atomic_store(&p->inside, 0);
    g->left_ns = clock_fine_ns();
    if (g->streak < STREAK || g->yields)
        wake_one(p); /* else we are about to come back, and it would wake up for nothing */
}

/* Without its lock our place may be taken from us like that of somebody dead, which is fine. */
void gate_depart(struct gate *g)
{
    struct gate_page *p = g->page;
    uint32_t user = user_of(g);
    assert(g->inside);
    g->inside = false;
    atomic_store_explicit(&p->owner_pid, 0, memory_order_relaxed);
    unlock(g->fd, 1 + (off_t)g->slot);
    atomic_compare_exchange_strong(&p->inside, &user, 0);
    wake_one(p);
}

bool gate_is_alone(const struct gate *g)
{
    struct flock l = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = GATE_SLOTS};
    return fcntl(g->fd, F_OFD_GETLK, &l) == 0 && l.l_type == F_UNLCK;
}

bool gate_is_copy(const struct gate *g)
{
    return g->page->file != g->file;
}

void gate_adopt(struct gate *g)
{
    g->page->file = g->file;
}

bool gate_is_writable(const struct gate *g)
{
    return futimens(g->fd, NULL) == 0 || errno == EPERM || errno == EACCES;
}

int gate_sync(struct gate *g)
{
    if (msync(g->page, GATE_PAGE_BYTES, MS_SYNC) != 0 || fdatasync(g->fd) != 0)
        return errno;
    return 0;
}

void gate_poke(struct gate *g)
{
    if (clock_now().ms >= atomic_load_explicit(&g->page->observed_until, memory_order_relaxed))
        return;
    ssize_t n = pwrite(g->fd, "", 1, offsetof(struct gate_page, poke));
    (void)n; /* a hint; who relies on it also looks at `changes` */
}
