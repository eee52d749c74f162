/* sim/main.c - seeds, one after the other, on all cores: sim [--seed N | --runs N [--from N]]. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/judge.h"
#include "sim/run.h"
#include "sim/world.h"

#define JOBS_MAX 64
#define NO_LIMIT UINT64_MAX
#define SEED_LIMIT_S 5 /* of the processor: a run takes milliseconds, this one turns on the spot */

struct options {
    uint64_t seed, from, runs, limit;
    int jobs;
    bool one, verbose, tap, bare;
};

/* What a worker shares with the process that waits for it: it may die at any time. */
struct worker {
    uint64_t next, step; /* the seed at work, and how far apart a worker's seeds are */
    uint64_t done, events, steps;
    int64_t virtual_us;
    bool failed;
    char failure[sizeof world.failure];
    struct tally tally;
};

static struct worker *shared;

static void note(struct worker *w, const struct outcome *o)
{
    w->done++;
    w->events += o->events;
    w->steps += o->steps;
    w->virtual_us += o->virtual_us;
    w->tally = tally;
}

/* SIGPROF ends a process whose seed does not come to an end. */
static void limit_time(void)
{
    const struct itimerval limit = {.it_value.tv_sec = SEED_LIMIT_S};
    setitimer(ITIMER_PROF, &limit, NULL);
}

/* In the child: seeds until one fails. */
static void work(struct worker *w, uint64_t end)
{
    tally = w->tally;
    for (; w->next < end; w->next += w->step) {
        limit_time();
        struct outcome o = run_seed(w->next, NO_LIMIT);
        if (o.failed) {
            memcpy(w->failure, world.failure, sizeof w->failure);
            w->failed = true;
            _exit(1);
        }
        note(w, &o);
    }
    _exit(0);
}

static pid_t start(struct worker *w, uint64_t end)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        work(w, end);
    if (pid < 0) {
        perror("fork");
        exit(1);
    }
    return pid;
}

/* ---- the shortest prefix that still fails ------------------------------------------------ */

static bool fails(uint64_t seed, uint64_t limit)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        world.verbose = false;
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(2);
        limit_time();
        _exit(run_seed(seed, limit).failed ? 1 : 0);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status != 0;
}

