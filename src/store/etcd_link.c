/* store/etcd_link.c - the connection: made to one endpoint after the other, kept, given up. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/etcd_engine.h"

#define PAUSE_FIRST_MS 20
#define PAUSE_MAX_MS 2000
#define CONNECT_MIN_MS 200
#define CONNECT_MAX_MS 1000
#define PING_MS 10000 /* etcd turns away who pings more than each 5 s, or without a call */
#define READS_MAX 64 /* in one step, so that others get their turn */

/* ---- the end of one -------------------------------------------------------------------------- */

static int64_t pause_ms(const struct etcd_store *s)
{
    const struct etcd_link *l = &s->link;
    uint32_t dice = 0;
    unsigned rounds = l->failures / (unsigned)s->place.endpoints;
    int64_t most = (int64_t)PAUSE_FIRST_MS << (rounds > 8 ? 8 : rounds);
    if (most > PAUSE_MAX_MS)
        most = PAUSE_MAX_MS;
    if (getrandom(&dice, sizeof dice, GRND_NONBLOCK) != (ssize_t)sizeof dice)
        dice = UINT32_MAX / 2;
    return most / 2 + (int64_t)(dice % (uint32_t)(most / 2 + 1));
}

static void socket_close(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    if (l->fd >= 0) /* to close it is to take it out of the epoll set */
        close(l->fd);
    l->fd = -1;
    l->events = 0;
}

static void addresses_free(struct etcd_link *l)
{
    if (l->addresses)
        freeaddrinfo(l->addresses);
    l->addresses = l->address = NULL;
}

void etcd_link_close(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    if (!s->forked)
        socket_close(s);
    addresses_free(l);
    l->tls = etcd_tls_close(l->tls);
    if (l->http)
        ng.nghttp2_session_del(l->http);
    l->http = NULL;
    l->out_len = l->out_at = 0;
    l->state = LINK_DOWN;
    l->leaves = l->ping.held = false;
    free(s->token);
    s->token = NULL; /* the next connection asks for one */
    s->greeted = s->sealing = false;
    s->clock_asked = false;
    etcd_clock_reconnected(&s->clock);
    etcd_calls_lost(s);
    etcd_keepalives_lost(s);
    etcd_ears_lost(s);
}

/* One that ends soon after it was greeted may do so again and again. */
static bool was_of_use(const struct etcd_store *s)
{
    struct instant settled = instant_add(s->link.since, SPAN(PAUSE_MAX_MS));
    return s->greeted && instant_reached(clock_now(), settled);
}

void etcd_link_drop(struct etcd_store *s, int code, const char *why)
{
    struct etcd_link *l = &s->link;
    l->trouble.code = code;
    if (why != l->trouble.text)
        snprintf(l->trouble.text, sizeof l->trouble.text, "%.*s",
                 (int)sizeof l->trouble.text - 1, why);
    l->failures = was_of_use(s) ? 1 : l->failures + 1;
    l->left = l->endpoint;
    l->endpoint = (l->endpoint + 1) % s->place.endpoints;
    bool round_is_over = l->failures % (unsigned)s->place.endpoints == 0;
    l->retry = instant_add(clock_now(), SPAN(round_is_over ? pause_ms(s) : 0));
    etcd_link_close(s);
}

void etcd_link_turn_to(struct etcd_store *s, int endpoint)
{
    struct etcd_link *l = &s->link;
    l->turned = true;
    l->endpoint = endpoint;
    l->retry = clock_now();
    etcd_link_close(s);
}

/* ---- making one ------------------------------------------------------------------------------ */

static void watch_socket(struct etcd_store *s, uint32_t events)
{
    struct etcd_link *l = &s->link;
    if (l->events == events)
        return;
    struct epoll_event e = {.events = events, .data.fd = l->fd};
    epoll_ctl(s->epoll, l->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, l->fd, &e);
    l->events = events; /* when it fails, `due` looks all the same */
}

static void describe(const struct etcd_store *s, const char *what, char *to, size_t cap)
{
    const struct etcd_endpoint *e = &s->place.endpoint[s->link.endpoint];
    snprintf(to, cap, "etcd at %.*s:%u: %s", (int)e->host.len, e->host.at, e->port, what);
}

static void drop_with(struct etcd_store *s, int code, const char *what)
{
    char why[400];
    describe(s, what, why, sizeof why);
    etcd_link_drop(s, code, why);
}

static void drop(struct etcd_store *s, const char *what)
{
    drop_with(s, TENURE_UNREACHABLE, what);
}

