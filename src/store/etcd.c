/* store/etcd.c - the engine in etcd: its table of calls, opening and closing. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "store/engines.h"
#include "store/etcd_engine.h"
#include "wire/duration.h"

#define CLOSE_MS 2000 /* to say good-bye; else the session expires */

/* ---- turning --------------------------------------------------------------------------------- */

void etcd_process(struct store *store)
{
    struct etcd_store *s = etcd_of(store);
    s->gathering = false;
    etcd_link_step(s);
    etcd_works_expire(s);
    etcd_works_start(s);
    etcd_link_flush(s);
}

static int etcd_fd(struct store *store)
{
    return etcd_of(store)->epoll;
}

static bool is_wanted(const struct etcd_store *s)
{
    return s->queue || s->own.id != 0 || s->watches > 0 || s->all;
}

static struct instant etcd_due(struct store *store)
{
    const struct etcd_store *s = etcd_of(store);
    struct instant due = s->gathering ? INSTANT(0) : etcd_hint_due(s);
    if (s->link.state != LINK_DOWN || is_wanted(s))
        due = instant_min(due, etcd_link_due(s));
    for (const struct etcd_work *w = s->queue; w; w = w->next)
        due = instant_min(due, w->give_up);
    return instant_min(due, s->held_back);
}

bool etcd_turn_until(struct etcd_store *s, bool (*done)(const struct etcd_store *s),
                     struct instant limit)
{
    while (!done(s)) {
        struct instant next = s->gathering ? INSTANT(0) : instant_min(limit, etcd_link_due(s));
        int64_t left = instant_diff(clock_now(), next).ms;
        struct pollfd p = {.fd = s->epoll, .events = POLLIN};
        if (instant_reached(clock_now(), limit))
            return false;
        if (left > 0)
            poll(&p, 1, left > 1000 ? 1000 : (int)left);
        if (s->link.state == LINK_DOWN)
            etcd_link_start(s);
        etcd_process(&s->store);
    }
    return true;
}

/* ---- giving up ------------------------------------------------------------------------------- */

static struct etcd_work *find(struct etcd_work *list, const struct store_op *op)
{
    while (list && list->op != op)
        list = list->next;
    return list;
}

/* What is in flight stays, without an owner.  A connection that has kept an attempt waiting for
 * all its time is given up, so that the next attempt gets a fresh one. */
static void etcd_abandon(struct store *store, struct store_op *op)
{
    struct etcd_store *s = etcd_of(store);
    struct etcd_work *w;
    if (op->done)
        return;
    if ((w = find(s->queue, op)) != NULL) {
        etcd_work_land(s, w);
        etcd_work_free(w);
    } else if ((w = find(s->flight, op)) != NULL) {
        struct instant spent = instant_add(w->give_up, SPAN(-s->patience.ms / 10));
        w->op = NULL;
        s->own.certain = false;
        if (w->kind == WORK_UPDATE && w->writes)
            fence_raise(&s->fences, w->key, w->count);
        if (instant_reached(clock_now(), spent) && s->link.state == LINK_UP)
            etcd_link_drop(s, TENURE_UNREACHABLE, "etcd did not answer within the time allowed");
    }
    store_op_finish(op, TENURE_UNSURE);
}

/* ---- closing --------------------------------------------------------------------------------- */

static bool is_idle(const struct etcd_store *s)
{
    bool calls = false;
    for (const struct etcd_call *c = s->link.calls; c; c = c->next)
        calls = calls || !c->streams;
    return s->link.state != LINK_UP || (!s->queue && !s->flight && !calls);
}

static void say_goodbye(struct etcd_store *s)
{
    struct store_session_close op = {.session = s->own.id};
    int64_t ms = s->patience.ms < CLOSE_MS ? s->patience.ms : CLOSE_MS;
    s->watches = s->watchers = 0;
    s->all = false;
    if (!s->greeted)
        return;
    if (s->own.id != 0)
        store_session_close(&s->store, &op);
    etcd_turn_until(s, is_idle, instant_add(clock_now(), SPAN(ms)));
    if (op.session != 0 && !op.op.done)
        etcd_abandon(&s->store, &op.op);
}

static void works_free(struct etcd_work *w)
{
    while (w) {
        struct etcd_work *next = w->next;
        etcd_work_free(w);
        w = next;
    }
}

static void etcd_free(struct etcd_store *s)
{
    etcd_memory_forget(s);
    etcd_arena_free(&s->arena);
    works_free(s->queue);
    works_free(s->flight);
    for (int i = 0; i < STORE_KEYS_MAX; i++)
        free(s->buffer[i]);
    if (s->epoll >= 0)
        close(s->epoll);
    free(s->link.out);
    fence_set_free(&s->fences);
    free(s->followed);
    free(s->watch);
    free(s->watcher);
    free(s->ca);
    free(s->cert);
    free(s->key);
    free(s->server_name);
    free(s->user);
    free(s->password_file);
    free(s->token);
    free(s->spec);
    free(s->url);
    free(s);
}

static void etcd_close(struct store *store)
{
    struct etcd_store *s = etcd_of(store);
    if (!s->forked)
        say_goodbye(s);
    etcd_link_close(s);
    etcd_free(s);
}