/* Fewer steps may fail where more do: bisected, so not the least of all, but a short one. */
static uint64_t shorten(uint64_t seed)
{
    uint64_t low = 0, high = 256;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (fails(seed, middle))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

static void report(struct worker *w, int status, bool bare)
{
    uint64_t seed = w->next;
    if (!w->failed)
        snprintf(w->failure, sizeof w->failure, "the program died by signal %d (an assertion?)",
                 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    printf("seed %llu FAILED: %s\n", (unsigned long long)seed, w->failure);
    if (bare)
        return;
    uint64_t limit = shorten(seed);
    printf("# the shortest prefix found that still fails has %llu steps; to replay it:\n"
           "#   make sim SEED=%llu STEPS=%llu\n",
           (unsigned long long)limit, (unsigned long long)seed, (unsigned long long)limit);
    fflush(stdout);
}

/* ---- many seeds -------------------------------------------------------------------------- */

static int worker_of(const pid_t *pids, int jobs, pid_t pid)
{
    for (int i = 0; i < jobs; i++) {
        if (pids[i] == pid)
            return i;
    }
    return -1;
}

static void sum_up(const struct options *opt, uint64_t failed)
{
    struct worker all = {0};
    for (int i = 0; i < opt->jobs; i++) {
        const struct worker *w = &shared[i];
        all.done += w->done;
        all.events += w->events;
        all.steps += w->steps;
        all.virtual_us += w->virtual_us;
        all.tally.grants += w->tally.grants;
        all.tally.writes += w->tally.writes;
        all.tally.stale_writes += w->tally.stale_writes;
        all.tally.late_writes += w->tally.late_writes;
        all.tally.unsure += w->tally.unsure;
        all.tally.overlaps += w->tally.overlaps;
        if (w->tally.overlap_us > all.tally.overlap_us)
            all.tally.overlap_us = w->tally.overlap_us;
    }
    const struct tally *t = &all.tally;
    printf("# seeds %llu to %llu: %llu fine, %llu failed; %.1f virtual hours, %llu events\n",
           (unsigned long long)opt->from, (unsigned long long)(opt->from + opt->runs - 1),
           (unsigned long long)all.done, (unsigned long long)failed,
           (double)all.virtual_us / 3.6e9, (unsigned long long)all.events);
    printf("# %llu grants; %llu writes admitted, %llu stale ones refused (a resource without a "
           "guard lets them through), %llu after a successor was granted but not announced\n",
           (unsigned long long)t->grants, (unsigned long long)t->writes,
           (unsigned long long)t->stale_writes, (unsigned long long)t->late_writes);
    printf("# %llu answers were unsure; %llu overlaps of beliefs, all with clocks beyond the "
           "drift bound, the longest %.3f ms\n",
           (unsigned long long)t->unsure, (unsigned long long)t->overlaps,
           (double)t->overlap_us / US_PER_MS);
}

static int run_many(const struct options *opt)
{
    pid_t pids[JOBS_MAX];
    uint64_t end = opt->from + opt->runs, failed = 0;
    int running = opt->jobs;
    for (int i = 0; i < opt->jobs; i++) {
        shared[i].next = opt->from + (uint64_t)i;
        shared[i].step = (uint64_t)opt->jobs;
        pids[i] = start(&shared[i], end);
    }
    while (running > 0) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        int i = pid > 0 ? worker_of(pids, opt->jobs, pid) : -1;
        if (i < 0)
            continue;
        if (status == 0) {
            running--;
            continue;
        }
        failed++;
        report(&shared[i], status, opt->bare);
        shared[i].next += shared[i].step;
        shared[i].failed = false;
        pids[i] = start(&shared[i], end);
    }
    if (opt->tap)
        printf("1..1\n%sok 1 - the promises hold in every simulated run\n", failed ? "not " : "");
    sum_up(opt, failed);
    return failed > 0;
}

static int run_one(const struct options *opt)
{
    world.verbose = opt->verbose;
    world.digesting = true;
    struct outcome o = run_seed(opt->seed, opt->limit);
    printf("seed %llu: %s%s; %llu steps, %llu events, %.3f virtual seconds, trace %016llx\n",
           (unsigned long long)opt->seed, o.failed ? "FAILED: " : "fine",
           o.failed ? world.failure : "", (unsigned long long)o.steps,
           (unsigned long long)o.events, (double)o.virtual_us / 1e6, (unsigned long long)o.digest);
    return o.failed;
}

/* ---- the command line -------------------------------------------------------------------- */

static int usage(void)
{
    fputs("usage: sim --seed N [--steps N] [--forbid N] [-v]\n"
          "       sim [--runs N] [--from N] [--jobs N] [--forbid N] [--bare] [--tap]\n"
          "  --seed N    one run, and the digest of its trace\n"
          "  -v          shows the trace (docs/testing.md has the columns)\n"
          "  --steps N   ends the chaos after N steps of actors and faults\n"
          "  --runs N    the seeds from --from (1) on, in --jobs (all cores) processes\n"
          "  --forbid N  step N counts as a broken promise: shows how a failure is shown\n"
          "  --bare      does not look for the shortest prefix of a failing seed\n"
          "  --tap       says so as a test\n",
          stderr);
    return 64;
}

static bool take_number(const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text || text[0] == '-')
        return false;
    *ret = n;
    return true;
}

static bool take_options(int argc, char **argv, struct options *opt)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        uint64_t n;
        if (strcmp(argv[i], "-v") == 0) {
            opt->verbose = true;
            continue;
        }
        if (strcmp(argv[i], "--tap") == 0 || strcmp(argv[i], "--bare") == 0) {
            *(argv[i][2] == 't' ? &opt->tap : &opt->bare) = true;
            continue;
        }
        if (!take_number(value, &n))
            return false;
        if (strcmp(argv[i], "--seed") == 0) {
            opt->seed = n;
            opt->one = true;
        } else if (strcmp(argv[i], "--from") == 0) {
            opt->from = n;
        } else if (strcmp(argv[i], "--runs") == 0) {
            opt->runs = n;
        } else if (strcmp(argv[i], "--steps") == 0) {
            opt->limit = n;
        } else if (strcmp(argv[i], "--forbid") == 0) {
            world.forbidden = n;
        } else if (strcmp(argv[i], "--jobs") == 0 && n > 0 && n <= JOBS_MAX) {
            opt->jobs = (int)n;
        } else {
            return false;
        }
        i++;
    }
    return true;
}

int main(int argc, char **argv)
{
    mallopt(M_MMAP_THRESHOLD, 128 * 1024); /* a handle is large, and hardly touched */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct options opt = {.from = 1, .runs = 1000, .limit = NO_LIMIT};
    opt.jobs = cores < 1 ? 1 : cores > JOBS_MAX ? JOBS_MAX : (int)cores;
    if (!take_options(argc, argv, &opt))
        return usage();
    if (opt.one)
        return run_one(&opt);
    shared = mmap(NULL, JOBS_MAX * sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    return run_many(&opt);
}
