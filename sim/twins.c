/* sim/twins.c - os/clock.h, os/waiter.h and the calls of sim/twins.h, on the virtual world. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/clock.h"
#include "os/waiter.h"
#include "sim/system.h"
#define TWINS_KEEP_NAMES /* the real calls are used here, too */
#include "sim/twins.h"

/* ---- clocks ------------------------------------------------------------------------------ */

#define WALL_START_MS 1700000000000

struct instant clock_now(void)
{
    return host_clock(host_current);
}

int64_t clock_wall_ms(void)
{
    return WALL_START_MS + host_clock(host_current).ms + host_current->wall_step_ms;
}

int clock_domain(char buf[CLOCK_DOMAIN_BYTES])
{
    snprintf(buf, CLOCK_DOMAIN_BYTES, "%s", host_current->name);
    return 0;
}

int twin_gettime(clockid_t clock, struct timespec *ret)
{
    int64_t us = clock == CLOCK_REALTIME ? clock_wall_ms() * 1000 : host_clock_us(host_current);
    ret->tv_sec = us / 1000000;
    ret->tv_nsec = us % 1000000 * 1000;
    return 0;
}

ssize_t twin_getrandom(void *buf, size_t n, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)buf)[i] = (unsigned char)random_next(&world.random);
    return (ssize_t)n;
}

/* ---- bells and waiters ------------------------------------------------------------------- */

static struct {
    struct {
        bool rings;
        int around; /* the waiter's bell that this one is nested in; -1 */
    } at[BELLS_MAX];
    int count;
} bells;

int bell_new(void)
{
    if (bells.count == BELLS_MAX)
        abort();
    bells.at[bells.count].rings = false;
    bells.at[bells.count].around = -1;
    return bells.count++;
}

void bell_set(int bell, bool rings)
{
    bells.at[bell].rings = rings;
    if (rings && bells.at[bell].around >= 0)
        task_tell(&bells.at[bells.at[bell].around]);
}

int waiter_open(struct waiter *w, int nested)
{
    w->armed = INSTANT_NEVER;
    w->fd = bell_new();
    w->timer_fd = nested; /* what is nested, here */
    bells.at[nested].around = w->fd;
    w->nudge_fd = bell_new();
    return 0;
}

void waiter_close(struct waiter *w)
{
    w->fd = w->timer_fd = w->nudge_fd = -1;
}

void waiter_arm(struct waiter *w, struct instant when)
{
    if (when.ms == w->armed.ms)
        return;
    w->armed = when;
    task_tell(&bells.at[w->fd]);
}

static bool is_readable(const struct waiter *w)
{
    return bells.at[w->timer_fd].rings || instant_reached(clock_now(), w->armed);
}

bool waiter_poll(const struct waiter *w, struct instant until)
{
    while (!is_readable(w) && !instant_reached(clock_now(), until))
        task_wait(&bells.at[w->fd], host_when_us(host_current, instant_min(until, w->armed)));
    return is_readable(w);
}

bool waiter_wait(const struct waiter *w, struct instant until)
{
    int nudge = w->nudge_fd;
    while (!is_readable(w) && !bells.at[nudge].rings && !instant_reached(clock_now(), until))
        task_wait(&bells.at[w->fd], host_when_us(host_current, instant_min(until, w->armed)));
    bells.at[nudge].rings = false;
    return is_readable(w);
}

void waiter_nudge(const struct waiter *w)
{
    bells.at[w->nudge_fd].rings = true;
    task_tell(&bells.at[w->fd]);
}

void waiter_drain(struct waiter *w)
{
    if (instant_reached(clock_now(), w->armed))
        w->armed = INSTANT_NEVER;
}

/* ---- threads ----------------------------------------------------------------------------- */

int twin_mutex_lock(pthread_mutex_t *m)
{
    int code = pthread_mutex_trylock(m);
    if (code != 0)
        abort(); /* tasks never wait while they hold one: the library has a deadlock */
    return 0;
}

int twin_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
    struct instant end = INSTANT(until->tv_sec * 1000 + until->tv_nsec / 1000000 + 1);
    pthread_mutex_unlock(m);
    task_wait(c, host_when_us(host_current, end));
    twin_mutex_lock(m);
    return instant_reached(clock_now(), end) ? ETIMEDOUT : 0;
}

int twin_cond_signal(pthread_cond_t *c)
{
    task_tell(c);
    return 0;
}

struct start {
    void *(*run)(void *);
    void *arg;
};

static void run_start(void *arg)
{
    struct start *s = arg;
    s->run(s->arg);
}

int twin_thread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    struct start *s = world_alloc(sizeof *s);
    (void)attr;
    *s = (struct start){run, arg};
    *ret = (pthread_t)(uintptr_t)task_start(task_host(task_current()), run_start, s);
    return 0;
}

int twin_thread_join(pthread_t thread, void **ret)
{
    struct task *t = (struct task *)(uintptr_t)thread;
    (void)ret;
    while (!task_is_done(t))
        task_wait(t, INT64_MAX);
    return 0;
}

static void (*fork_prepare)(void);
static void (*fork_child)(void);

int twin_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    (void)parent;
    fork_prepare = prepare;
    fork_child = child;
    return 0;
}

void system_orphan_handles(void)
{
    if (!fork_child)
        return;
    fork_prepare();
    fork_child();
}

/* ---- memory ------------------------------------------------------------------------------ */

struct block {
    struct block *next, *previous;
    uint64_t birth;
    const struct host *host;
    uint64_t life;
    size_t size;
    max_align_t start[];
};

static struct block *blocks;
static uint64_t births;

static struct block *block_of(const void *p)
{
    return (struct block *)((uintptr_t)p - offsetof(struct block, start));
}

uint64_t memory_birth(const void *p)
{
    return block_of(p)->birth;
}

void *twin_calloc(size_t n, size_t size)
{
    struct block *b = calloc(1, sizeof *b + n * size);
    if (!b)
        return NULL;
    b->next = blocks;
    if (blocks)
        blocks->previous = b;
    blocks = b;
    b->birth = ++births;
    b->host = host_current;
    b->life = host_current ? host_current->life : 0;
    b->size = n * size;
    return b->start;
}

void *twin_malloc(size_t n)
{
    return twin_calloc(1, n);
}

void twin_free(void *p)
{
    if (!p)
        return;
    struct block *b = block_of(p);
    if (b->previous)
        b->previous->next = b->next;
    else
        blocks = b->next;
    if (b->next)
        b->next->previous = b->previous;
    free(b);
}

void *twin_realloc(void *p, size_t n)
{
    void *fresh = twin_calloc(1, n);
    if (fresh && p) {
        size_t old = block_of(p)->size;
        memcpy(fresh, p, old < n ? old : n);
        twin_free(p);
    }
    return fresh;
}

unsigned memory_left(void)
{
    unsigned n = 0;
    for (const struct block *b = blocks; b; b = b->next)
        n += b->host && b->life == b->host->life;
    return n;
}

void system_reset(void)
{
    while (blocks)
        twin_free(blocks->start);
    births = 0;
    bells.count = 0;
}
