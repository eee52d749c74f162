/* store/postgres_hint.c - bells, and what is done where none can be heard.
 *
 * Who waits on this host hears a doorbell (store/neighbours.h), and the server knows nothing of it.
 * For all others there is the ear, a connection of its own that listens on a channel of our session
 * and on one about ended sessions.  It is believed in when it has heard a bell that we rang
 * ourselves.  Until then, and behind a pooler, we look four times a second whether anything has
 * changed; with a proven ear who waits does so once a second, as a safety net. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/postgres_engine.h"

#define LISTENERS_MS 200  /* between looks of an observer, who hears no bells */
#define EAR_AFTER_MS 1000 /* a session that only holds gets an ear when it is so old */

static void hint(struct pg_store *s, uint64_t key_hash)
{
    hint_queue_add(&s->hints, key_hash);
}

/* ---- watching ------------------------------------------------------------------------------- */

static void unwatch(struct pg_store *s, uint64_t key_hash)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->watches; i++) {
        if (s->watch[i].key_hash != key_hash)
            s->watch[kept++] = s->watch[i];
    }
    s->watches = kept;
}

void pg_watch_sessions(struct store *store, const char *key, const uint64_t *session,
                       uint32_t count)
{
    struct pg_store *s = pg_of(store);
    uint64_t hash = store_key_hash(key);
    unwatch(s, hash);
    if (count == 0)
        return;
    s->waits = true;
    if (s->watches + count > s->watches_cap) {
        size_t cap = 2 * s->watches_cap + count;
        struct watch *more = realloc(s->watch, cap * sizeof *more);
        if (!more)
            return; /* the caller looks again all the same */
        s->watch = more;
        s->watches_cap = cap;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct known_session *k = known_session(s, session[i]);
        s->watch[s->watches++] = (struct watch){hash, session[i]};
        if (k && k->state != KNOWN_ALIVE)
            hint(s, hash);
    }
}

int pg_watch_all(struct store *store, bool on, tenure_error *err)
{
    (void)err;
    struct pg_store *s = pg_of(store);
    s->all = on;
    return 0;
}

void hint_ended(struct pg_store *s, uint64_t session)
{
    struct known_session gone = {.head.id = session, .state = KNOWN_GONE};
    size_t kept = 0;
    known_session_set(s, &gone);
    for (size_t i = 0; i < s->watches; i++) {
        if (s->watch[i].session == session)
            hint(s, s->watch[i].key_hash);
        else
            s->watch[kept++] = s->watch[i];
    }
    s->watches = kept;
}

bool pg_next_hint(struct store *store, struct store_hint *ret)
{
    return hint_queue_take(&pg_of(store)->hints, ret);
}

/* ---- ringing -------------------------------------------------------------------------------- */

void hint_ring(struct pg_store *s, const struct work *w, uint64_t session, uint64_t key_hash)
{
    char news[NEIGHBOURS_NEWS_MAX];
    if (session == s->session) {
        hint(s, key_hash);
        return;
    }
    size_t len = news_write(s, w, session, news);
    if (neighbours_ring(&s->neighbours, session, key_hash, news, len) || s->rings >= PG_RINGS_MAX)
        return;
    s->ring_session[s->rings] = session;
    s->ring_name[s->rings++] = key_hash;
}

void ring_request(struct pg_store *s)
{
    struct pg_params *p = &s->params;
    params_clear(p);
    int session = params_array(p, PG_INT8_ARRAY), name = params_array(p, PG_INT8_ARRAY);
    for (size_t i = 0; i < s->rings; i++) {
        params_add_i64(p, session, (int64_t)s->ring_session[i]);
        params_add_i64(p, name, (int64_t)s->ring_name[i]);
    }
    s->rings = 0;
}

/* ---- the doorbell --------------------------------------------------------------------------- */

/* Where the store is and which it is, as it was asked for: all instances of a service on a host
 * ask for it in the same way. */
void doorbell_place(struct pg_store *s)
{
    char text[600];
    const PGconn *conn = s->line.conn;
    const char *host = pq.PQhost(conn), *port = pq.PQport(conn), *database = pq.PQdb(conn);
    int n = snprintf(text, sizeof text, "%.255s|%.20s|%.200s|%s", host ? host : "",
                     port ? port : "", database ? database : "", s->schema);
    s->place = store_hash(text, (size_t)n) | 1; /* 0: not known */
}

void doorbell_step(struct pg_store *s)
{
    neighbours_settle(&s->neighbours, s->epoll, s->place, s->session);
    neighbours_hear(&s->neighbours, &s->hints, news_take, s);
}

/* ---- the ear -------------------------------------------------------------------------------- */

static void take_notifications(struct pg_store *s)
{
    PGnotify *n;
    while ((n = pq.PQnotifies(s->ear.conn)) != NULL) {
        uint64_t number = (uint64_t)strtoll(n->extra, NULL, 10);
        if (strcmp(n->relname, s->end_channel) == 0)
            hint_ended(s, number);
        else if (number != 0)
            hint(s, number);
        else
            s->ear_proven = true;
        pq.PQfreemem(n);
    }
}

