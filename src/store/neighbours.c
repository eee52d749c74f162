#include "store/neighbours.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define RINGS_AT_ONCE 256

static void name_of(uint64_t place, uint64_t session, char ret[DOORBELL_NAME_MAX])
{
    snprintf(ret, DOORBELL_NAME_MAX, "tenure/%016llx/%llu", (unsigned long long)place,
             (unsigned long long)session);
}

void neighbours_init(struct neighbours *n)
{
    *n = (struct neighbours){.fd = -1, .epoll = -1};
}

/* What we watch may live on in another process, and its events with it.  In a forked child, where
 * the epoll set is the parent's too, there is no set any more (-1). */
static void unwatch(const struct neighbours *n, int fd)
{
    epoll_ctl(n->epoll, EPOLL_CTL_DEL, fd, NULL); /* fails when it is not watched */
    close(fd);
}

static void take_down(struct neighbours *n)
{
    if (n->fd >= 0)
        unwatch(n, n->fd);
    n->fd = -1;
    while (n->lines > 0)
        unwatch(n, n->line[--n->lines].line);
}

void neighbours_close(struct neighbours *n)
{
    take_down(n);
    n->session = 0;
}

void neighbours_forked(struct neighbours *n)
{
    n->epoll = -1;
    neighbours_close(n);
}

static bool watch(const struct neighbours *n, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    return fd >= 0 && epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &e) == 0;
}

void neighbours_settle(struct neighbours *n, int epoll, uint64_t place, uint64_t session)
{
    char name[DOORBELL_NAME_MAX];
    if (n->off || (n->place == place && n->session == session))
        return;
    neighbours_close(n);
    n->epoll = epoll;
    n->place = place;
    n->session = session;
    if (session == 0)
        return;
    name_of(place, session, name);
    n->fd = doorbell_hang(name);
    if (!watch(n, n->fd))
        take_down(n);
}

/* ---- hearing -------------------------------------------------------------------------------- */

static void hint(struct hint_queue *hints, uint64_t key_hash)
{
    if (key_hash != 0)
        hint_queue_add(hints, key_hash);
    else
        hints->all = true;
}

/* False: there is nothing on the line yet. */
static bool take_news(const struct neighbours *n, const struct ring *r, struct hint_queue *hints,
                      neighbours_news_fn *fn, void *arg)
{
    char news[NEIGHBOURS_NEWS_MAX];
    ssize_t len = doorbell_listen(r->line, news, sizeof news);
    if (len == -EAGAIN)
        return false;
    if (len > 0)
        fn(arg, news, (size_t)len);
    hint(hints, r->number);
    unwatch(n, r->line);
    return true;
}

/* Waits for the news of a ring.  Where too many wait, the ring is one without news. */
static void keep(struct neighbours *n, const struct ring *r, struct hint_queue *hints)
{
    if (n->lines < NEIGHBOURS_LINES_MAX && watch(n, r->line)) {
        n->line[n->lines++] = *r;
        return;
    }
    hint(hints, r->number);
    close(r->line);
}

static void hear_lines(struct neighbours *n, struct hint_queue *hints, neighbours_news_fn *fn,
                       void *arg)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->lines; i++) {
        if (!take_news(n, &n->line[i], hints, fn, arg))
            n->line[kept++] = n->line[i];
    }
    n->lines = kept;
}

void neighbours_hear(struct neighbours *n, struct hint_queue *hints, neighbours_news_fn *fn,
                     void *arg)
{
    int code = n->fd >= 0;
    hear_lines(n, hints, fn, arg);
    for (int i = 0; i < RINGS_AT_ONCE && code > 0; i++) {
        struct ring r = {0, -1};
        code = doorbell_hear(n->fd, &r);
        if (code < 0)
            hints->all = true;
        else if (code > 0 && r.line < 0)
            hint(hints, r.number);
        else if (code > 0 && !take_news(n, &r, hints, fn, arg))
            keep(n, &r, hints);
    }
    if (code < 0)
        take_down(n);
}

/* ---- ringing -------------------------------------------------------------------------------- */

bool neighbours_ring(const struct neighbours *n, uint64_t session, uint64_t key_hash,
                     const void *news, size_t len)
{
    char name[DOORBELL_NAME_MAX];
    if (n->off || n->place == 0)
        return false;
    name_of(n->place, session, name);
    return doorbell_ring(name, key_hash, news, len <= NEIGHBOURS_NEWS_MAX ? len : 0);
}
