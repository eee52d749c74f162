#include "sim/server.h"

#include <stdlib.h>
#include <string.h>

#include "sim/judge.h"

#define FLOOR_BLOCK 1000  /* tokens that an embedded store reserves durably ahead */
#define REMEMBERED 64     /* commits of a client whose replies are kept for its duplicates */

struct session_row {
    uint64_t id;
    int64_t ttl_ms, heard_us; /* the server's clock */
    bool alive;
    int client;
    uint64_t notices;
};

/* What a copy of the store copies. */
struct data {
    uint64_t revision, floor, next_session, deletions;
    struct record_state record[PLAN_NAMES_MAX];
    struct session_row session[SERVER_SESSIONS_MAX];
};

struct served {
    struct {
        uint64_t id;
        struct reply *reply;
    } commit[REMEMBERED];
    uint64_t watch[PLAN_NAMES_MAX][REQUEST_LIST_MAX];
    int watch_count[PLAN_NAMES_MAX];
    bool watch_all;
};

static struct {
    struct data now, copy;
    bool has_copy;
    struct served *client[CLIENTS_MAX];
    int clients; /* the highest that was served, plus 1 */
    int64_t down_until_us, stalled_until_us;
    bool stalls_records;
    bool went_back; /* restored, and no operator has raised the floor yet */
    uint64_t reserved, restores;
} server;

struct host server_host;

void server_begin(void)
{
    memset(&server, 0, sizeof server);
    server.now.next_session = 1;
    server.reserved = FLOOR_BLOCK;
}

static struct served *served(int client)
{
    if (!server.client[client])
        server.client[client] = world_alloc(sizeof **server.client);
    if (client >= server.clients)
        server.clients = client + 1;
    return server.client[client];
}

int server_name_index(const char *key)
{
    for (int i = 0; i < world.plan.names; i++) {
        if (strcmp(world.plan.name[i].name, key) == 0)
            return i;
    }
    abort(); /* no actor uses another name */
}

struct record_state server_record(int name)
{
    return server.now.record[name];
}

/* ---- sessions ---------------------------------------------------------------------------- */

static struct session_row *session_find(uint64_t id)
{
    for (int i = 0; i < SERVER_SESSIONS_MAX; i++) {
        struct session_row *s = &server.now.session[i];
        if (s->alive && s->id == id)
            return s;
    }
    return NULL;
}

bool server_session_is_alive(uint64_t session)
{
    return session_find(session) != NULL;
}

int server_sessions_alive(void)
{
    int n = 0;
    for (int i = 0; i < SERVER_SESSIONS_MAX; i++)
        n += server.now.session[i].alive;
    return n;
}

/* Who watches for this session's end gets a hint. */
static void session_end(struct session_row *s)
{
    s->alive = false;
    judge_session_ended(s->id);
    for (int c = 0; c < server.clients; c++) {
        const struct served *v = server.client[c];
        for (int n = 0; v && n < world.plan.names; n++) {
            for (int i = 0; i < v->watch_count[n]; i++) {
                if (v->watch[n][i] == s->id)
                    client_hint(c, false, world.plan.name[n].name);
            }
        }
    }
}

static int64_t session_until_us(const struct session_row *s)
{
    return s->heard_us + s->ttl_ms * 1000;
}

static void expire(void *arg, uint64_t id)
{
    struct session_row *s = session_find(id);
    (void)arg;
    if (!s)
        return;
    bool is_down = server.down_until_us > world.now_us; /* its clock stands still for sessions */
    if (!is_down && host_clock_us(&server_host) >= session_until_us(s)) {
        world_trace("store", "expire", "session=%llu", (unsigned long long)id);
        session_end(s);
        return;
    }
    struct instant until = INSTANT((session_until_us(s) + 999) / 1000);
    int64_t when_us = is_down ? server.down_until_us : host_when_us(&server_host, until);
    world_at(when_us, expire, NULL, id);
}

static uint64_t session_open(int64_t ttl_ms, int client)
{
    for (int i = 0; i < SERVER_SESSIONS_MAX; i++) {
        struct session_row *s = &server.now.session[i];
        if (s->alive)
            continue;
        *s = (struct session_row){.id = server.now.next_session++,
                                  .ttl_ms = ttl_ms,
                                  .heard_us = host_clock_us(&server_host),
                                  .alive = true,
                                  .client = client};
        world_at(world.now_us + ttl_ms * 900, expire, NULL, s->id);
        return s->id;
    }
    return 0;
}

