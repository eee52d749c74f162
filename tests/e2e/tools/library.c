/* library.c - libtenure under the hand of a test: a command from each line of stdin, one line of
 * answer to each, "CODE TEXT", where CODE is what the library returned.
 *
 *     open URL TTL_MS AS [pump]       withhold 0|1          lease take|renew|drop NAME N
 *     acquire NAME WAIT_MS            check, token, left    event (the oldest, or 0)
 *     wait MS                         release               close
 *     process                         busy N (threads)      serve MS (turns until then)
 *     put KEY VALUE NAME              a guarded value, under the claim's token of NAME
 *     rally NAME ROUNDS FILE          takes and gives back in turn with others, until there were
 *                                     so many hand-overs; FILE is shared.  Answers how many came
 *                                     to us, the worst and the median in microseconds
 *     crew NAME N COUNT               an event loop that takes NAME/1 to NAME/N, each again as
 *                                     soon as it has it, COUNT times in all.  Answers how often
 */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tenure/config.h>
#include <tenure/tenure.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 6 };

static tenure *handle;
static tenure_claim *claim;
static tenure_error err;

static void answer(int code, const char *text)
{
    printf("%d %s\n", code, code < 0 ? (err.text[0] ? err.text : tenure_error_name(code)) : text);
}

static void answer_number(int code, uint64_t n)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, n);
    answer(code, text);
}

static void do_open(char **w)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    opt.ttl_ms = atol(w[2]);
    opt.as = w[3];
    opt.flags = w[4] ? TENURE_PUMP : 0;
    answer(tenure_open(w[1], &opt, &handle, &err), "open");
}

static void do_acquire(char **w)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    terms.wait_ms = atol(w[2]);
    int code = tenure_acquire(handle, w[1], &terms, &claim, &err);
    answer_number(code, code < 0 ? 0 : tenure_claim_token(claim));
}

static void do_lease(char **w)
{
    tenure_token token = w[3] ? strtoull(w[3], NULL, 10) : 0;
    int64_t ttl_ms = w[4] ? atol(w[4]) : 0;
    int code;
    if (strcmp(w[1], "take") == 0)
        code = tenure_lease_take(handle, w[2], NULL, (int64_t)token, &token, &err);
    else if (strcmp(w[1], "renew") == 0)
        code = tenure_lease_renew(handle, w[2], token, ttl_ms, &err);
    else
        code = tenure_lease_drop(handle, w[2], token, &err);
    answer_number(code, token);
}

static void do_put(char **w)
{
    tenure_config_terms terms = TENURE_CONFIG_TERMS_INIT;
    uint64_t version = 0;
    terms.name = w[3];
    terms.epoch = tenure_claim_token(claim);
    int code = tenure_config_put(handle, w[1], w[2], strlen(w[2]), &terms, &version, &err);
    answer_number(code, version);
}

static void do_event(void)
{
    static const char *const kinds[] = {"", "granted", "doubtful", "safe", "asked-to-stop", "lost"};
    tenure_event e;
    int code = tenure_next_event(handle, &e);
    answer(code, code == 1 ? kinds[e.kind] : "none");
}

static void *compute(void *arg)
{
    for (volatile unsigned long n = 0;; n++)
        continue;
    return arg;
}

static void do_busy(long n)
{
    pthread_t thread;
    int failed = 0;
    for (long i = 0; i < n; i++)
        failed += pthread_create(&thread, NULL, compute, NULL) != 0;
    answer(failed ? TENURE_NO_MEMORY : 0, "busy");
}

/* An event loop for a while, or until the claim is lost. */
static void do_serve(long ms)
{
    int64_t end = tenure_now() + ms;
    while (tenure_now() < end && !(claim && tenure_check(claim) < 0)) {
        struct pollfd p = {.fd = tenure_fd(handle), .events = POLLIN};
        if (poll(&p, 1, 20) < 0 || tenure_process(handle) < 0)
            break;
    }
    answer(claim ? tenure_check(claim) : 0, "served");
}

/* ---- rally ---------------------------------------------------------------------------------- */

struct ball {
    _Atomic int64_t released_us;
    _Atomic int from;
    _Atomic long passes; /* hand-overs from one to another */
};

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int one_rally(const char *name, struct ball *ball, int64_t *ret_us)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    int code = tenure_acquire(handle, name, &terms, &claim, &err);
    if (code < 0)
        return code;
    int64_t released = atomic_load(&ball->released_us);
    *ret_us = atomic_load(&ball->from) == getpid() || released == 0 ? -1 : now_us() - released;
    if (*ret_us >= 0)
        atomic_fetch_add(&ball->passes, 1);
    atomic_store(&ball->from, getpid());
    atomic_store(&ball->released_us, now_us());
    code = tenure_release(claim, &err);
    claim = NULL;
    return code;
}