/* Listens for the session that we have now. */
static void listen_for(struct pg_store *s)
{
    char text[400];
    snprintf(text, sizeof text, "UNLISTEN *; LISTEN %s; LISTEN %s_%llu", s->end_channel, s->schema,
             (unsigned long long)s->session);
    s->heard = s->session;
    s->ear.since = clock_now();
    s->ear.busy = true;
    s->ear_proven = s->ear_asked = false;
    if (!pq.PQsendQuery(s->ear.conn, text) || pq.PQflush(s->ear.conn) < 0)
        link_drop(s, &s->ear, TENURE_UNREACHABLE, "the connection was lost");
}

static void take_results(struct pg_store *s)
{
    PGresult *r;
    struct link *l = &s->ear;
    while (l->busy && !pq.PQisBusy(l->conn)) {
        r = pq.PQgetResult(l->conn);
        if (!r) {
            l->busy = false;
            l->failures = 0;
            l->silent = 0;
            s->hints.all = true; /* what was rung before we listened */
        }
        pq.PQclear(r);
    }
}

/* A bell for ourselves, which proves that bells arrive. */
static void ask_ear(struct pg_store *s)
{
    s->ear_asked = true;
    if (s->rings < PG_RINGS_MAX) {
        s->ring_session[s->rings] = s->heard;
        s->ring_name[s->rings++] = 0;
    }
}

/* Behind a pooler bells are not heard, and to listen would leave its mark on a connection that
 * somebody else uses next. */
static bool may_listen(const struct pg_store *s)
{
    return s->listen == LISTEN_ON || (s->listen == LISTEN_WHERE_HEARD && !s->pooled);
}

/* Who waits needs it at once; who only holds, to hear that it is asked to stop, when it stays. */
static struct instant ear_since(const struct pg_store *s)
{
    if (!may_listen(s) || !s->greeted || s->session == 0)
        return INSTANT_NEVER;
    return s->waits ? s->session_since : instant_add(s->session_since, SPAN(EAR_AFTER_MS));
}

struct instant ear_due(const struct pg_store *s)
{
    struct instant since = ear_since(s);
    return instant_reached(clock_now(), since) ? link_due(s, &s->ear) : since;
}

void ear_step(struct pg_store *s)
{
    struct link *l = &s->ear;
    if (!instant_reached(clock_now(), ear_since(s))) {
        if (l->state != LINK_DOWN && !may_listen(s))
            link_close(s, l);
        return;
    }
    link_start(s, l);
    if (l->state != LINK_DOWN)
        link_step(s, l);
    if (l->state == LINK_UP && l->busy)
        take_results(s);
    if (l->state == LINK_UP && !l->busy && s->heard != s->session)
        listen_for(s);
    if (l->state == LINK_UP)
        take_notifications(s);
    if (l->state == LINK_UP && !l->busy && !s->ear_asked)
        ask_ear(s);
}

/* ---- looking -------------------------------------------------------------------------------- */

static int64_t poll_interval_ms(const struct pg_store *s)
{
    if (s->all)
        return LISTENERS_MS;
    if (s->ear_proven)
        return TIMING_NOTICE_MS;
    return s->watches > 0 ? PG_POLL_MS : TIMING_NOTICE_MS;
}

bool hints_are_polled(const struct pg_store *s)
{
    return s->all || s->watches > 0 || s->echo || (s->session != 0 && !s->ear_proven);
}

struct instant poll_due(const struct pg_store *s)
{
    return hints_are_polled(s) ? instant_add(s->polled, SPAN(poll_interval_ms(s))) : INSTANT_NEVER;
}

void poll_request(struct pg_store *s)
{
    struct pg_params *p = &s->params;
    params_clear(p);
    params_array(p, PG_INT8_ARRAY);
    for (size_t i = 0; i < s->watches; i++)
        params_add_i64(p, 0, (int64_t)s->watch[i].session);
    s->polled = clock_now();
}

void poll_answered(struct pg_store *s, const PGresult *r)
{
    s->stamp++;
    answer_take(s, r);
    for (int row = 0; row < pq.PQntuples(r); row++) {
        if (answer_i32(r, row, 0) != 0)
            continue;
        uint64_t changes = answer_u64(r, row, 4);
        bool looks = s->all || !s->ear_proven || s->watches > 0; /* who waits: a bell can be lost */
        if (looks && (s->echo || changes != s->changes))
            s->hints.all = true;
        s->echo = changes != s->changes;
        s->changes = changes;
    }
    size_t kept = 0;
    for (size_t i = 0; i < s->watches; i++) {
        const struct known_session *k = known_session(s, s->watch[i].session);
        if (k && life_is_over(s, k))
            hint(s, s->watch[i].key_hash);
        else
            s->watch[kept++] = s->watch[i];
    }
    s->watches = kept;
}
