/* store/postgres_link.c - a connection: made, kept in the epoll set, given up, made anew. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "store/postgres_engine.h"

#define PAUSE_FIRST_MS 20
#define PAUSE_MAX_MS 2000

void pg_no_notice(void *arg, const PGresult *r)
{
    (void)arg;
    (void)r;
}

/* Keeps the epoll set in step with the socket, which libpq may replace while it connects. */
static void watch_socket(struct pg_store *s, struct link *l, uint32_t events)
{
    int fd = l->conn ? pq.PQsocket(l->conn) : -1;
    if (fd == l->fd && events == l->events && l->state != LINK_CONNECTS)
        return;
    struct epoll_event e = {.events = events, .data.fd = fd};
    if (l->fd >= 0 && l->fd != fd)
        epoll_ctl(s->epoll, EPOLL_CTL_DEL, l->fd, &e); /* fails when it was closed */
    if (fd >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_MOD, fd, &e) != 0 && errno == ENOENT)
        epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e); /* when it fails, `due` looks all the same */
    l->fd = fd;
    l->events = events;
}

/* Never so long that an operation could wait for all its time without an attempt. */
static int64_t pause_ms(const struct pg_store *s, const struct link *l)
{
    uint32_t dice = 0;
    unsigned n = l->failures > 8 ? 8 : l->failures;
    int64_t most = (int64_t)PAUSE_FIRST_MS << n;
    if (most > PAUSE_MAX_MS)
        most = PAUSE_MAX_MS;
    if (most > s->patience.ms / 2)
        most = s->patience.ms / 2;
    if (getrandom(&dice, sizeof dice, GRND_NONBLOCK) != (ssize_t)sizeof dice)
        dice = UINT32_MAX / 2;
    return most / 2 + (int64_t)(dice % (uint32_t)(most / 2 + 1));
}

static void forget_socket(struct pg_store *s, struct link *l)
{
    struct epoll_event e = {0};
    if (l->fd >= 0)
        epoll_ctl(s->epoll, EPOLL_CTL_DEL, l->fd, &e);
    l->fd = -1;
    l->events = 0;
}

void link_close(struct pg_store *s, struct link *l)
{
    if (s->forked)
        return; /* the socket is closed, and the rest stays: it is the parent's session */
    forget_socket(s, l);
    pq.PQclear(l->result);
    l->result = NULL;
    pq.PQfinish(l->conn);
    l->conn = NULL;
    l->state = LINK_DOWN;
    l->busy = false;
}

void link_drop(struct pg_store *s, struct link *l, int code, const char *why)
{
    l->trouble.code = code;
    if (why != l->trouble.text)
        snprintf(l->trouble.text, sizeof l->trouble.text, "%s", why);
    l->retry = instant_add(clock_now(), SPAN(pause_ms(s, l)));
    l->failures++;
    l->goes_on = false;
    link_close(s, l);
    if (l == &s->line) {
        s->greeted = false;
        request_lost(s);
    } else {
        s->heard = 0;
        s->ear_proven = s->ear_asked = false;
    }
}

/* Whether there are hosts that have not let it wait since one was last of use. */
static bool has_others(const struct pg_store *s, const struct link *l)
{
    return l->silent + 1 < s->hosts.count && (l != &s->line || !s->greeted);
}

void link_time_out(struct pg_store *s, struct link *l, const char *why)
{
    bool others = l->silent + 1 < s->hosts.count;
    l->silent++;
    pg_hosts_turn(&s->hosts);
    link_drop(s, l, TENURE_UNREACHABLE, why);
    l->goes_on = others;
    if (others)
        l->retry = clock_now();
}

static bool renewal_waits(const struct pg_store *s)
{
    return s->request == REQUEST_RENEW || (s->queue && s->queue->kind == WORK_RENEW);
}

/* Where a holder's life hangs on the answer, a plan that is to be made is no excuse: another
 * connection is better, unless this one is the fresh one. */
