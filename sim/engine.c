#include "sim/engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/timing.h"
#include "os/clock.h"
#include "sim/judge.h"
#include "sim/net.h"
#include "sim/server.h"
#include "sim/system.h"

#define HINTS_MAX 16

enum work { WORK_UPDATE, WORK_READ, WORK_OPEN, WORK_RENEW, WORK_CLOSE };

/* An operation in flight. */
struct pending {
    struct pending *next;
    uint64_t id; /* of the request that it waits for */
    enum work work;
    struct store_op *op;
    uint64_t doubt; /* of the key, when it was decided */
    bool commits;
};

struct client {
    struct store store; /* first: the library's handle */
    int index;
    struct host *host;
    uint64_t life;
    bool closed;
    int bell;
    struct pending *pending;
    struct reply **inbox;
    int inbox_count, inbox_room;
    struct {
        bool all;
        uint64_t hash[HINTS_MAX];
        int count;
    } hints;
    bool watches[PLAN_NAMES_MAX], watches_all;
    struct instant looked;            /* when the safety net was last due */
    uint64_t doubt[PLAN_NAMES_MAX];   /* counts abandoned updates */
    uint64_t settled[PLAN_NAMES_MAX]; /* ... that can do no harm any more */
    uint64_t notices; /* of the session, that were reported */
    struct engine_cost cost;
};

static struct {
    struct client *at[CLIENTS_MAX];
    int count;
    uint64_t next_id;
} clients;

static unsigned char buffer[STORE_KEYS_MAX][STORE_RECORD_MAX];
static struct effects effects;

void engine_begin(void)
{
    clients.count = 0;
    clients.next_id = 1;
}

int engine_last_client(void)
{
    return clients.count - 1;
}

struct engine_cost engine_cost(int client)
{
    return clients.at[client]->cost;
}

static struct client *client_of(struct store *s)
{
    return (struct client *)s;
}

static void ring_bell(const struct client *c)
{
    bell_set(c->bell, c->inbox_count > 0 || c->hints.all || c->hints.count > 0);
}

/* ---- the way to the server and back --------------------------------------------------------------- */

struct call {
    struct request q;
    struct client *from;
};

static void take_in(void *arg, uint64_t n)
{
    struct client *c = clients.at[n];
    if (c->closed || c->life != c->host->life)
        return;
    if (c->inbox_count == c->inbox_room) {
        int room = c->inbox_room ? 2 * c->inbox_room : 16;
        struct reply **inbox = world_alloc((size_t)room * sizeof *inbox);
        if (c->inbox_count > 0)
            memcpy(inbox, c->inbox, (size_t)c->inbox_count * sizeof *inbox);
        c->inbox = inbox;
        c->inbox_room = room;
    }
    c->inbox[c->inbox_count++] = arg;
    ring_bell(c);
}

static void reach_server(void *arg, uint64_t n)
{
    struct call *call = arg;
    int64_t until_us = 0;
    struct reply *p;
    switch (server_fate(&until_us)) {
    case SERVER_DROPS:
        return;
    case SERVER_HOLDS:
        world_at(until_us, reach_server, call, n);
        return;
    case SERVER_REFUSES:
        p = world_alloc(sizeof *p);
        p->id = call->q.id;
        p->code = TENURE_UNREACHABLE;
        break;
    default:
        p = server_serve(&call->q);
    }
    if (call->q.kind != REQUEST_WATCH)
        net_send(call->from->host, NET_DOWN, take_in, p, (uint64_t)call->from->index);
}

static uint64_t send_request(struct client *c, const struct request *q)
{
    struct call *call = world_alloc(sizeof *call);
    call->q = *q;
    call->q.client = c->index;
    call->q.id = clients.next_id++;
    call->from = c;
    c->cost.reads += q->kind == REQUEST_READ;
    c->cost.commits += q->kind == REQUEST_COMMIT;
    c->cost.renewals += q->kind == REQUEST_RENEW;
    c->cost.others += q->kind == REQUEST_OPEN || q->kind == REQUEST_CLOSE;
    net_send(c->host, NET_UP, reach_server, call, 0);
    return call->q.id;
}

