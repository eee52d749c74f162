#undef _FORTIFY_SOURCE /* its longjmp() takes a jump to another stack for a mistake */
#include "sim/task.h"

#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBERS 1
#endif
#endif

#ifdef FIBERS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK_BYTES (256 * 1024)

struct task {
    ucontext_t context; /* where it begins, on its own stack */
#ifndef FIBERS
    jmp_buf place; /* where it waits, once it has begun */
    bool has_begun;
#endif
    char *stack; /* kept for the task that takes the place in the next run */
    struct host *host;
    uint64_t life;
    task_fn *run;
    void *arg;
    bool done;
    const void *waits_for;
    uint64_t wait; /* which wait it is in: a wake-up for an earlier one is void */
    void *fake_stack;
};

static struct {
    struct task at[TASKS_MAX];
    int count;
    struct task *running;
#ifdef FIBERS
    ucontext_t scheduler;
    void *scheduler_fake;
    const void *scheduler_bottom;
    size_t scheduler_size;
#else
    jmp_buf scheduler;
#endif
} tasks;

struct task *task_current(void)
{
    return tasks.running;
}

struct host *task_host(const struct task *t)
{
    return t->host;
}

bool task_is_done(const struct task *t)
{
    return t->done || t->life != t->host->life;
}

/* ---- switching --------------------------------------------------------------------------- */

#ifdef FIBERS

static void leave_scheduler(struct task *t)
{
    __sanitizer_start_switch_fiber(&tasks.scheduler_fake, t->stack, STACK_BYTES);
    swapcontext(&tasks.scheduler, &t->context);
    __sanitizer_finish_switch_fiber(tasks.scheduler_fake, NULL, NULL);
}

static void leave_task(struct task *t)
{
    __sanitizer_start_switch_fiber(t->done ? NULL : &t->fake_stack, tasks.scheduler_bottom,
                                   tasks.scheduler_size);
    swapcontext(&t->context, &tasks.scheduler);
    __sanitizer_finish_switch_fiber(t->fake_stack, NULL, NULL);
}

#else /* swapcontext() has the kernel keep a signal mask: half of the time of a run */

static void leave_scheduler(struct task *t)
{
    if (_setjmp(tasks.scheduler) != 0)
        return;
    if (t->has_begun)
        _longjmp(t->place, 1);
    t->has_begun = true;
    setcontext(&t->context);
    abort(); /* it does not come back */
}

static void leave_task(struct task *t)
{
    if (_setjmp(t->place) == 0)
        _longjmp(tasks.scheduler, 1);
}

#endif

static void begin(void)
{
    struct task *t = tasks.running;
#ifdef FIBERS
    __sanitizer_finish_switch_fiber(NULL, &tasks.scheduler_bottom, &tasks.scheduler_size);
#endif
    t->run(t->arg);
    t->done = true;
    task_tell(t);
    leave_task(t);
}

static void resume(void *arg, uint64_t wait)
{
    struct task *t = arg;
    if (t->wait != wait || task_is_done(t))
        return;
    if (host_is_paused(t->host)) {
        world_at(t->host->paused_until_us, resume, t, wait);
        return;
    }
    t->wait++;
    tasks.running = t;
    host_current = t->host;
    leave_scheduler(t);
    host_current = NULL;
    tasks.running = NULL;
}

/* ---- the life of a task ------------------------------------------------------------------ */

static void give_stack(struct task *t)
{
    if (!t->stack) {
        t->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (t->stack == MAP_FAILED)
            abort();
    }
#ifdef FIBERS
    __asan_unpoison_memory_region(t->stack, STACK_BYTES);
#endif
}

struct task *task_start(struct host *host, task_fn *run, void *arg)
{
    if (tasks.count == TASKS_MAX)
        abort();
    struct task *t = &tasks.at[tasks.count++];
    char *stack = t->stack;
    *t = (struct task){.stack = stack, .host = host, .life = host->life, .run = run, .arg = arg};
    give_stack(t);
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = t->stack;
    t->context.uc_stack.ss_size = STACK_BYTES;
    t->context.uc_link = NULL;
    makecontext(&t->context, begin, 0);
    world_at(world.now_us, resume, t, t->wait);
    return t;
}

void task_wait(const void *what, int64_t when_us)
{
    struct task *t = tasks.running;
    t->waits_for = what;
    if (when_us != INT64_MAX)
        world_at(when_us, resume, t, t->wait);
    leave_task(t);
    t->waits_for = NULL;
}

void task_tell(const void *what)
{
    for (int i = 0; i < tasks.count; i++) {
        struct task *t = &tasks.at[i];
        if (!t->done && what && t->waits_for == what) {
            int64_t latency_us = random_range(&world.random, 5, 150);
            world_at(world.now_us + latency_us, resume, t, t->wait);
        }
    }
}

void task_sleep_us(int64_t us)
{
    int64_t end = world.now_us + us;
    while (world.now_us < end)
        task_wait(NULL, end);
}

void task_reset(void)
{
    tasks.count = 0;
}

bool tasks_are_scarce(void)
{
    return tasks.count > TASKS_MAX / 2;
}
