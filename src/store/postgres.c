/* store/postgres.c - the PostgreSQL engine: its table of calls, opening and closing. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "store/engines.h"
#include "store/postgres_engine.h"
#include "wire/duration.h"

#define PATIENCE_DEFAULT_MS (TIMING_TTL_DEFAULT_MS / 6)
#define CLOSE_MS 2000  /* to say good-bye; else the session expires */

/* ---- turning -------------------------------------------------------------------------------- */

static void pg_process(struct store *store)
{
    struct pg_store *s = pg_of(store);
    if (s->line.state != LINK_DOWN)
        link_step(s, &s->line);
    doorbell_step(s);
    ear_step(s);
    works_expire(s);
    request_next(s);
}

static int pg_fd(struct store *store)
{
    return pg_of(store)->epoll;
}

/* What waits for the line to be free is due when the line is. */
static struct instant pg_due(struct store *store)
{
    struct pg_store *s = pg_of(store);
    bool wanted = s->queue || s->rings > 0 || hints_are_polled(s);
    struct instant due = hint_queue_is_empty(&s->hints) ? INSTANT_NEVER : INSTANT(0);
    if (s->line.state != LINK_DOWN || wanted)
        due = instant_min(due, link_due(s, &s->line));
    if (s->line.state == LINK_UP && !s->line.busy)
        due = instant_min(due, poll_due(s));
    due = instant_min(due, ear_due(s));
    for (struct work *w = s->queue; w; w = w->next)
        due = instant_min(due, w->give_up);
    return due;
}

/* Turns until `done` says so, or the limit has come. */
static bool turn_until(struct pg_store *s, bool (*done)(const struct pg_store *s),
                       struct instant limit)
{
    while (!done(s)) {
        int64_t left = instant_diff(clock_now(), instant_min(limit, pg_due(&s->store))).ms;
        struct pollfd p = {.fd = s->epoll, .events = POLLIN};
        if (instant_reached(clock_now(), limit))
            return false;
        if (left > 0)
            poll(&p, 1, left > 1000 ? 1000 : (int)left);
        pg_process(&s->store);
    }
    return true;
}

/* ---- giving up ------------------------------------------------------------------------------ */

static bool drop_from_queue(struct pg_store *s, const struct store_op *op)
{
    struct work **at = &s->queue;
    while (*at && (*at)->op != op)
        at = &(*at)->next;
    struct work *w = *at;
    if (!w)
        return false;
    *at = w->next;
    if (!w->next)
        s->queue_end = at;
    work_free(w);
    return true;
}

/* What is in flight stays, without an owner.  A connection that has kept an attempt waiting for
 * all its time is given up, so that the next attempt gets a fresh one. */
static void pg_abandon(struct store *store, struct store_op *op)
{
    struct pg_store *s = pg_of(store);
    if (op->done)
        return;
    if (!drop_from_queue(s, op)) {
        for (struct work *w = s->flight; w; w = w->next) {
            if (w->op == op)
                w->op = NULL;
        }
        struct instant spent = instant_add(link_limit(s, &s->line), SPAN(-s->patience.ms / 10));
        if (s->line.busy && instant_reached(clock_now(), spent)) {
            link_time_out(s, &s->line, "the server did not answer within the time allowed");
            s->line.retry = clock_now();
        }
    }
    store_op_finish(op, TENURE_UNSURE);
}

/* ---- closing -------------------------------------------------------------------------------- */

static bool is_idle(const struct pg_store *s)
{
    return !s->queue && !s->line.busy && s->rings == 0;
}

static bool is_closed(const struct pg_store *s)
{
    return is_idle(s) || s->line.state == LINK_DOWN;
}

static void say_goodbye(struct pg_store *s)
{
    struct store_session_close op = {.session = s->session};
    int64_t ms = s->patience.ms < CLOSE_MS ? s->patience.ms : CLOSE_MS;
    s->listen = LISTEN_OFF;
    s->watches = 0;
    s->all = s->echo = false;
    if (s->line.state != LINK_UP)
        return;
    if (s->session != 0)
        store_session_close(&s->store, &op);
    turn_until(s, is_closed, instant_add(clock_now(), SPAN(ms)));
    if (s->session != 0 && !op.op.done)
        pg_abandon(&s->store, &op.op);
}