static void take_hint(void *arg, uint64_t hash)
{
    struct client *c = arg;
    if (c->closed || c->life != c->host->life)
        return;
    if (hash == 0 || c->hints.count == HINTS_MAX)
        c->hints.all = true;
    else
        c->hints.hash[c->hints.count++] = hash;
    ring_bell(c);
}

void client_hint(int client, bool all, const char *key)
{
    struct client *c = clients.at[client];
    if (!world.quiet && plan_has(&world.plan, FAULT_HINTS) && random_chance(&world.random, 600))
        return;
    net_send(c->host, NET_DOWN, take_hint, c, all ? 0 : store_key_hash(key));
}

/* ---- deciding ---------------------------------------------------------------------------------------- */

/* What a decision may know of sessions: those in the reply are alive; which it asked for is noted. */
struct oracle {
    const struct reply *p;
    struct request *q;
};

static enum liveness liveness(void *arg, uint64_t session, struct instant *ret_until)
{
    struct oracle *o = arg;
    for (int i = 0; i < o->p->alive_count; i++) {
        if (o->p->alive[i].session != session)
            continue;
        *ret_until = INSTANT(o->p->alive[i].until_ms);
        for (int k = 0; o->q && k < o->q->live_count; k++) {
            if (o->q->live[k] == session)
                return LIVE;
        }
        if (o->q) {
            assert(o->q->live_count < REQUEST_LIST_MAX);
            o->q->live[o->q->live_count++] = session;
        }
        return LIVE;
    }
    *ret_until = INSTANT(o->p->now_ms);
    return world.plan.embedded ? LIVE_GONE : LIVE_EXPIRED;
}

static struct facts facts_of(const struct reply *p, struct oracle *o)
{
    return (struct facts){.now = INSTANT(p->now_ms),
                          .wall_ms = 1700000000000 + p->now_ms,
                          .token_floor = p->floor,
                          .liveness = liveness,
                          .oracle = o};
}

/* Calls the decision and makes the commit that follows from it.  Returns its verdict or code. */
static int decide(struct store_update *op, const struct reply *p, struct request *q)
{
    struct oracle o = {p, q};
    *q = (struct request){.kind = REQUEST_COMMIT,
                          .version = p->record[0].version,
                          .floor_read = p->floor};
    memcpy(q->key, op->key[0], strlen(op->key[0]) + 1);
    struct store_view view = {.facts = facts_of(p, &o), .count = 1, .fx = &effects};
    view.in[0] = (struct store_record){q->key, p->record[0].bytes, p->record[0].len};
    view.out[0].bytes = buffer[0];
    effects.changed = false;
    effects.ring_count = 0;
    effects.notice = 0;
    int verdict = op->decide(op->arg, &view);
    if (verdict < 0)
        return verdict;
    const struct decision *d = op->arg; /* for the judge: an engine never looks into it */
    q->mark = (struct mark){d->rule, d->rule == DECIDE_ASK ? d->ask.id : d->id, d->token};
    q->what = (int)view.out[0].what;
    q->floor = view.facts.token_floor;
    q->notice = effects.notice;
    for (uint32_t i = 0; i < effects.ring_count && q->ring_count < REQUEST_LIST_MAX; i++)
        q->ring[q->ring_count++] = effects.ring[i];
    if (q->what == STORE_PUT) {
        void *bytes = world_alloc(view.out[0].len);
        memcpy(bytes, buffer[0], view.out[0].len);
        q->bytes = bytes;
        q->len = view.out[0].len;
    }
    return verdict;
}

static void read_all(struct store_read *op, const struct reply *p)
{
    struct oracle o = {p, NULL};
    for (int i = 0; i < world.plan.names; i++) {
        const char *key = world.plan.name[i].name;
        if (p->record[i].version == 0 || strncmp(key, op->prefix, strlen(op->prefix)) != 0 ||
            (op->after && strcmp(key, op->after) <= 0))
            continue;
        struct facts facts = facts_of(p, &o);
        struct store_record record = {key, p->record[i].bytes, p->record[i].len};
        if (!op->fn(op->arg, &record, &facts))
            break;
    }
    store_op_finish(&op->op, 0);
}

/* ---- embedded: all at once ------------------------------------------------------------------------- */

