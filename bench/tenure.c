/* tenure.c - tenure beside its peers, through the library, one process per client.
 *
 *   tenure lock  PEER URL NCLIENTS SECS            acquire+release, a name each
 *   tenure pipe  PEER URL N SECS                   acquire+leave of N names in one process and thread
 *   tenure fight PEER URL NCLIENTS SECS            all on one name (HOLD_MS: long holds, lone hand-over)
 *   tenure elect URL [TTL_MS]                      candidate: prints LEADER
 *   tenure hold  PEER URL N SECS                   N claims of one session: bytes, writes, cost of one more
 *   tenure stand PEER URL N SECS                   N standbys on one name at rest
 *   tenure check PEER URL                          ns for one tenure_check()
 *
 * Rows as in bench.h.  Unlike the peers' clients, which are threads, ours are processes: that is how
 * an embedded store is used, and it costs us. */
#include "bench.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tenure/tenure.h>

#define SAMPLES 400000

struct shared {
    pthread_barrier_t start;
    volatile int stop;
    int holders, last;
    long violations, handoffs;
    double released;
    struct client {
        long pairs;
        uint32_t count;
        float acquire[SAMPLES], pair[SAMPLES];
    } client[];
};

static tenure *open_store(const char *url, int64_t ttl_ms, unsigned flags)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure_error err;
    tenure *t;
    opt.ttl_ms = ttl_ms;
    opt.flags = flags;
    if (tenure_open(url, &opt, &t, &err) < 0)
        die(err.text);
    return t;
}

static tenure_claim *acquire(tenure *t, const char *name)
{
    tenure_error err;
    tenure_claim *c;
    if (tenure_acquire(t, name, NULL, &c, &err) < 0)
        die(err.text);
    return c;
}

/* LEAVE=1: what is given back goes to the store with the next question. */
static void release(tenure_claim *c)
{
    static int leaves = -1;
    tenure_error err;
    if (leaves < 0)
        leaves = getenv("LEAVE") != NULL;
    if ((leaves ? tenure_leave(c, &err) : tenure_release(c, &err)) < 0)
        die(err.text);
}

static void entered(struct shared *s, int id, double asked, struct lat *handoff, int hold_ms)
{
    double at = now();
    if (__atomic_add_fetch(&s->holders, 1, __ATOMIC_SEQ_CST) != 1)
        s->violations++;
    if (s->last != id) {
        if (hold_ms && s->released > asked)
            lat_add(handoff, at - s->released);
        s->handoffs++;
        s->last = id;
    }
    if (hold_ms)
        usleep((useconds_t)hold_ms * 1000);
    s->released = now();
    __atomic_sub_fetch(&s->holders, 1, __ATOMIC_SEQ_CST);
}

static void client(struct shared *s, int id, const char *url, int one, int hold_ms)
{
    struct client *me = &s->client[id];
    struct lat handoff = {0};
    char name[32];
    tenure *t = open_store(url, 30000, 0);
    snprintf(name, sizeof name, "bench/%d", one ? 0 : id);
    pthread_barrier_wait(&s->start);
    while (!s->stop) {
        double t0 = now();
        tenure_claim *c = acquire(t, name);
        double t1 = now();
        if (one)
            entered(s, id, t0, &handoff, hold_ms);
        release(c);
        double t2 = now();
        if (hold_ms)
            usleep((useconds_t)hold_ms * 1000);
        uint32_t at = me->count < SAMPLES ? me->count++ : (uint32_t)rand() % SAMPLES;
        me->acquire[at] = (float)(t1 - t0);
        me->pair[at] = (float)(t2 - t0);
        me->pairs++;
    }
    if (hold_ms) {
        me->count = 0;
        for (size_t i = 0; i < handoff.n; i++)
            me->acquire[me->count++] = handoff.v[i] / 1e6f;
    }
    tenure_close(t);
    _exit(0);
}