/* Tries the addresses from l->address on. */
static void connect_next(struct etcd_store *s, int errnum)
{
    struct etcd_link *l = &s->link;
    for (; l->address; l->address = l->address->ai_next) {
        const struct addrinfo *a = l->address;
        int on = 1;
        socket_close(s);
        l->fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (l->fd >= 0) {
            setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            if (connect(l->fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS) {
                watch_socket(s, EPOLLOUT);
                return;
            }
        }
        errnum = errno;
    }
    l->absent++;
    drop(s, strerror(errnum));
}

void etcd_link_start(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    char host[ENDPOINT_HOST_BYTES_MAX + 1], port[8];
    if (l->state != LINK_DOWN || !instant_reached(clock_now(), l->retry))
        return;
    const struct etcd_endpoint *e = &s->place.endpoint[l->endpoint];
    snprintf(host, sizeof host, "%.*s", (int)e->host.len, e->host.at);
    snprintf(port, sizeof port, "%u", e->port);
    l->since = clock_now();
    l->state = LINK_CONNECTS;
    int code = getaddrinfo(host, port, &hints, &l->addresses);
    if (code != 0) {
        l->addresses = NULL;
        l->absent++;
        drop(s, gai_strerror(code));
        return;
    }
    l->address = l->addresses;
    connect_next(s, ENOENT);
}

/* Whether there are others that were not tried since one was last of use. */
static bool has_others(const struct etcd_store *s)
{
    return s->link.failures + 1 < (unsigned)s->place.endpoints;
}

/* A member that says nothing leaves the others time within the same attempt. */
static struct span connect_limit(const struct etcd_store *s)
{
    int64_t ms = has_others(s) ? s->patience.ms / s->place.endpoints : s->patience.ms;
    return SPAN(ms < CONNECT_MIN_MS ? CONNECT_MIN_MS : ms > CONNECT_MAX_MS ? CONNECT_MAX_MS : ms);
}

/* ... also when it takes connections, and answers nobody. */
static struct span answer_limit(const struct etcd_store *s)
{
    return !s->greeted && has_others(s) ? connect_limit(s) : s->patience;
}

/* The connection carries bytes both ways. */
static void up(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    l->state = LINK_UP;
    l->absent = 0;
    l->heard = l->pinged = clock_now();
    if (!etcd_http_start(s)) {
        etcd_link_drop(s, TENURE_NO_MEMORY, "out of memory");
        return;
    }
    watch_socket(s, EPOLLIN);
    etcd_hello(s);
}

static void tls_step(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    tenure_error err;
    int code = etcd_tls_shake(l->tls, &err);
    if (code < 0)
        drop_with(s, code, err.text);
    else if (code > 0)
        up(s);
    else if (instant_reached(clock_now(), instant_add(l->since, connect_limit(s))))
        drop(s, "it does not answer");
}

/* An IPv6 address has colons, and a name does not end in a digit. */
static bool is_address(const char *host)
{
    size_t len = strlen(host);
    return strchr(host, ':') || (len > 0 && host[len - 1] >= '0' && host[len - 1] <= '9');
}

static void tls_start(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    tenure_error err;
    const struct etcd_endpoint *e = &s->place.endpoint[l->endpoint];
    snprintf(l->host, sizeof l->host, "%.*s", (int)e->host.len, e->host.at);
    const struct etcd_tls_options opt = {
        .ca = s->ca,
        .cert = s->cert,
        .key = s->key,
        .name = s->server_name ? s->server_name : l->host,
        .is_address = !s->server_name && is_address(l->host),
    };
    l->state = LINK_SHAKES;
    int code = etcd_tls_start(l->fd, &opt, &l->tls, &err);
    if (code < 0) {
        drop_with(s, code, err.text);
        return;
    }
    watch_socket(s, EPOLLIN);
    tls_step(s);
}

static void connect_step(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    struct pollfd p = {.fd = l->fd, .events = POLLOUT};
    int errnum = 0;
    socklen_t len = sizeof errnum;
    if (poll(&p, 1, 0) <= 0) {
        if (instant_reached(clock_now(), instant_add(l->since, connect_limit(s))))
            drop(s, "it does not answer");
        return;
    }
    getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &errnum, &len);
    if (errnum != 0) {
        l->address = l->address->ai_next;
        connect_next(s, errnum);
        return;
    }
    addresses_free(l);
    if (s->place.tls)
        tls_start(s);
    else
        up(s);
}

/* ---- using it -------------------------------------------------------------------------------- */

/* The connection ended with errno; TLS has filled *err. */
static void broken(struct etcd_store *s, const tenure_error *err)
{
    if (errno == EPROTO && s->link.tls)
        drop_with(s, err->code, err->text);
    else
        drop(s, strerror(errno));
}