void server_client_died(int client)
{
    for (int i = 0; i < SERVER_SESSIONS_MAX; i++) {
        struct session_row *s = &server.now.session[i];
        if (s->alive && s->client == client)
            session_end(s);
    }
}

static int serve_session(const struct request *q, struct reply *p)
{
    struct session_row *s = session_find(q->session);
    switch (q->kind) {
    case REQUEST_OPEN:
        p->session = session_open(q->ttl_ms, q->client);
        p->deletions = server.now.deletions;
        return p->session != 0 ? 0 : TENURE_BUSY;
    case REQUEST_RENEW:
        if (!s)
            return TENURE_LOST;
        s->heard_us = host_clock_us(&server_host);
        p->notices = s->notices;
        p->deletions = server.now.deletions;
        return 0;
    default:
        if (s)
            session_end(s);
        return 0;
    }
}

/* ---- records ----------------------------------------------------------------------------- */

static void describe(const struct request *q, struct reply *p)
{
    struct alive *alive = world_alloc(((size_t)server_sessions_alive() + 1) * sizeof *alive);
    p->now_ms = host_clock(&server_host).ms;
    p->floor = server.now.floor;
    for (int i = 0; i < SERVER_SESSIONS_MAX; i++) {
        const struct session_row *s = &server.now.session[i];
        if (s->alive)
            alive[p->alive_count++] =
                (struct alive){s->id, (session_until_us(s) + 999) / 1000};
    }
    p->alive = alive;
    if (q->key[0] == '\0')
        memcpy(p->record, server.now.record, sizeof p->record);
    else
        p->record[0] = server.now.record[server_name_index(q->key)];
}

static bool is_current(const struct request *q, const struct record_state *r)
{
    if (r->version != q->version || (q->version == 0 && q->floor_read != server.now.floor))
        return false;
    for (int i = 0; i < q->live_count; i++) {
        if (!server_session_is_alive(q->live[i]))
            return false;
    }
    const struct session_row *told = session_find(q->notice);
    return !told || told->heard_us / 1000 < q->decided_ms || world.plan.embedded;
}

/* The store as it is since this commit, for who is rung about it. */
static struct reply *news_for(const struct request *q, uint64_t session)
{
    struct reply *p = world_alloc(sizeof *p);
    describe(q, p);
    p->session = session;
    p->restores = server.restores;
    return p;
}

static void follow_up(const struct request *q)
{
    struct session_row *told = session_find(q->notice);
    if (told)
        told->notices++;
    for (int i = 0; i < q->ring_count; i++) {
        const struct session_row *s = session_find(q->ring[i]);
        if (s && world.plan.tells)
            client_tell(s->client, q->key, news_for(q, s->id));
        else if (s)
            client_hint(s->client, false, q->key);
    }
    for (int c = 0; c < server.clients; c++) {
        if (server.client[c] && server.client[c]->watch_all)
            client_hint(c, true, NULL);
    }
}

static void commit(const struct request *q, struct reply *p)
{
    int name = server_name_index(q->key);
    struct record_state *r = &server.now.record[name], before = *r;
    if (!is_current(q, r)) {
        p->conflict = true;
        describe(q, p);
        return;
    }
    if (q->floor > server.now.floor)
        server.now.floor = q->floor;
    while (server.now.floor > server.reserved)
        server.reserved += FLOOR_BLOCK;
    if (q->what == STORE_KEEP && r->version == 0)
        server.now.floor++; /* nothing else could make a late commit notice */
    server.now.deletions += q->what == STORE_DELETE;
    if (q->what == STORE_DELETE)
        *r = (struct record_state){0};
    else if (q->what == STORE_PUT)
        *r = (struct record_state){++server.now.revision, q->bytes, q->len};
    else if (r->version != 0)
        r->version = ++server.now.revision;
    judge_commit(name, &before, r, q);
    follow_up(q);
}

/* ---- serving ----------------------------------------------------------------------------- */

static void watch(const struct request *q)
{
    struct served *v = served(q->client);
    if (q->key[0] == '\0') {
        v->watch_all = q->watch_all;
        return;
    }
    int name = server_name_index(q->key);
    v->watch_count[name] = q->watch_count;
    memcpy(v->watch[name], q->watch, (size_t)q->watch_count * sizeof q->watch[0]);
    for (int i = 0; i < q->watch_count; i++) {
        if (!server_session_is_alive(q->watch[i])) {
            client_hint(q->client, false, q->key); /* it ended before it was watched */
            return;
        }
    }
}