static void pg_forked(struct store *store)
{
    struct pg_store *s = pg_of(store);
    s->forked = true;
    if (s->line.conn && pq.PQsocket(s->line.conn) >= 0)
        close(pq.PQsocket(s->line.conn));
    if (s->ear.conn && pq.PQsocket(s->ear.conn) >= 0)
        close(pq.PQsocket(s->ear.conn));
    neighbours_forked(&s->neighbours);
    close(s->epoll);
    s->epoll = -1;
}

static void works_free(struct work *w)
{
    while (w) {
        struct work *next = w->next;
        work_free(w);
        w = next;
    }
}

static void pg_free(struct pg_store *s)
{
    cache_forget(&s->records);
    cache_forget(&s->sessions);
    params_free(&s->params);
    works_free(s->queue);
    works_free(s->flight);
    for (int i = 0; i < STORE_KEYS_MAX; i++)
        free(s->buffer[i]);
    neighbours_close(&s->neighbours);
    if (s->epoll >= 0)
        close(s->epoll);
    free(s->relied.at);
    fence_set_free(&s->fences);
    free(s->watch);
    pg_parsed_free(s);
    free(s);
}

static void pg_close(struct store *store)
{
    struct pg_store *s = pg_of(store);
    if (!s->forked)
        say_goodbye(s);
    link_close(s, &s->line);
    link_close(s, &s->ear);
    pg_free(s);
}

/* ---- opening -------------------------------------------------------------------------------- */

static const char *pg_url(struct store *store)
{
    return pg_of(store)->url;
}

static const struct store_ops pg_ops = {
    .scheme = "postgres",
    .close = pg_close,
    .update = pg_update,
    .session_open = pg_session_open,
    .session_renew = pg_session_renew,
    .session_close = pg_session_close,
    .read = pg_read,
    .abandon = pg_abandon,
    .watch_sessions = pg_watch_sessions,
    .watch_all = pg_watch_all,
    .next_hint = pg_next_hint,
    .vigil = pg_vigil,
    .fd = pg_fd,
    .process = pg_process,
    .due = pg_due,
    .forked = pg_forked,
    .examine = pg_examine,
    .url = pg_url,
};

static struct pg_store *allocate(const struct store_options *opt)
{
    struct pg_store *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->store.ops = &pg_ops;
    s->queue_end = &s->queue;
    s->line.fd = s->ear.fd = -1;
    neighbours_init(&s->neighbours);
    s->existing = !opt->create;
    s->patience = SPAN(opt->patience.ms > 0 ? opt->patience.ms : PATIENCE_DEFAULT_MS);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    bool fine = s->epoll >= 0;
    for (int i = 0; i < STORE_KEYS_MAX; i++) {
        s->buffer[i] = malloc(STORE_RECORD_MAX);
        fine = fine && s->buffer[i];
    }
    if (fine)
        return s;
    pg_free(s);
    return NULL;
}

/* A refusal is an answer: no need to wait for a better one. */
static bool is_open(const struct pg_store *s)
{
    return s->greeted || (s->line.trouble.code < 0 && !s->line.goes_on);
}

int postgres_store_open(const struct url *url, const struct store_options *opt, struct store **ret,
                        tenure_error *err)
{
    struct span opening = store_opening(opt);
    char within[DURATION_BYTES];
    struct pg_store *s = allocate(opt);
    if (!s)
        return fail(err, TENURE_NO_MEMORY, "out of memory or descriptors");
    int code = pg_parse(url, s, err);
    if (code < 0) {
        pg_free(s); /* nothing is connected, and there may be no libpq to close it with */
        return code;
    }
    request_next(s);
    if (!turn_until(s, is_open, instant_add(clock_now(), opening)))
        code = fail(err, TENURE_UNREACHABLE, "PostgreSQL: no answer within %s",
                    duration_format(opening, within));
    else if (!s->greeted)
        code = fail(err, s->line.trouble.code, "%s", s->line.trouble.text);
    if (code < 0) {
        pg_close(&s->store);
        return code;
    }
    *ret = &s->store;
    return 0;
}