/* Whether the operation is refused; *ret_after: only once it has happened, with no answer. */
static bool is_refused(struct store_op *op, bool *ret_after)
{
    static const int codes[] = {TENURE_BUSY, TENURE_NO_SPACE, TENURE_UNREACHABLE, TENURE_UNSURE};
    *ret_after = false;
    if (world.quiet || !random_chance(&world.random, world.plan.store_error))
        return false;
    int code = codes[random_below(&world.random, 4)];
    if (code == TENURE_UNSURE && random_chance(&world.random, 500)) {
        *ret_after = true;
        return false;
    }
    store_op_finish(op, code);
    return true;
}

static void update_at_once(struct client *c, struct store_update *op)
{
    struct request read = {.client = c->index, .id = clients.next_id++}, q;
    bool unsure;
    if (is_refused(&op->op, &unsure))
        return;
    memcpy(read.key, op->key[0], strlen(op->key[0]) + 1);
    op->verdict = decide(op, server_serve(&read), &q);
    if (op->verdict < 0) {
        store_op_finish(&op->op, op->verdict);
        return;
    }
    q.client = c->index;
    q.id = clients.next_id++;
    c->cost.reads++;
    if (q.what != STORE_KEEP) {
        c->cost.commits++;
        server_serve(&q);
    }
    store_op_finish(&op->op, unsure ? TENURE_UNSURE : 0);
}

static struct reply *session_at_once(struct client *c, struct request *q, struct store_op *op)
{
    bool unsure;
    if (is_refused(op, &unsure))
        return NULL;
    q->client = c->index;
    q->id = clients.next_id++;
    c->cost.renewals += q->kind == REQUEST_RENEW;
    struct reply *p = server_serve(q);
    store_op_finish(op, unsure ? TENURE_UNSURE : p->code);
    return p;
}

/* ---- over the network ------------------------------------------------------------------------------- */

static struct pending *pend(struct client *c, enum work work, struct store_op *op, uint64_t id)
{
    struct pending *n = world_alloc(sizeof *n);
    *n = (struct pending){.next = c->pending, .id = id, .work = work, .op = op};
    c->pending = n;
    return n;
}

static void unlink_pending(struct client *c, const struct pending *n)
{
    for (struct pending **p = &c->pending; *p; p = &(*p)->next) {
        if (*p == n) {
            *p = n->next;
            return;
        }
    }
}

static void go_on(struct client *c, struct pending *n, const struct reply *p)
{
    struct store_update *op = (struct store_update *)n->op;
    int name = server_name_index(op->key[0]);
    if (n->commits && !p->conflict) {
        if (c->settled[name] < n->doubt)
            c->settled[name] = n->doubt;
        unlink_pending(c, n);
        store_op_finish(n->op, 0);
        return;
    }
    struct request q;
    op->verdict = decide(op, p, &q);
    bool doubtful = c->settled[name] < c->doubt[name];
    if (op->verdict < 0 || (q.what == STORE_KEEP && !doubtful)) {
        unlink_pending(c, n);
        store_op_finish(n->op, op->verdict < 0 ? op->verdict : 0);
        return;
    }
    n->commits = true;
    n->doubt = c->doubt[name];
    n->id = send_request(c, &q);
}

static void finish(struct client *c, struct pending *n, const struct reply *p)
{
    if (p->code < 0 || (n->work != WORK_UPDATE && n->work != WORK_READ)) {
        if (n->work == WORK_OPEN && p->code == 0)
            ((struct store_session_open *)n->op)->session = p->session;
        if (n->work == WORK_OPEN)
            c->notices = 0;
        if (n->work == WORK_RENEW && p->code == 0) {
            ((struct store_session_renew *)n->op)->noticed = p->notices != c->notices;
            c->notices = p->notices;
        }
        unlink_pending(c, n);
        store_op_finish(n->op, p->code);
    } else if (n->work == WORK_READ) {
        unlink_pending(c, n);
        read_all((struct store_read *)n->op, p);
    } else {
        go_on(c, n, p);
    }
}

/* ---- the contract ---------------------------------------------------------------------------------- */

