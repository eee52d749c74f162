/* tests/lib/threads.c - many threads of one handle: one turns, and the others sleep until there is
 * news for them, or until they are to turn.
 *
 *     threads memory | sqlite | postgres URL | etcd URL */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "lib.h"

#define THREADS 12
#define LIMIT_S 20

struct waiter {
    tenure *t;
    char name[8];
    int number, code;
    tenure_claim *claim;
    pthread_t thread;
};

static sem_t came;
static _Atomic int last; /* who came last */

static tenure *open_patient(unsigned flags)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure *t = NULL;
    opt.ttl_ms = 60000; /* no expiry comes to the rescue of who was forgotten */
    opt.flags = flags;
    return tenure_open(url, &opt, &t, &err) == 0 ? t : NULL;
}

static void *wait_for_it(void *arg)
{
    struct waiter *w = arg;
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_error why;
    terms.wait_ms = LIMIT_S * 1000;
    w->code = tenure_acquire(w->t, w->name, &terms, &w->claim, &why);
    atomic_store(&last, w->number);
    sem_post(&came);
    return NULL;
}

static bool somebody_came(void)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += LIMIT_S;
    while (sem_timedwait(&came, &limit) != 0) {
        if (errno != EINTR)
            return false;
    }
    return true;
}

static bool count_waiting(void *arg, const tenure_name_info *info)
{
    *(size_t *)arg += info->ticket_count > 1;
    return true;
}

static bool all_are_in_line(tenure *t)
{
    size_t waiting = 0;
    for (int64_t limit = now() + LIMIT_S * 1000; waiting < THREADS && now() < limit;) {
        waiting = 0;
        if (tenure_look(t, "", count_waiting, &waiting, &err) < 0)
            return false;
    }
    return waiting == THREADS;
}

static void each_thread_is_woken_by_what_it_waits_for_and_somebody_always_turns(void)
{
    static struct waiter w[THREADS]; /* a thread that nobody woke may come back later */
    tenure_claim *held[THREADS];
    fresh();
    tenure *holder = open_patient(TENURE_PUMP), *t = open_patient(0);
    CHECK(holder && t);
    CHECK(sem_init(&came, 0, 0) == 0);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct waiter){.t = t, .number = i};
        snprintf(w[i].name, sizeof w[i].name, "n%d", i);
        CHECK(acquire(holder, w[i].name, LIMIT_S * 1000, &held[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&w[i].thread, NULL, wait_for_it, &w[i]) == 0);
    CHECK(all_are_in_line(holder));
    for (int i = 0; i < THREADS; i++) {
        int one = i * 5 % THREADS; /* the one who turns is among them, whoever that is */
        CHECK(tenure_release(held[one], &err) == 0);
        CHECK(somebody_came() && atomic_load(&last) == one && w[one].code == 0);
        CHECK(pthread_join(w[one].thread, NULL) == 0);
    }
    tenure_close(t);
    tenure_close(holder);
    sem_destroy(&came);
}

/* ---- one job after the other ----------------------------------------------------------------- */

#define JOBS 25

struct worker {
    tenure *t;
    int done;
    pthread_t thread;
};

static _Atomic int inside, met;

static void *work(void *arg)
{
    struct worker *w = arg;
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    terms.wait_ms = LIMIT_S * 1000;
    for (; w->done < JOBS && tenure_acquire(w->t, "x", &terms, &c, NULL) == 0; w->done++) {
        if (atomic_fetch_add(&inside, 1) > 0)
            atomic_store(&met, 1);
        atomic_fetch_sub(&inside, 1);
        if (tenure_leave(c, NULL) < 0)
            break;
    }
    return NULL;
}

static void threads_that_leave_and_ask_again_take_turns(void)
{
    static struct worker w[THREADS];
    fresh();
    tenure *t = open_patient(TENURE_PUMP);
    CHECK(t != NULL);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.t = t};
        CHECK(pthread_create(&w[i].thread, NULL, work, &w[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(w[i].thread, NULL) == 0 && w[i].done == JOBS);
    CHECK(atomic_load(&met) == 0);
    tenure_close(t);
}

int main(int argc, char **argv)
{
    is_sqlite = argc > 1 && strcmp(argv[1], "sqlite") == 0;
    server = argc > 2 ? argv[2] : NULL;
    return TAP_RUN(TAP(each_thread_is_woken_by_what_it_waits_for_and_somebody_always_turns),
                   TAP(threads_that_leave_and_ask_again_take_turns));
}
