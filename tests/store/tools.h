/* tests/store/tools.h - what the suites of the stores share: places and calls. */
#ifndef TESTS_STORE_TOOLS_H
#define TESTS_STORE_TOOLS_H

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/timing.h"
#include "decisions.h"
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
