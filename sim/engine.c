#include "sim/engine.h"

#include <assert.h>
#include <string.h>

#include "core/timing.h"
#include "os/clock.h"
#include "sim/client.h"
#include "sim/system.h"

void engine_begin(void)
{
    clients_begin();
}

int engine_last_client(void)
{
    return client_count() - 1;
}

struct engine_cost engine_cost(int client)
{
    return client_at(client)->cost;
}

static struct client *client_of(struct store *s)
{
    return (struct client *)s;
}

static void set_key(struct request *q, const char *key)
{
    memcpy(q->key, key, strlen(key) + 1);
}

static void engine_update(struct store *s, struct store_update *op)
{
    struct client *c = client_of(s);
    assert(op->count == 1); /* the library decides over one record at a time */
    struct request q = {.kind = REQUEST_READ};
    set_key(&q, op->key[0]);
    if (world.plan.embedded)
        embedded_update(c, op);
    else if (client_knows(c, op))
        store_op_finish(&op->op, 0);
    else
        client_send(c, &q, WORK_UPDATE, &op->op);
}

static void engine_session_open(struct store *s, struct store_session_open *op)
{
    struct request q = {.kind = REQUEST_OPEN, .ttl_ms = op->ttl.ms};
    if (world.plan.embedded)
        embedded_open(client_of(s), op);
    else
        client_send(client_of(s), &q, WORK_OPEN, &op->op);
}

static void engine_session_renew(struct store *s, struct store_session_renew *op)
{
    struct request q = {.kind = REQUEST_RENEW, .session = op->session};
    if (world.plan.embedded)
        embedded_renew(client_of(s), op);
    else
        client_send(client_of(s), &q, WORK_RENEW, &op->op);
}

static void engine_session_close(struct store *s, struct store_session_close *op)
{
    struct request q = {.kind = REQUEST_CLOSE, .session = op->session};
    if (world.plan.embedded)
        embedded_close(client_of(s), op);
    else
        client_send(client_of(s), &q, WORK_CLOSE, &op->op);
}

static void engine_read(struct store *s, struct store_read *op)
{
    struct request q = {.kind = REQUEST_READ};
    if (world.plan.embedded)
        embedded_read(client_of(s), op);
    else
        client_send(client_of(s), &q, WORK_READ, &op->op);
}

static void engine_abandon(struct store *s, struct store_op *op)
{
    client_abandon(client_of(s), op);
    store_op_finish(op, TENURE_UNSURE);
}

static void engine_watch_sessions(struct store *s, const char *key, const uint64_t *session,
                                  uint32_t count)
{
    struct client *c = client_of(s);
    int name = server_name_index(key);
    bool watched = c->watches[name];
    c->watches[name] = count > 0;
    if (!watched && count > 0)
        c->looked = clock_now();
    if (!watched && count == 0)
        return;
    struct request q = {.kind = REQUEST_WATCH, .client = c->index};
    set_key(&q, key);
    for (uint32_t i = 0; i < count && i < REQUEST_LIST_MAX; i++)
        q.watch[q.watch_count++] = session[i];
    if (world.plan.embedded)
        server_serve(&q);
    else
        client_send(c, &q, WORK_NONE, NULL);
}

static int engine_watch_all(struct store *s, bool on, tenure_error *err)
{
    struct client *c = client_of(s);
    struct request q = {.kind = REQUEST_WATCH, .client = c->index, .watch_all = on};
    (void)err;
    c->watches_all = on;
    c->looked = clock_now();
    if (world.plan.embedded)
        server_serve(&q);
    else
        client_send(c, &q, WORK_NONE, NULL);
    return 0;
}

static bool engine_next_hint(struct store *s, struct store_hint *ret)
{
    struct client *c = client_of(s);
    bool found = c->hints.all || c->hints.count > 0;
    if (c->hints.all) {
        c->hints.all = false;
        c->hints.count = 0;
        *ret = (struct store_hint){.all = true};
    } else if (found) {
        *ret = (struct store_hint){.key_hash = c->hints.hash[--c->hints.count]};
    }
    client_ring(c);
    return found;
}

static uint64_t engine_vigil(struct store *s)
{
    return world.plan.tells ? client_of(s)->vigil : 0;
}

static int engine_fd(struct store *s)
{
    return client_of(s)->bell;
}

static struct instant engine_due(struct store *s)
{
    const struct client *c = client_of(s);
    bool cares = c->watches_all;
    for (int i = 0; i < world.plan.names; i++)
        cares |= c->watches[i];
    return cares ? instant_add(c->looked, SPAN(TIMING_NOTICE_MS)) : INSTANT_NEVER;
}

static void engine_process(struct store *s)
{
    struct client *c = client_of(s);
    client_process(c);
    if (instant_reached(clock_now(), engine_due(s))) {
        c->looked = clock_now();
        c->hints.all = true;
    }
    client_ring(c);
}

static void engine_close(struct store *s)
{
    client_of(s)->closed = true;
}

static void engine_forked(struct store *s)
{
    (void)s;
}

static void engine_examine(struct store *s, void (*fn)(void *arg, bool fine, const char *text),
                           void *arg)
{
    (void)s;
    fn(arg, true, "simulated");
}

static const char *engine_url(struct store *s)
{
    (void)s;
    return "sim:";
}

static const struct store_ops ops = {
    .scheme = "sim",
    .close = engine_close,
    .update = engine_update,
    .session_open = engine_session_open,
    .session_renew = engine_session_renew,
    .session_close = engine_session_close,
    .read = engine_read,
    .abandon = engine_abandon,
    .watch_sessions = engine_watch_sessions,
    .watch_all = engine_watch_all,
    .next_hint = engine_next_hint,
    .vigil = engine_vigil,
    .fd = engine_fd,
    .process = engine_process,
    .due = engine_due,
    .forked = engine_forked,
    .examine = engine_examine,
    .url = engine_url,
};

int store_open(const char *url, const struct store_options *opt, struct store **ret,
               tenure_error *err)
{
    (void)url;
    (void)opt;
    (void)err;
    struct client *c = world_alloc(sizeof *c);
    c->store.ops = &ops;
    c->host = task_host(task_current());
    c->life = c->host->life;
    c->bell = bell_new();
    client_add(c);
    *ret = &c->store;
    return 0;
}

int store_raise(const char *url, uint64_t above, tenure_error *err)
{
    (void)url;
    (void)above;
    (void)err;
    return TENURE_INVALID; /* in a simulated world the operator acts on the server itself */
}

int store_init(const char *url, tenure_error *err)
{
    (void)url;
    (void)err;
    return 0;
}
