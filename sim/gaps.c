/* sim/gaps.c - many duels, and how the gaps that they show lie to the bound: gaps [--tap] [RUNS].
 *
 * A row per blow: the gap as a share of the ttl (of 1 ms where a process dies under an embedded
 * store), beside the bound that `tenure timing` prints.  Ends with 1 when a duel breaks a promise
 * or a gap exceeds its bound; prints the seed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/duel.h"
#include "sim/world.h"

#define RUNS_DEFAULT 10000
#define CHILDREN_MAX 64

struct result {
    struct duel duel;
    bool done;
    char failure[sizeof world.failure];
};

static void fight(struct result *r, uint64_t seed)
{
    alarm(20);
    r->duel = duel_fight(seed, (enum blow)(seed % BLOW_COUNT));
    memcpy(r->failure, world.failure, sizeof r->failure);
    r->done = true;
    _exit(0);
}

/* A process for each duel: it is fought once in a process's life. */
static bool fight_all(struct result *results, uint64_t runs)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int room = cores < 1 ? 1 : cores > CHILDREN_MAX ? CHILDREN_MAX : (int)cores;
    fflush(stdout);
    for (uint64_t i = 0; i < runs; i++) {
        if (room == 0 && wait(NULL) > 0)
            room++;
        pid_t pid = fork();
        if (pid == 0)
            fight(&results[i], i);
        if (pid < 0) {
            perror("fork");
            return false;
        }
        room--;
    }
    while (wait(NULL) > 0)
        ;
    return true;
}

/* Whether the duel kept what is promised; says so if not. */
static bool is_kept(const struct result *r, uint64_t seed)
{
    if (!r->done)
        printf("# seed %" PRIu64 ": the duel did not end\n", seed);
    else if (r->duel.failed)
        printf("# seed %" PRIu64 ": %s\n", seed, r->failure);
    else if (r->duel.gap_us > r->duel.bound_us)
        printf("# seed %" PRIu64 ": a gap of %.3f ms, bound %.3f ms\n", seed,
               (double)r->duel.gap_us / 1e3, (double)r->duel.bound_us / 1e3);
    else
        return true;
    return false;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void show(const struct result *results, uint64_t runs, enum blow blow)
{
    double *share = calloc(runs + 1, sizeof *share), nearest = 0;
    uint64_t n = 0;
    if (!share)
        abort();
    for (uint64_t i = (uint64_t)blow; i < runs; i += BLOW_COUNT) {
        const struct duel *d = &results[i].duel;
        double unit = blow == BLOW_LOCAL_KILL ? 1e3 : (double)d->ttl_ms * 1e3;
        double of_bound = (double)d->gap_us / (double)d->bound_us;
        share[n++] = (double)d->gap_us / unit;
        nearest = of_bound > nearest ? of_bound : nearest;
    }
    qsort(share, n, sizeof *share, compare);
    if (n > 0)
        printf("# | %s | %" PRIu64 " | %s | %.3f | %.3f | %.3f | %.3f | %.0f %% |\n",
               blow_text(blow), n, blow == BLOW_LOCAL_KILL ? "ms" : "ttl", share[0], share[n / 2],
               share[n * 99 / 100], share[n - 1], nearest * 100);
    free(share);
}

int main(int argc, char **argv)
{
    bool tap = argc > 1 && strcmp(argv[1], "--tap") == 0;
    uint64_t runs = argc > 1 + tap ? strtoull(argv[1 + tap], NULL, 10) : RUNS_DEFAULT, broken = 0;
    if (runs < BLOW_COUNT) {
        fputs("usage: gaps [--tap] [RUNS], at least 4\n", stderr);
        return 64;
    }
    struct result *results = mmap(NULL, runs * sizeof *results, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (results == MAP_FAILED || !fight_all(results, runs)) {
        perror("gaps");
        return 1;
    }
    for (uint64_t i = 0; i < runs; i++)
        broken += !is_kept(&results[i], i);
    puts("# | what happens to the holder | duels | unit | least | median | 99 % | most "
         "| of bound |");
    for (int blow = 0; blow < BLOW_COUNT; blow++)
        show(results, runs, (enum blow)blow);
    if (tap)
        printf("1..1\n%sok 1 - no gap in %" PRIu64 " duels exceeds what tenure timing prints, and "
               "no two believe at once\n", broken ? "not " : "", runs);
    return broken > 0;
}