static void do_rally(char **w)
{
    long rounds = atol(w[2]), count = 0;
    int64_t *us = calloc((size_t)rounds, sizeof *us), got;
    int fd = open(w[3], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct ball *ball = MAP_FAILED;
    if (us && fd >= 0 && ftruncate(fd, sizeof *ball) == 0)
        ball = mmap(NULL, sizeof *ball, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int code = ball == MAP_FAILED ? TENURE_INTERNAL : 0;
    while (code == 0 && atomic_load(&ball->passes) < rounds) {
        code = one_rally(w[1], ball, &got);
        if (code == 0 && got >= 0 && count < rounds)
            us[count++] = got;
    }
    qsort(us, (size_t)count, sizeof *us, compare);
    char text[96];
    snprintf(text, sizeof text, "%ld %" PRId64 " %" PRId64, count, count ? us[count - 1] : 0,
             count ? us[count / 2] : 0);
    answer(code, text);
    free(us);
    close(fd);
}

/* ---- crew ----------------------------------------------------------------------------------- */

static int ask_for(const char *name)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *ignored;
    terms.later = true;
    return tenure_ask(handle, name, &terms, &ignored, &err);
}

/* What is granted is left and asked for again; returns 1 for each, and a code when it fails. */
static int take_turn(void)
{
    char name[256];
    tenure_event e;
    int taken = 0;
    while (tenure_next_event(handle, &e) > 0) {
        if (e.kind != TENURE_EVENT_GRANTED)
            continue;
        snprintf(name, sizeof name, "%s", tenure_claim_name(e.claim));
        int code = tenure_leave(e.claim, &err);
        if (code == 0)
            code = ask_for(name);
        if (code < 0)
            return code;
        taken++;
    }
    return taken;
}

static void do_crew(char **w)
{
    char name[256];
    long count = atol(w[3]), taken = 0;
    int code = 0;
    for (long i = 1; i <= atol(w[2]) && code == 0; i++) {
        snprintf(name, sizeof name, "%.200s/%ld", w[1], i);
        code = ask_for(name);
    }
    while (code >= 0 && taken < count) {
        struct pollfd p = {.fd = tenure_fd(handle), .events = POLLIN};
        code = poll(&p, 1, 10000) == 1 ? tenure_process(handle) : TENURE_TIMED_OUT;
        if (code == 0)
            code = take_turn();
        taken += code > 0 ? code : 0;
    }
    answer_number(code < 0 ? code : 0, (uint64_t)taken);
}

/* ---- commands ------------------------------------------------------------------------------- */

static void do_claim(char **w)
{
    if (strcmp(w[0], "wait") == 0) {
        answer(tenure_wait(claim, atol(w[1]), &err), "held");
    } else if (strcmp(w[0], "check") == 0) {
        answer(tenure_check(claim), "standing");
    } else if (strcmp(w[0], "token") == 0) {
        answer_number(0, tenure_claim_token(claim));
    } else if (strcmp(w[0], "left") == 0) {
        answer_number(0, (uint64_t)tenure_claim_left(claim));
    } else if (strcmp(w[0], "release") == 0) {
        int code = tenure_release(claim, &err);
        claim = NULL;
        answer(code, "released");
    } else {
        answer(TENURE_INVALID, w[0]);
    }
}

static void obey(char **w)
{
    err.text[0] = '\0';
    if (strcmp(w[0], "open") == 0) {
        do_open(w);
    } else if (strcmp(w[0], "acquire") == 0) {
        do_acquire(w);
    } else if (strcmp(w[0], "lease") == 0) {
        do_lease(w);
    } else if (strcmp(w[0], "put") == 0) {
        do_put(w);
    } else if (strcmp(w[0], "event") == 0) {
        do_event();
    } else if (strcmp(w[0], "busy") == 0) {
        do_busy(atol(w[1]));
    } else if (strcmp(w[0], "serve") == 0) {
        do_serve(atol(w[1]));
    } else if (strcmp(w[0], "rally") == 0) {
        do_rally(w);
    } else if (strcmp(w[0], "crew") == 0) {
        do_crew(w);
    } else if (strcmp(w[0], "process") == 0) {
        answer(tenure_process(handle), "processed");
    } else if (strcmp(w[0], "withhold") == 0) {
        tenure_withhold(handle, w[1][0] == '1');
        answer(0, "withheld");
    } else if (strcmp(w[0], "close") == 0) {
        handle = tenure_close(handle);
        claim = NULL;
        answer(0, "closed");
    } else {
        do_claim(w);
    }
}

int main(void)
{
    char line[4096];
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        char *word[WORDS + 1] = {NULL}, *rest = line;
        for (int n = 0; n < WORDS && (word[n] = strtok_r(rest, " \n", &rest)); n++)
            continue;
        if (word[0])
            obey(word);
    }
    return 0; /* without closing, as a program that crashes */
}
