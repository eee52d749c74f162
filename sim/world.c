#include "sim/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world world;

/* ---- memory of a run --------------------------------------------------------------------- */

#define CHUNK_BYTES (256 * 1024)

struct chunk {
    struct chunk *next;
    size_t used, size;
    max_align_t start[];
};

static struct chunk *chunks; /* the one in use first */
static struct chunk *spare;  /* kept from the last run */

static struct chunk *chunk_take(size_t size)
{
    struct chunk *c = spare;
    if (c && size <= c->size) {
        spare = c->next;
        c->used = 0;
        return c;
    }
    c = malloc(sizeof *c + size);
    if (!c)
        abort();
    *c = (struct chunk){.size = size};
    return c;
}

void *world_alloc(size_t n)
{
    n = (n + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
    if (!chunks || chunks->size - chunks->used < n) {
        struct chunk *fresh = chunk_take(n > CHUNK_BYTES ? n : CHUNK_BYTES);
        fresh->next = chunks;
        chunks = fresh;
    }
    void *p = (char *)chunks->start + chunks->used;
    chunks->used += n;
    memset(p, 0, n);
    return p;
}

static void spare_chunks(void)
{
    while (chunks) {
        struct chunk *next = chunks->next;
        chunks->next = spare;
        spare = chunks;
        chunks = next;
    }
}

/* ---- events: a heap by (time, order) ----------------------------------------------------- */

struct event {
    int64_t when_us;
    uint64_t order;
    event_fn *fn;
    void *arg;
    uint64_t n;
};

static struct {
    struct event *at;
    size_t count, room;
    uint64_t scheduled;
} heap;

static bool is_before(const struct event *a, const struct event *b)
{
    return a->when_us != b->when_us ? a->when_us < b->when_us : a->order < b->order;
}

void world_at(int64_t when_us, event_fn *fn, void *arg, uint64_t n)
{
    if (heap.count == heap.room) {
        heap.room = heap.room ? 2 * heap.room : 256;
        heap.at = realloc(heap.at, heap.room * sizeof *heap.at);
        if (!heap.at)
            abort();
    }
    struct event e = {when_us > world.now_us ? when_us : world.now_us, heap.scheduled++, fn, arg,
                      n};
    size_t i = heap.count++;
    for (; i > 0 && is_before(&e, &heap.at[(i - 1) / 2]); i = (i - 1) / 2)
        heap.at[i] = heap.at[(i - 1) / 2];
    heap.at[i] = e;
}

static struct event take_first(void)
{
    struct event first = heap.at[0], last = heap.at[--heap.count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap.count)
            break;
        if (child + 1 < heap.count && is_before(&heap.at[child + 1], &heap.at[child]))
            child++;
        if (!is_before(&heap.at[child], &last))
            break;
        heap.at[i] = heap.at[child];
        i = child;
    }
    heap.at[i] = last;
    return first;
}

bool world_turn(int64_t limit_us)
{
    if (heap.count == 0 || heap.at[0].when_us > limit_us) {
        world.now_us = limit_us;
        return false;
    }
    struct event e = take_first();
    world.now_us = e.when_us;
    world.events++;
    e.fn(e.arg, e.n);
    return true;
}

/* ---- a run ------------------------------------------------------------------------------- */

void world_begin(uint64_t seed, uint64_t step_limit)
{
    if (world.verbose)
        setvbuf(stdout, NULL, _IOLBF, 0); /* an assertion must not swallow the lines before it */
    world = (struct world){.verbose = world.verbose,
                           .digesting = world.digesting,
                           .forbidden = world.forbidden};
    plan_draw(&world.plan, seed);
    world.random.state = seed ^ 0xc2b2ae3d27d4eb4fu;
    world.step_limit = step_limit < world.plan.steps ? step_limit : world.plan.steps;
    world.digest = 0xcbf29ce484222325u;
    heap.count = 0;
    heap.scheduled = 0;
}

void world_end(void)
{
    spare_chunks();
    heap.count = 0;
}

bool world_step(void)
{
    if (world.quiet || world.steps >= world.step_limit)
        return false;
    world.steps++;
    if (world.steps == world.forbidden)
        world_fail("test", "step %llu was taken", (unsigned long long)world.steps);
    return true;
}

/* ---- what is seen ------------------------------------------------------------------------ */

void world_trace(const char *who, const char *what, const char *format, ...)
{
    if (!world.verbose && !world.digesting)
        return;
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char line[480];
    snprintf(line, sizeof line, "%12.3f %4llu %-8s %-10s %s", (double)world.now_us / US_PER_MS,
             (unsigned long long)world.steps, who, what, text);
    if (world.verbose)
        puts(line);
    for (const char *c = line; *c; c++)
        world.digest = (world.digest ^ (unsigned char)*c) * 0x100000001b3u;
}

void world_fail(const char *promise, const char *format, ...)
{
    if (world.failed)
        return;
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(world.failure, sizeof world.failure, "%s at %.3f ms: %s", promise,
             (double)world.now_us / US_PER_MS, text);
    world.failed = true;
    world_trace("judge", "BROKEN", "%s", world.failure);
}