static void engine_update(struct store *s, struct store_update *op)
{
    struct client *c = client_of(s);
    assert(op->count == 1); /* the library decides over one record at a time */
    if (world.plan.embedded) {
        update_at_once(c, op);
        return;
    }
    struct request q = {.kind = REQUEST_READ};
    memcpy(q.key, op->key[0], strlen(op->key[0]) + 1);
    pend(c, WORK_UPDATE, &op->op, send_request(c, &q));
}

static void engine_session_open(struct store *s, struct store_session_open *op)
{
    struct client *c = client_of(s);
    struct request q = {.kind = REQUEST_OPEN, .ttl_ms = op->ttl.ms};
    if (!world.plan.embedded) {
        pend(c, WORK_OPEN, &op->op, send_request(c, &q));
        return;
    }
    const struct reply *p = session_at_once(c, &q, &op->op);
    c->notices = 0;
    if (p)
        op->session = p->session;
}

static void engine_session_renew(struct store *s, struct store_session_renew *op)
{
    struct client *c = client_of(s);
    struct request q = {.kind = REQUEST_RENEW, .session = op->session};
    if (!world.plan.embedded) {
        pend(c, WORK_RENEW, &op->op, send_request(c, &q));
        return;
    }
    const struct reply *p = session_at_once(c, &q, &op->op);
    if (p && p->code == 0) {
        op->noticed = p->notices != c->notices;
        c->notices = p->notices;
    }
}

static void engine_session_close(struct store *s, struct store_session_close *op)
{
    struct client *c = client_of(s);
    struct request q = {.kind = REQUEST_CLOSE, .session = op->session};
    if (world.plan.embedded)
        session_at_once(c, &q, &op->op);
    else
        pend(c, WORK_CLOSE, &op->op, send_request(c, &q));
}

static void engine_read(struct store *s, struct store_read *op)
{
    struct client *c = client_of(s);
    struct request q = {.kind = REQUEST_READ};
    if (!world.plan.embedded) {
        pend(c, WORK_READ, &op->op, send_request(c, &q));
        return;
    }
    bool unsure;
    if (!is_refused(&op->op, &unsure))
        read_all(op, server_serve(&q));
}

static void engine_abandon(struct store *s, struct store_op *op)
{
    struct client *c = client_of(s);
    for (struct pending *n = c->pending; n; n = n->next) {
        if (n->op != op)
            continue;
        if (n->work == WORK_UPDATE && n->commits)
            c->doubt[server_name_index(((struct store_update *)op)->key[0])]++;
        unlink_pending(c, n);
        break;
    }
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
    memcpy(q.key, key, strlen(key) + 1);
    for (uint32_t i = 0; i < count && i < REQUEST_LIST_MAX; i++)
        q.watch[q.watch_count++] = session[i];
    if (world.plan.embedded)
        server_serve(&q);
    else
        send_request(c, &q);
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
        send_request(c, &q);
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
    ring_bell(c);
    return found;
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
    for (int i = 0; i < c->inbox_count; i++) {
        for (struct pending *n = c->pending; n; n = n->next) {
            if (n->id == c->inbox[i]->id) {
                finish(c, n, c->inbox[i]);
                break;
            }
        }
    }
    c->inbox_count = 0;
    if (instant_reached(clock_now(), engine_due(s))) {
        c->looked = clock_now();
        c->hints.all = true;
    }
    ring_bell(c);
}

static void engine_close(struct store *s)
{
    client_of(s)->closed = true;
}

static void engine_forked(struct store *s)
{
    (void)s;
}

static int engine_lifeline(struct store *s)
{
    (void)s;
    return -1;
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
    .fd = engine_fd,
    .process = engine_process,
    .due = engine_due,
    .forked = engine_forked,
    .lifeline = engine_lifeline,
    .examine = engine_examine,
    .url = engine_url,
};

int store_open(const char *url, const struct store_options *opt, struct store **ret,
               tenure_error *err)
{
    (void)url;
    (void)opt;
    (void)err;
    if (clients.count == CLIENTS_MAX)
        abort();
    struct client *c = world_alloc(sizeof *c);
    c->store.ops = &ops;
    c->index = clients.count;
    c->host = task_host(task_current());
    c->life = c->host->life;
    c->bell = bell_new();
    clients.at[clients.count++] = c;
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