static void etcd_forked(struct store *store)
{
    struct etcd_store *s = etcd_of(store);
    s->forked = true;
    if (s->link.fd >= 0)
        close(s->link.fd);
    close(s->epoll);
    s->link.fd = s->epoll = -1;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const char *etcd_where(struct store *store)
{
    return etcd_of(store)->url;
}

static const struct store_ops etcd_ops = {
    .scheme = "etcd",
    .close = etcd_close,
    .update = etcd_update,
    .session_open = etcd_session_open,
    .session_renew = etcd_session_renew,
    .session_close = etcd_session_close,
    .read = etcd_read,
    .abandon = etcd_abandon,
    .watch_sessions = etcd_watch_sessions,
    .watch_all = etcd_watch_all,
    .next_hint = etcd_next_hint,
    .vigil = etcd_vigil,
    .fd = etcd_fd,
    .process = etcd_process,
    .due = etcd_due,
    .forked = etcd_forked,
    .examine = etcd_examine,
    .url = etcd_where,
};

static struct etcd_store *allocate(struct span patience)
{
    struct etcd_store *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->store.ops = &etcd_ops;
    s->queue_end = &s->queue;
    s->held_back = INSTANT_NEVER;
    s->link.fd = s->link.left = -1;
    s->patience = SPAN(patience.ms > 0 ? patience.ms : TIMING_TTL_DEFAULT_MS / 6);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    bool fine = s->epoll >= 0;
    for (int i = 0; i < STORE_KEYS_MAX; i++) {
        s->buffer[i] = malloc(STORE_RECORD_MAX);
        fine = fine && s->buffer[i];
    }
    if (fine)
        return s;
    etcd_free(s);
    return NULL;
}

/* A copy of what was given; false without memory. */
static bool take(char **to, struct text t)
{
    *to = t.len > 0 ? strndup(t.at, t.len) : NULL;
    return t.len == 0 || *to;
}

static int parse(struct etcd_store *s, const struct url *url, tenure_error *err)
{
    struct text at = {0};
    struct url copy;
    int n = asprintf(&s->url, "etcd:%.*s%s%.*s", (int)url->body.len, url->body.at,
                     url->query.len > 0 ? "?" : "", (int)url->query.len,
                     url->query.len > 0 ? url->query.at : "");
    if (n < 0) {
        s->url = NULL; /* asprintf() leaves it undefined */
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    }
    if (!(s->spec = strdup(s->url)))
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    if (url_parse(text_of(s->spec), &copy) != URL_FINE)
        return fail(err, TENURE_INTERNAL, "%s: no URL any more", s->url);
    enum etcd_url_flaw flaw = etcd_url_parse(&copy, &s->place, &at);
    if (flaw != ETCD_URL_FINE && at.len == 0)
        return fail(err, TENURE_INVALID, "\"%.120s\": %s", s->url, etcd_url_flaw_text(flaw));
    if (flaw != ETCD_URL_FINE)
        return fail(err, TENURE_INVALID, "\"%.120s\": \"%.*s\": %s", s->url,
                    (int)(at.len > 60 ? 60 : at.len), at.at, etcd_url_flaw_text(flaw));
    if (!take(&s->ca, s->place.ca) || !take(&s->cert, s->place.cert) ||
        !take(&s->key, s->place.key) || !take(&s->server_name, s->place.server_name) ||
        !take(&s->user, s->place.user) || !take(&s->password_file, s->place.password_file))
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    snprintf(s->prefix, sizeof s->prefix, "%.*s/", (int)s->place.prefix.len, s->place.prefix.at);
    return s->place.tls ? etcd_tls_load(err) : 0;
}

/* When nobody listens anywhere, or every member has refused, there is no need to wait for a better
 * answer; one that is silent may be electing a leader. */
static bool is_open(const struct etcd_store *s)
{
    const struct etcd_link *l = &s->link;
    unsigned all = (unsigned)s->place.endpoints;
    bool refused = l->trouble.code < 0 &&
                   tenure_class(l->trouble.code) != TENURE_CLASS_UNREACHABLE;
    bool tried = l->state == LINK_DOWN && l->failures >= all;
    return s->greeted || (tried && (refused || l->absent >= all));
}

static int open_store(const struct url *url, const struct store_options *opt,
                      const uint64_t *raise, struct etcd_store **ret, tenure_error *err)
{
    int code = etcd_load(err);
    if (code < 0)
        return code;
    struct etcd_store *s = allocate(opt->patience);
    if (!s)
        return fail(err, TENURE_NO_MEMORY, "out of memory or descriptors");
    struct span opening = store_opening(opt);
    char within[DURATION_BYTES];
    s->create = opt->create;
    s->raising = raise != NULL;
    s->raise_above = raise ? *raise : 0;
    s->next_watch = 1;
    code = parse(s, url, err);
    if (code == 0) {
        etcd_turn_until(s, is_open, instant_add(clock_now(), opening));
        if (!s->greeted && s->link.trouble.code < 0)
            code = fail(err, s->link.trouble.code, "%s", s->link.trouble.text);
        else if (!s->greeted)
            code = fail(err, TENURE_UNREACHABLE, "etcd did not answer within %s",
                        duration_format(opening, within));
    }
    if (code < 0) {
        etcd_close(&s->store);
        return code;
    }
    *ret = s;
    return 0;
}

int etcd_store_open(const struct url *url, const struct store_options *opt, struct store **ret,
                    tenure_error *err)
{
    struct etcd_store *s;
    int code = open_store(url, opt, NULL, &s, err);
    if (code == 0)
        *ret = &s->store;
    return code;
}

int etcd_store_raise(const struct url *url, uint64_t above, tenure_error *err)
{
    const struct store_options opt = {.create = false};
    struct etcd_store *s;
    int code = open_store(url, &opt, &above, &s, err);
    if (code == 0)
        etcd_close(&s->store);
    return code;
}
