/* tests/soak/arena.h - what a crowd of processes works on, and the referee in it.
 *
 * The arena is a file that all of them map.  Every piece of work is a mark under a token; the
 * referee judges it in the order of one counter, by nothing but the tokens:
 *
 *     an exclusive mark is wrong after a mark under a higher token
 *     a shared mark is wrong after an *exclusive* mark under a higher token
 *
 * so two who believe that they hold at once are found out by the first mark of the older one.
 */
#ifndef SOAK_ARENA_H
#define SOAK_ARENA_H

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ARENA_NAMES = 16, ARENA_SLOTS = 4096 };

struct arena_name {
    _Atomic uint64_t highest;           /* token that made a mark */
    _Atomic uint64_t highest_exclusive;
};

struct arena_slot {
    _Atomic int32_t pid; /* of the work of one member of the crowd */
    _Atomic int32_t exposed; /* set by the driver: only the guard can help against what it did */
};

/* tools/soak reads the first five numbers. */
struct arena {
    _Atomic uint64_t sequence;
    _Atomic uint64_t violations;
    _Atomic uint64_t refused; /* late marks that the guard caught, of members that were exposed */
    _Atomic uint64_t grants;
    uint64_t spare;
    struct arena_slot slot[ARENA_SLOTS];
    struct arena_name name[ARENA_NAMES];
};

static inline struct arena *arena_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = MAP_FAILED;
    if (fd >= 0)
        at = mmap(NULL, sizeof(struct arena), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        perror(path);
        exit(99);
    }
    close(fd);
    return at;
}

static inline void arena_raise(_Atomic uint64_t *mark, uint64_t token)
{
    uint64_t seen = atomic_load(mark);
    while (seen < token && !atomic_compare_exchange_weak(mark, &seen, token))
        continue;
}

/* Makes a mark; false when it came too late, and was not made. */
static inline bool arena_mark(struct arena *a, unsigned name, uint64_t token, bool exclusive)
{
    struct arena_name *n = &a->name[name % ARENA_NAMES];
    atomic_fetch_add(&a->sequence, 1);
    if (token < atomic_load(exclusive ? &n->highest : &n->highest_exclusive))
        return false;
    arena_raise(&n->highest, token);
    if (exclusive)
        arena_raise(&n->highest_exclusive, token);
    return true;
}

static inline long long arena_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* The token of a grant goes into the log of all, in one write: none may be there twice. */
static inline void arena_log(struct arena *a, const char *path, unsigned name, uint64_t token)
{
    char line[96];
    int n = snprintf(line, sizeof line, "%u %llu pid %d at %lld\n", name,
                     (unsigned long long)token, (int)getpid(), arena_now_ms());
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n) {
        perror(path);
        exit(99);
    }
    close(fd);
    atomic_fetch_add(&a->grants, 1);
}

/* A mark came too late and was refused: expected of one that was exposed, wrong of any other. */
static inline void arena_late(struct arena *a, unsigned slot, unsigned name, uint64_t token)
{
    atomic_fetch_add(&a->refused, 1);
    if (atomic_load(&a->slot[slot].exposed))
        return;
    atomic_fetch_add(&a->violations, 1);
    fprintf(stderr, "VIOLATION pid %d at %lld: a mark on name %u under token %llu after %llu\n",
            (int)getpid(), arena_now_ms(), name, (unsigned long long)token,
            (unsigned long long)atomic_load(&a->name[name % ARENA_NAMES].highest));
}

#endif
