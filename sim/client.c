#include "sim/client.h"

#include <stdlib.h>
#include <string.h>

#include "sim/net.h"
#include "sim/system.h"

#define NEWS_LATE_US (1500 * 1000) /* then who is rung has looked by itself */

static struct {
    struct client *at[CLIENTS_MAX];
    int count;
    uint64_t next_id;
} clients;

void clients_begin(void)
{
    clients.count = 0;
    clients.next_id = 1;
}

void client_add(struct client *c)
{
    if (clients.count == CLIENTS_MAX)
        abort();
    c->index = clients.count;
    clients.at[clients.count++] = c;
}

int client_count(void)
{
    return clients.count;
}

struct client *client_at(int index)
{
    return clients.at[index];
}

uint64_t client_next_id(void)
{
    return clients.next_id++;
}

void client_ring(const struct client *c)
{
    bell_set(c->bell, c->inbox_count > 0 || c->hints.all || c->hints.count > 0);
}

/* ---- the way to the server and back ------------------------------------------------------ */

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
    client_ring(c);
}

static void reach_server(void *arg, uint64_t n)
{
    struct call *call = arg;
    int64_t until_us = 0;
    struct reply *p;
    switch (server_fate(call->q.kind, &until_us)) {
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
    bool tidies = q->kind == REQUEST_COMMIT && q->mark.rule == DECIDE_SWEEP;
    c->cost.tidied += tidies;
    c->cost.commits += q->kind == REQUEST_COMMIT && !tidies;
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
    client_ring(c);
}

void client_hint(int client, bool all, const char *key)
{
    struct client *c = clients.at[client];
    if (!world.quiet && plan_has(&world.plan, FAULT_HINTS) && random_chance(&world.random, 600))
        return;
    net_send(c->host, NET_DOWN, take_hint, c, all ? 0 : store_key_hash(key));
}

struct news {
    struct client *to;
    const struct reply *said;
};

static bool is_asked_about(const struct client *c, int name)
{
    for (const struct pending *n = c->pending; n; n = n->next) {
        if (n->work == WORK_UPDATE &&
            server_name_index(((struct store_update *)n->op)->key[0]) == name)
            return true;
    }
    return false;
}

static void take_news(void *arg, uint64_t name)
{
    struct news *n = arg;
    struct client *c = n->to;
    if (!c->closed && c->life == c->host->life && !is_asked_about(c, (int)name))
        c->told[name] = n->said;
    take_hint(c, store_key_hash(world.plan.name[name].name));
}

static void send_news(void *arg, uint64_t name)
{
    const struct news *n = arg;
    net_send(n->to->host, NET_DOWN, take_news, arg, name);
}

/* Who tells may be stopped before it does. */
void client_tell(int client, const char *key, const struct reply *said)
{
    struct news *n = world_alloc(sizeof *n);
    *n = (struct news){clients.at[client], said};
    if (!world.quiet && plan_has(&world.plan, FAULT_HINTS) && random_chance(&world.random, 600))
        return;
    int64_t late = !world.quiet && random_chance(&world.random, 300) ? NEWS_LATE_US : 0;
    world_at(world.now_us + random_range(&world.random, 0, late), send_news, n,
             (uint64_t)server_name_index(key));
}

bool client_knows(struct client *c, struct store_update *op)
{
    int name = server_name_index(op->key[0]);
    const struct reply *p = c->told[name];
    struct request q;
    if (!p || p->session != c->session || is_asked_about(c, name) ||
        c->settled[name] < c->doubt[name])
        return false;
    if (p->restores != server_restores())
        return false; /* no connection is older than that, and who has none believes no news */
    op->verdict = decide_on(op, p, &q);
    return op->verdict >= 0 && q.what == STORE_KEEP && q.granted && q.live_count == 1 &&
           q.live[0] == c->session;
}

/* ---- operations in flight -------------------------------------------------------------------- */

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
    c->told[name] = NULL;
    if (n->commits && !p->conflict) {
        if (c->settled[name] < n->doubt)
            c->settled[name] = n->doubt;
        unlink_pending(c, n);
        store_op_finish(n->op, 0);
        return;
    }
    struct request q;
    op->verdict = decide_on(op, p, &q);
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
        if (n->work == WORK_OPEN && p->code == 0)
            c->session = p->session;
        if ((n->work == WORK_OPEN || n->work == WORK_RENEW) && p->code == 0)
            c->vigil = p->deletions + 1;
        if (n->work == WORK_RENEW && p->code == 0) {
            ((struct store_session_renew *)n->op)->noticed = p->notices != c->notices;
            c->notices = p->notices;
        }
        unlink_pending(c, n);
        store_op_finish(n->op, p->code);
    } else if (n->work == WORK_READ) {
        unlink_pending(c, n);
        decide_read((struct store_read *)n->op, p);
    } else {
        go_on(c, n, p);
    }
}

void client_send(struct client *c, struct request *q, enum work work, struct store_op *op)
{
    uint64_t id = send_request(c, q);
    if (work == WORK_NONE)
        return;
    struct pending *n = world_alloc(sizeof *n);
    *n = (struct pending){.next = c->pending, .id = id, .work = work, .op = op};
    c->pending = n;
}

void client_process(struct client *c)
{
    for (int i = 0; i < c->inbox_count; i++) {
        for (struct pending *n = c->pending; n; n = n->next) {
            if (n->id == c->inbox[i]->id) {
                finish(c, n, c->inbox[i]);
                break;
            }
        }
    }
    c->inbox_count = 0;
}

void client_abandon(struct client *c, struct store_op *op)
{
    for (const struct pending *n = c->pending; n; n = n->next) {
        if (n->op != op)
            continue;
        if (n->work == WORK_UPDATE && n->commits)
            c->doubt[server_name_index(((struct store_update *)op)->key[0])]++;
        unlink_pending(c, n);
        return;
    }
}