static void report(struct shared *s, const char *peer, const char *test, int n, int one, int hold_ms,
                   double elapsed)
{
    struct lat pairs = {0}, acquires = {0};
    long least = s->client[0].pairs, most = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        struct client *c = &s->client[i];
        sum += c->pairs;
        if (c->pairs < least)
            least = c->pairs;
        if (c->pairs > most)
            most = c->pairs;
        for (uint32_t k = 0; k < c->count; k++) {
            lat_add(&acquires, c->acquire[k]);
            lat_add(&pairs, c->pair[k]);
        }
    }
    if (hold_ms) {
        lat_rows(peer, "handoff", "", &acquires);
        return;
    }
    row(peer, test, one ? "acq/s" : "pairs/s", (double)sum / elapsed);
    if (n > 1) {
        row(peer, test, "fair_max", (double)most);
        row(peer, test, "fair_min", (double)least);
    }
    if (one) {
        row(peer, test, "handoffs/s", (double)s->handoffs / elapsed);
        row(peer, test, "violations", (double)s->violations);
        lat_rows(peer, test, "wait_", &acquires);
    } else {
        lat_rows(peer, test, "acq_", &acquires);
        lat_rows(peer, test, "", &pairs);
    }
}

static void run(const char *peer, const char *test, const char *url, int n, int one, double secs)
{
    size_t size = sizeof(struct shared) + (size_t)n * sizeof(struct client);
    struct shared *s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int hold_ms = one && getenv("HOLD_MS") ? atoi(getenv("HOLD_MS")) : 0;
    pthread_barrierattr_t attr;
    if (s == MAP_FAILED)
        die("mmap");
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&s->start, &attr, (unsigned)n + 1);
    s->last = -1;
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            die("fork");
        if (pid == 0)
            client(s, i, url, one, hold_ms);
    }
    pthread_barrier_wait(&s->start);
    double t0 = now();
    usleep((useconds_t)(secs * 1e6));
    s->stop = 1;
    double elapsed = now() - t0;
    for (int i = 0; i < n; i++)
        wait(NULL);
    report(s, peer, test, n, one, hold_ms, elapsed);
}

static void elect(const char *url, int64_t ttl_ms)
{
    tenure *t = open_store(url, ttl_ms, TENURE_PUMP);
    acquire(t, "bench/elect");
    puts("LEADER");
    fflush(stdout);
    for (;;)
        pause();
}

static double file_mb(const char *url)
{
    struct stat st;
    const char *path = strchr(url, ':') + 1;
    return stat(path, &st) == 0 ? (double)st.st_size / 1048576 : 0;
}

static double pair_us(tenure *t, int n)
{
    struct lat l = {0};
    for (int i = 0; i < n; i++) {
        double t0 = now();
        release(acquire(t, "bench/one-more"));
        lat_add(&l, now() - t0);
    }
    qsort(l.v, l.n, sizeof *l.v, cmp_f);
    return l.v[l.n / 2];
}

static void idle(tenure *t, double secs)
{
    for (double end = now() + secs; now() < end;) {
        struct pollfd p = {.fd = tenure_fd(t), .events = POLLIN};
        poll(&p, 1, 100);
        tenure_process(t);
    }
}

static long write_calls(void)
{
    long n = 0;
    char line[128];
    FILE *f = fopen("/proc/self/io", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "syscw: %ld", &n);
    if (f)
        fclose(f);
    return n;
}

static void hold(const char *peer, const char *url, int n, double secs)
{
    tenure *t = open_store(url, 10000, 0);
    char name[48], test[32];
    row(peer, "held/0", "pair_us", pair_us(t, 2000));
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "hold/lock-name-%08d", i);
        acquire(t, name);
    }
    snprintf(test, sizeof test, "held/%d", n);
    row(peer, test, "pair_us", pair_us(t, 2000));
    row(peer, test, "file_MB", file_mb(url));
    long before = write_calls();
    idle(t, secs);
    snprintf(test, sizeof test, "rest/%d", n);
    row(peer, test, "write_calls/s", (double)(write_calls() - before) / secs);
    _exit(0); /* letting go of them one by one is not what is measured */
}

