/* tests/store/tools.h - what the suites of the stores share: places, calls, and decisions on
 * records that hold one number. */
#ifndef TESTS_STORE_TOOLS_H
#define TESTS_STORE_TOOLS_H

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/timing.h"
#include "os/clock.h"
#include "store/store.h"
#include "tap.h"

#define LIMIT_MS 20000 /* for what should take microseconds */
#define LONG SPAN(60000)

static tenure_error err;
static bool ephemeral; /* what the next updates change (store.h) */

/* A directory of this run's, removed by the caller of the suite; ends the run without one. */
static inline const char *scratch(void)
{
    static char dir[200];
    if (!dir[0]) {
        snprintf(dir, sizeof dir, "%s/tenure-store-XXXXXX",
                 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
        if (!mkdtemp(dir))
            abort();
    }
    return dir;
}

static inline void scratch_remove(void)
{
    char command[400];
    pid_t pid = fork();
    snprintf(command, sizeof command, "%s", scratch());
    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", command, (char *)NULL);
        _exit(127);
    }
}

static inline bool before(int64_t limit)
{
    return clock_now().ms < limit;
}

/* Waits until the store has work, at the latest until `limit`; a little even when it is due, as it
 * always is while nobody takes its hints. */
static inline void rest(struct store *s, int64_t limit)
{
    int64_t wait = instant_min(s->ops->due(s), INSTANT(limit)).ms - clock_now().ms;
    struct pollfd p = {.fd = s->ops->fd(s), .events = POLLIN};
    poll(&p, 1, wait > 0 ? (int)wait : 1);
}

/* Turns the store until the operation is done. */
static inline int finish(struct store *s, struct store_op *op)
{
    int64_t limit = clock_now().ms + LIMIT_MS;
    while (!op->done && before(limit)) {
        rest(s, limit);
        s->ops->process(s);
    }
    if (!op->done) {
        s->ops->abandon(s, op);
        return TENURE_TIMED_OUT;
    }
    if (op->code < 0)
        err = op->error;
    return op->code;
}

static inline int update2(struct store *s, const char *a, const char *b, store_decide_fn *decide,
                          void *arg)
{
    struct store_update op = {.count = b ? 2 : 1,
                              .key = {a, b},
                              .decide = decide,
                              .arg = arg,
                              .ephemeral = ephemeral};
    store_update(s, &op);
    int code = finish(s, &op.op);
    return code < 0 ? code : op.verdict;
}

static inline int update(struct store *s, const char *key, store_decide_fn *decide, void *arg)
{
    return update2(s, key, NULL, decide, arg);
}

static inline uint64_t session_open(struct store *s, struct span ttl)
{
    struct store_session_open op = {.ttl = ttl};
    store_session_open(s, &op);
    return finish(s, &op.op) < 0 ? 0 : op.session;
}

static inline int session_renew(struct store *s, uint64_t session, bool *ret_noticed)
{
    struct store_session_renew op = {.session = session};
    store_session_renew(s, &op);
    int code = finish(s, &op.op);
    if (ret_noticed)
        *ret_noticed = op.noticed;
    return code;
}

static inline int session_close(struct store *s, uint64_t session)
{
    struct store_session_close op = {.session = session};
    store_session_close(s, &op);
    return finish(s, &op.op);
}

static inline void shut(struct store *s)
{
    s->ops->close(s);
}

/* ---- decisions ------------------------------------------------------------------------------ */

static inline uint64_t number_of(const struct store_record *r)
{
    uint64_t n = 0;
    if (r->len == sizeof n)
        memcpy(&n, r->bytes, sizeof n);
    return n;
}

static inline void put_number(struct store_view *view, int i, uint64_t n)
{
    memcpy(view->out[i].bytes, &n, sizeof n);
    view->out[i].len = sizeof n;
    view->out[i].what = STORE_PUT;
    view->fx->changed = true;
}

/* Adds one to each record; returns the first. */
static inline int add_one(void *arg, struct store_view *view)
{
    (void)arg;
    for (int i = 0; i < view->count; i++)
        put_number(view, i, number_of(&view->in[i]) + 1);
    return (int)number_of(&view->in[0]) + 1;
}

static inline int see(void *arg, struct store_view *view)
{
    (void)arg;
    return (int)number_of(&view->in[0]);
}

static inline int erase(void *arg, struct store_view *view)
{
    (void)arg;
    view->out[0].what = STORE_DELETE;
    view->fx->changed = true;
    return 0;
}

/* Draws a token into *arg. */
static inline int grant(void *arg, struct store_view *view)
{
    uint64_t *token = arg;
    *token = ++view->facts.token_floor;
    put_number(view, 0, *token);
    return 1;
}

struct question {
    uint64_t session;
    enum liveness answer;
    struct instant until, now;
};

static inline int ask_liveness(void *arg, struct store_view *view)
{
    struct question *q = arg;
    q->answer = view->facts.liveness(view->facts.oracle, q->session, &q->until);
    q->now = view->facts.now;
    return 0;
}

/* The same, and writes: so the store may also forget who is gone. */
static inline int ask_and_write(void *arg, struct store_view *view)
{
    ask_liveness(arg, view);
    return add_one(NULL, view);
}

/* Rings the bell of the session *arg. */
static inline int ring_at(void *arg, struct store_view *view)
{
    view->fx->ring[view->fx->ring_count++] = *(uint64_t *)arg;
    return add_one(NULL, view);
}

static inline int tell(void *arg, struct store_view *view)
{
    view->fx->notice = *(uint64_t *)arg;
    return add_one(NULL, view);
}

static inline enum liveness liveness_of(struct store *s, uint64_t session)
{
    struct question q = {.session = session, .answer = LIVE};
    if (update(s, "liveness", ask_liveness, &q) < 0)
        abort();
    return q.answer;
}

/* ---- hints ---------------------------------------------------------------------------------- */

/* Waits for a hint about the key, by the descriptor and `due` as the library does. */
static inline bool heard(struct store *s, const char *key, int64_t limit_ms)
{
    int64_t limit = clock_now().ms + limit_ms;
    uint64_t hash = store_key_hash(key);
    do {
        struct store_hint hint;
        s->ops->process(s);
        while (s->ops->next_hint(s, &hint)) {
            if (hint.all || hint.key_hash == hash)
                return true;
        }
        rest(s, limit);
    } while (before(limit));
    return false;
}

/* Takes what is there. */
static inline void drain(struct store *s)
{
    struct store_hint hint;
    s->ops->process(s);
    while (s->ops->next_hint(s, &hint))
        continue;
}

#endif