struct instant link_limit(const struct pg_store *s, const struct link *l)
{
    bool up = l == &s->line && l->state == LINK_UP;
    struct instant limit = instant_add(l->since, s->patience), more;
    if (has_others(s, l)) { /* a share of the attempt, so that it is enough for all */
        int64_t share = s->patience.ms / s->hosts.count;
        return instant_add(l->since, SPAN(share < PG_SHARE_MS ? PG_SHARE_MS : share));
    }
    if (up && l->answers[s->request] > 0)
        return limit;
    more = instant_add(up && renewal_waits(s) ? l->began : l->since, SPAN(PG_CONNECT_MS));
    return more.ms > limit.ms ? more : limit;
}

/* Who vanished without a word is found out in seconds, not in the hours of the system's defaults;
 * what the URL says goes before. */
void link_start(struct pg_store *s, struct link *l)
{
    static const char *const keys[] = {
        "fallback_application_name", "keepalives_idle", "keepalives_interval",
        "keepalives_count", "tcp_user_timeout", "target_session_attrs", "dbname", "host",
        "hostaddr", "port", NULL};
    const char *const values[] = {"tenure", "10", "5", "3", "20000", "read-write", s->conninfo,
                                  s->hosts.host, s->hosts.address, s->hosts.port, NULL};
    if (l->state != LINK_DOWN || !instant_reached(clock_now(), l->retry))
        return;
    l->conn = pq.PQconnectStartParams(keys, values, 1);
    l->since = l->began = clock_now();
    l->state = LINK_CONNECTS;
    memset(l->answers, 0, sizeof l->answers);
    l->named = 0;
    l->names = false;
    if (!l->conn || pq.PQstatus(l->conn) == CONNECTION_BAD) {
        tenure_error err;
        postgres_connect_error(l->conn, &err);
        link_drop(s, l, err.code, err.text);
        return;
    }
    pq.PQsetNoticeReceiver(l->conn, pg_no_notice, NULL);
    watch_socket(s, l, EPOLLOUT);
}

static void connect_step(struct pg_store *s, struct link *l)
{
    tenure_error err;
    switch (pq.PQconnectPoll(l->conn)) {
    case PGRES_POLLING_READING:
        watch_socket(s, l, EPOLLIN);
        break;
    case PGRES_POLLING_WRITING:
        watch_socket(s, l, EPOLLOUT);
        break;
    case PGRES_POLLING_OK:
        pq.PQsetnonblocking(l->conn, 1);
        l->state = LINK_UP;
        watch_socket(s, l, EPOLLIN);
        return;
    default:
        postgres_connect_error(l->conn, &err);
        link_drop(s, l, err.code, err.text);
        return;
    }
    if (instant_reached(clock_now(), link_limit(s, l))) {
        char why[300];
        const char *host = pq.PQhost(l->conn), *port = pq.PQport(l->conn);
        snprintf(why, sizeof why, "the server at %.200s, port %s did not let us in within the time "
                                  "allowed", host ? host : "?", port ? port : "?");
        link_time_out(s, l, why);
    }
}