struct reply *server_serve(const struct request *q)
{
    struct reply *p = world_alloc(sizeof *p);
    p->id = q->id;
    if (server.went_back) {
        p->code = TENURE_WENT_BACK;
        return p;
    }
    if (q->kind == REQUEST_COMMIT) {
        struct served *v = served(q->client);
        if (v->commit[q->id % REMEMBERED].id == q->id)
            return v->commit[q->id % REMEMBERED].reply; /* a duplicate applies once */
        commit(q, p);
        v->commit[q->id % REMEMBERED].id = q->id;
        v->commit[q->id % REMEMBERED].reply = p;
    } else if (q->kind == REQUEST_READ) {
        describe(q, p);
    } else if (q->kind == REQUEST_WATCH) {
        watch(q);
    } else {
        p->code = serve_session(q, p);
    }
    return p;
}

enum server_fate server_fate(enum request_kind kind, int64_t *ret_until_us)
{
    if (server.down_until_us > world.now_us)
        return random_chance(&world.random, 500) ? SERVER_DROPS : SERVER_REFUSES;
    bool held = !server.stalls_records || kind == REQUEST_READ || kind == REQUEST_COMMIT;
    if (held && server.stalled_until_us > world.now_us) {
        *ret_until_us = server.stalled_until_us;
        return SERVER_HOLDS;
    }
    return SERVER_SERVES;
}

/* ---- faults ------------------------------------------------------------------------------ */

static void come_back(void *arg, uint64_t n)
{
    (void)arg;
    (void)n;
    world_trace("store", "up", "again");
    for (int i = 0; i < SERVER_SESSIONS_MAX; i++)
        server.now.session[i].heard_us = host_clock_us(&server_host);
    for (int c = 0; c < server.clients; c++) {
        if (server.client[c])
            memset(server.client[c]->watch_count, 0, sizeof server.client[c]->watch_count);
    }
}

void server_crash(int64_t down_us)
{
    if (server.down_until_us > world.now_us)
        return;
    server.down_until_us = world.now_us + down_us;
    world_at(server.down_until_us, come_back, NULL, 0);
}

void server_stall(int64_t us, bool records_only)
{
    server.stalls_records = records_only;
    server.stalled_until_us = world.now_us + us;
}

void server_remember(void)
{
    server.copy = server.now;
    server.has_copy = true;
}

/* What the operator of a restored store does, after the longest ttl: nobody believes in anything
 * any more.  No session survives, and the floor goes above every token ever given out. */
static void operator_acts(void *arg, uint64_t floor)
{
    (void)arg;
    for (int i = 0; i < SERVER_SESSIONS_MAX; i++) {
        if (server.now.session[i].alive)
            session_end(&server.now.session[i]);
    }
    server.now.floor = floor;
    server.went_back = false;
    world_trace("store", "raised", "floor=%llu", (unsigned long long)floor);
}

/* Goes back to the copy, but for the numbers that are never given out twice. */
static void go_back(void)
{
    struct data now = server.now;
    server.now = server.copy;
    server.now.next_session = now.next_session;
    server.now.revision = now.revision + 1;
    server.now.deletions = now.deletions + 1;
    for (int i = 0; i < SERVER_SESSIONS_MAX; i++) {
        if (now.session[i].alive)
            judge_session_ended(now.session[i].id);
    }
    for (int i = 0; i < world.plan.names; i++) {
        if (server.now.record[i].version != 0)
            server.now.record[i].version = ++server.now.revision;
        judge_replaced(i, &server.now.record[i]);
    }
}

uint64_t server_restores(void)
{
    return server.restores;
}

bool server_restore(void)
{
    if (!server.has_copy || server.went_back)
        return false;
    uint64_t floor = server.now.floor + FLOOR_BLOCK;
    go_back();
    server.went_back = true;
    server.restores++;
    world_at(world.now_us + (world.plan.longest_ttl_ms + 1000) * US_PER_MS, operator_acts, NULL,
             floor);
    return true;
}

void server_lose_last(void)
{
    if (server.has_copy && random_chance(&world.random, 600))
        go_back();
    for (int i = 0; i < SERVER_SESSIONS_MAX; i++)
        server.now.session[i].alive = false;
    server.now.floor = server.reserved;
    server.reserved += FLOOR_BLOCK;
}

bool server_remove(int name)
{
    struct record_state *r = &server.now.record[name];
    if (r->version == 0)
        return false;
    server.now.deletions++;
    *r = (struct record_state){0};
    judge_replaced(name, r);
    return true;
}