/* Writes what is left over; false when the socket takes no more. */
static bool write_out(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    while (l->out_at < l->out_len) {
        tenure_error err;
        const uint8_t *from = l->out + l->out_at;
        size_t left = l->out_len - l->out_at;
        ssize_t n = l->tls ? etcd_tls_send(l->tls, from, left, &err)
                           : send(l->fd, from, left, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return false;
        if (n < 0) {
            broken(s, &err);
            return false;
        }
        l->out_at += (size_t)n;
    }
    l->out_at = l->out_len = 0;
    return true;
}

static bool keep(struct etcd_link *l, const uint8_t *bytes, size_t len)
{
    if (l->out_len + len > l->out_cap) {
        uint8_t *out = realloc(l->out, l->out_len + len);
        if (!out)
            return false;
        l->out = out;
        l->out_cap = l->out_len + len;
    }
    memcpy(l->out + l->out_len, bytes, len);
    l->out_len += len;
    return true;
}

void etcd_link_flush(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    const uint8_t *bytes;
    ssize_t n = 0;
    if (l->state != LINK_UP)
        return;
    while (l->out_len < ETCD_READ_BYTES && (n = ng.nghttp2_session_mem_send(l->http, &bytes)) > 0) {
        if (!keep(l, bytes, (size_t)n)) {
            etcd_link_drop(s, TENURE_NO_MEMORY, "out of memory");
            return;
        }
    }
    if (n < 0) {
        drop(s, ng.nghttp2_strerror((int)n));
        return;
    }
    bool more = !write_out(s) || n > 0;
    if (l->state == LINK_UP && !l->leaves && !more && !ng.nghttp2_session_want_read(l->http))
        drop(s, "it broke the rules of HTTP/2"); /* and nghttp2 has told it so */
    if (l->state == LINK_UP)
        watch_socket(s, more ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* Takes what has come; false when the connection is over. */
static bool read_in(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    for (int i = 0; i < READS_MAX; i++) {
        tenure_error err;
        ssize_t n = l->tls ? etcd_tls_recv(l->tls, l->in, ETCD_READ_BYTES, &err)
                           : recv(l->fd, l->in, ETCD_READ_BYTES, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return true;
        if (n <= 0) {
            int errnum = errno;
            etcd_calls_dispatch(s); /* what came before the end counts */
            errno = errnum;
            if (l->state == LINK_UP && n < 0)
                broken(s, &err);
            else if (l->state == LINK_UP)
                drop(s, "it ended the connection");
            return false;
        }
        l->heard = clock_now();
        ssize_t taken = ng.nghttp2_session_mem_recv(l->http, l->in, (size_t)n);
        if (taken < 0) {
            drop(s, ng.nghttp2_strerror((int)taken));
            return false;
        }
        if ((size_t)n < ETCD_READ_BYTES && !l->tls)
            return true;
    }
    return true;
}

static const struct etcd_call *oldest_call(const struct etcd_link *l)
{
    const struct etcd_call *oldest = NULL;
    for (const struct etcd_call *c = l->calls; c; c = c->next) {
        if (!c->streams && (!oldest || c->sent.ms < oldest->sent.ms))
            oldest = c;
    }
    return oldest;
}

/* Who vanished without a word is found out by calls that are not answered, or by pings. */
static void check_silence(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    struct instant now = clock_now();
    const struct etcd_call *c = oldest_call(l);
    if (c && instant_reached(now, instant_add(c->sent, answer_limit(s)))) {
        drop(s, "it did not answer within the time allowed");
    } else if (l->calls && instant_reached(now, instant_add(l->heard, SPAN(2 * PING_MS)))) {
        drop(s, "it does not answer any more");
    } else if (l->leaves && !c) {
        bool at_once = was_of_use(s); /* not one that only says goodbye */
        drop(s, "it said goodbye");
        if (at_once)
            l->retry = now;
    } else if (l->calls && instant_reached(now, instant_add(l->heard, SPAN(PING_MS))) &&
               instant_reached(now, instant_add(l->pinged, SPAN(PING_MS)))) {
        l->pinged = now;
        ng.nghttp2_submit_ping(l->http, NGHTTP2_FLAG_NONE, NULL);
    }
}

void etcd_link_step(struct etcd_store *s)
{
    struct etcd_link *l = &s->link;
    if (l->state == LINK_CONNECTS)
        connect_step(s);
    else if (l->state == LINK_SHAKES)
        tls_step(s);
    if (l->state == LINK_UP && read_in(s))
        etcd_calls_dispatch(s);
    if (l->state == LINK_UP)
        check_silence(s);
    if (l->state == LINK_UP)
        etcd_ping_step(s);
}

struct instant etcd_link_due(const struct etcd_store *s)
{
    const struct etcd_link *l = &s->link;
    struct instant due;
    switch (l->state) {
    case LINK_DOWN:
        return l->retry;
    case LINK_CONNECTS:
    case LINK_SHAKES:
        return instant_add(l->since, connect_limit(s));
    case LINK_UP:
        due = l->tls && etcd_tls_pending(l->tls) ? INSTANT(0) : INSTANT_NEVER;
        if (l->calls)
            due = instant_add(l->heard.ms > l->pinged.ms ? l->heard : l->pinged, SPAN(PING_MS));
        if (oldest_call(l))
            due = instant_min(due, instant_add(oldest_call(l)->sent, answer_limit(s)));
        return instant_min(due, etcd_ping_due(s));
    }
    return INSTANT_NEVER;
}