static void stand(const char *peer, const char *url, int n, double secs)
{
    int pipes[2];
    char test[32];
    tenure *t = open_store(url, 10000, TENURE_PUMP);
    acquire(t, "bench/stand");
    if (pipe(pipes) != 0)
        die("pipe");
    for (int i = 0; i < n; i++) {
        if (fork() != 0)
            continue;
        tenure *s = open_store(url, 10000, 0);
        tenure_claim *c;
        tenure_error err;
        if (tenure_ask(s, "bench/stand", NULL, &c, &err) < 0)
            die(err.text);
        long before = write_calls();
        idle(s, secs);
        double writes = (double)(write_calls() - before) / secs;
        if (write(pipes[1], &writes, sizeof writes) != sizeof writes)
            die("write");
        _exit(0);
    }
    double sum = 0, each;
    for (int i = 0; i < n; i++) {
        if (read(pipes[0], &each, sizeof each) != sizeof each)
            die("read");
        sum += each;
    }
    snprintf(test, sizeof test, "rest/stand%d", n);
    row(peer, test, "write_calls/s", sum / n);
    while (wait(NULL) > 0)
        ;
}

static void check(const char *peer, const char *url)
{
    tenure *t = open_store(url, 60000, 0);
    tenure_claim *c = acquire(t, "bench/check");
    enum { N = 5000000 };
    long standing = 0;
    double t0 = now();
    for (int i = 0; i < N; i++)
        standing += tenure_check(c) == TENURE_STANDING;
    double ns = (now() - t0) / N * 1e9;
    if (standing != N)
        die("it did not stand");
    row(peer, "check", "ns", ns);
}

/* One handle and one thread, which never waits for one name alone: what is asked and given back at
 * the same time goes out together. */
static void pipe_names(const char *peer, const char *url, int n, double secs)
{
    tenure *t = open_store(url, 10000, 0);
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    tenure_error err;
    tenure_event e;
    char test[32], name[32];
    long pairs = 0;
    terms.later = true;
    double t0 = now();
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "pipe/%d", i);
        if (tenure_ask(t, name, &terms, &c, &err) < 0)
            die(err.text);
    }
    while (now() - t0 < secs) {
        struct pollfd p = {.fd = tenure_fd(t), .events = POLLIN};
        poll(&p, 1, 1000);
        tenure_process(t);
        while (tenure_next_event(t, &e) > 0) {
            if (e.kind != TENURE_EVENT_GRANTED)
                continue;
            snprintf(name, sizeof name, "%s", tenure_claim_name(e.claim));
            pairs++;
            if (tenure_leave(e.claim, &err) < 0 || tenure_ask(t, name, &terms, &c, &err) < 0)
                die(err.text);
        }
    }
    snprintf(test, sizeof test, "lock/pipe%d", n);
    row(peer, test, "pairs/s", (double)pairs / (now() - t0));
    tenure_close(t);
}

int main(int argc, char **argv)
{
    char test[32];
    if (argc >= 6 && (!strcmp(argv[1], "lock") || !strcmp(argv[1], "fight"))) {
        snprintf(test, sizeof test, "%s/%s", argv[1], argv[4]);
        run(argv[2], test, argv[3], atoi(argv[4]), argv[1][0] == 'f', atof(argv[5]));
    } else if (argc == 6 && !strcmp(argv[1], "pipe")) {
        pipe_names(argv[2], argv[3], atoi(argv[4]), atof(argv[5]));
    } else if (argc >= 3 && !strcmp(argv[1], "elect")) {
        elect(argv[2], argc > 3 ? atoll(argv[3]) : 10000);
    } else if (argc == 6 && !strcmp(argv[1], "hold")) {
        hold(argv[2], argv[3], atoi(argv[4]), atof(argv[5]));
    } else if (argc == 6 && !strcmp(argv[1], "stand")) {
        stand(argv[2], argv[3], atoi(argv[4]), atof(argv[5]));
    } else if (argc == 4 && !strcmp(argv[1], "check")) {
        check(argv[2], argv[3]);
    } else {
        die("usage: see the top of tenure.c");
    }
    return 0;
}