static void flush(struct pg_store *s, struct link *l)
{
    int left = pq.PQflush(l->conn);
    if (left < 0)
        link_drop(s, l, TENURE_UNREACHABLE, "the connection was lost");
    else
        watch_socket(s, l, left > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* ---- names ----------------------------------------------------------------------------------

A statement that has a name is parsed and planned once.  It gets one when it is used again and
again on a connection that ends at the server.  Its name follows from its text, so whoever finds it
taken finds the same; where one is lost or taken all the same, a pooler gave no sign of itself, and
from then on none is used. */

#define NAME_BYTES 32

static void name_of(const char *text, char buf[NAME_BYTES])
{
    snprintf(buf, NAME_BYTES, "tenure_%016llx", (unsigned long long)store_key_hash(text));
}

/* A name takes a trip of its own, before the request.  A bell never does: who gives a lock back and
 * ends has rung it then, or who waits would hear of nothing before it looks all the same. */
static bool deserves_name(const struct pg_store *s)
{
    bool command = s->params.count == 0;
    return !command && s->request != REQUEST_RING && !s->pooled && !s->nameless &&
           s->line.answers[s->request] >= PG_NAME_AFTER;
}

/* ---- sending -------------------------------------------------------------------------------- */

static int send_params(struct pg_store *s, const char *text, const char *name)
{
    const struct pg_params *p = &s->params;
    const char *value[PG_PARAMS_MAX];
    int length[PG_PARAMS_MAX], format[PG_PARAMS_MAX];
    for (int i = 0; i < p->count; i++) {
        value[i] = p->value[i].at;
        length[i] = (int)p->value[i].len;
        format[i] = 1;
    }
    PGconn *conn = s->line.conn;
    return name ? pq.PQsendQueryPrepared(conn, name, p->count, value, length, format, 1)
                : pq.PQsendQueryParams(conn, text, p->count, p->type, value, length, format, 1);
}

void link_send(struct pg_store *s)
{
    struct link *l = &s->line;
    char text[200], name[NAME_BYTES];
    bool named = !s->nameless && (l->named & 1u << s->request) != 0;
    request_text(s, s->request, text, sizeof text);
    name_of(text, name);
    l->names = !named && deserves_name(s);
    l->since = clock_now();
    l->busy = true;
    int sent = l->names ? pq.PQsendPrepare(l->conn, name, text, s->params.count, s->params.type)
                        : send_params(s, text, named ? name : NULL);
    if (sent)
        flush(s, l);
    else
        link_drop(s, l, TENURE_UNREACHABLE, "the connection was lost");
}

/* The statement has its name: the request itself. */
static void send_named(struct pg_store *s)
{
    s->line.named |= 1u << s->request;
    link_send(s);
}

static void succeeded(struct pg_store *s, PGresult *r)
{
    if (s->line.answers[s->request] < PG_NAME_AFTER)
        s->line.answers[s->request]++;
    if (s->line.names)
        send_named(s);
    else
        request_answered(s, r);
}

/* The answer of the line is complete.  An error of a statement undoes it.  An error that ends the
 * connection leaves it open whether it happened: the commit comes after the statement's result,
 * and a pooler tells in its own words of a server that it lost in the middle of one. */
static void complete(struct pg_store *s, PGresult *r)
{
    tenure_error err;
    ExecStatusType status = pq.PQresultStatus(r);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        succeeded(s, r);
    } else if (!r) {
        link_drop(s, &s->line, TENURE_UNREACHABLE, "the server answered nothing");
    } else {
        enum error_kind kind = pg_error(s, r, &err);
        s->nameless = s->nameless || kind == ERROR_NAME;
        if (kind == ERROR_BROKEN)
            link_drop(s, &s->line, err.code, err.text);
        else
            request_answered(s, r);
    }
    pq.PQclear(r);
}

/* Takes what has come of the answer. */
static void take_answer(struct pg_store *s)
{
    struct link *l = &s->line;
    while (l->state == LINK_UP && l->busy && !pq.PQisBusy(l->conn)) {
        PGresult *r = pq.PQgetResult(l->conn);
        if (!r) {
            r = l->result;
            l->result = NULL;
            complete(s, r);
        } else {
            pq.PQclear(l->result);
            l->result = r;
        }
    }
}

void link_step(struct pg_store *s, struct link *l)
{
    if (l->state == LINK_CONNECTS)
        connect_step(s, l);
    if (l->state != LINK_UP)
        return;
    if (!pq.PQconsumeInput(l->conn)) {
        PGconn *conn = l->conn;
        if (l == &s->line && l->busy)
            take_answer(s); /* the reason may have come before the end */
        if (l->state == LINK_UP && l->conn == conn)
            link_drop(s, l, TENURE_UNREACHABLE, "the connection was lost");
        return;
    }
    if (l->events & EPOLLOUT)
        flush(s, l);
    if (l == &s->line && l->state == LINK_UP)
        take_answer(s);
    if (l->state == LINK_UP && l->busy &&
        instant_reached(clock_now(), link_limit(s, l)))
        link_time_out(s, l, "the server did not answer within the time allowed");
}

struct instant link_due(const struct pg_store *s, const struct link *l)
{
    switch (l->state) {
    case LINK_DOWN:
        return l->retry;
    case LINK_CONNECTS:
        return link_limit(s, l);
    case LINK_UP:
        return l->busy ? link_limit(s, l) : INSTANT_NEVER;
    }
    return INSTANT_NEVER;
}
