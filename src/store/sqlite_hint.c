/* store/sqlite_hint.c - what may have changed: one epoll descriptor for the handle's life. */
#include "store/sqlite_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "store/room.h"

/* What an event is about; everything else is the id of a session that is watched. */
#define ABOUT_BELL 0
#define ABOUT_CHANGES UINT64_MAX

/* An observer's mark in the gate's page lasts for so long; it is renewed at each `due`. */
#define OBSERVES_MS (3 * TIMING_NOTICE_MS)

/* Descriptors for sessions that are watched; beyond that the safety net does.  One that nobody
 * watches any more stays for a while: who fights for a name meets the same ones again and again. */
#define PEERS_MAX 192
#define PEERS_IDLE_MAX 32

int sqlite_hints_open(struct sqlite_store *s, tenure_error *err)
{
    struct hints *h = &s->hints;
    h->inotify = -1;
    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (h->epoll < 0)
        return fail_errno(err, errno, "no epoll descriptor");
    h->changes = atomic_load(&gate_page(s->gate)->changes);
    h->looked = clock_now();
    return 0;
}

void sqlite_hints_close(struct sqlite_store *s)
{
    struct hints *h = &s->hints;
    for (size_t i = 0; i < h->peers; i++)
        close(h->peer[i].fd);
    h->peers = h->watches = h->idle = 0;
    free(h->peer);
    free(h->watch);
    h->peer = NULL;
    h->watch = NULL;
    if (h->inotify >= 0)
        close(h->inotify);
    if (h->epoll >= 0)
        close(h->epoll);
    h->inotify = h->epoll = -1;
}

static int listen_to(struct hints *h, int fd, uint32_t events, uint64_t about)
{
    struct epoll_event e = {.events = events, .data.u64 = about};
    return epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : errno;
}

/* Always before a descriptor is closed: its description may live on in another process (a
 * guardian's lifeline, a forked child), and its events with it. */
static void unlisten(struct hints *h, int fd)
{
    epoll_ctl(h->epoll, EPOLL_CTL_DEL, fd, NULL);
}

int sqlite_hints_join(struct sqlite_store *s, tenure_error *err)
{
    int e = listen_to(&s->hints, lifelines_own_fd(s->lives), EPOLLIN, ABOUT_BELL);
    return e == 0 ? 0 : fail_errno(err, e, "the session's bell cannot be listened to");
}

void sqlite_hints_leave(struct sqlite_store *s)
{
    int fd = lifelines_own_fd(s->lives);
    if (fd >= 0)
        unlisten(&s->hints, fd);
}

/* ---- watched sessions ----------------------------------------------------------------------- */

static struct peer *peer_find(struct hints *h, uint64_t session)
{
    for (size_t i = 0; i < h->peers; i++) {
        if (h->peer[i].session == session)
            return &h->peer[i];
    }
    return NULL;
}

static void peer_remove(struct hints *h, struct peer *p)
{
    unlisten(h, p->fd);
    close(p->fd);
    if (p->watches == 0)
        h->idle--;
    *p = h->peer[--h->peers];
}

static struct peer *peer_oldest_idle(struct hints *h)
{
    struct peer *oldest = NULL;
    for (size_t i = 0; i < h->peers; i++) {
        struct peer *p = &h->peer[i];
        if (p->watches == 0 && (!oldest || p->left < oldest->left))
            oldest = p;
    }
    return oldest;
}

/* Nobody watches it any more. */
static void peer_rest(struct hints *h, struct peer *p)
{
    p->left = ++h->lefts;
    if (++h->idle > PEERS_IDLE_MAX)
        peer_remove(h, peer_oldest_idle(h));
}

static struct peer *peer_add(struct sqlite_store *s, uint64_t session,
                             enum lifeline_state *ret_state)
{
    struct hints *h = &s->hints;
    void *at = h->peer;
    *ret_state = LIFELINE_UNKNOWN;
    if (h->peers == PEERS_MAX && h->idle > 0)
        peer_remove(h, peer_oldest_idle(h));
    if (h->peers == PEERS_MAX ||
        !room_for_one_more(&at, h->peers, &h->peers_cap, sizeof *h->peer))
        return NULL;
    h->peer = at;
    int fd = lifelines_watch(s->lives, session, ret_state);
    if (fd < 0)
        return NULL;
    if (listen_to(h, fd, 0, session) != 0) { /* EPOLLERR comes unasked */
        close(fd);
        *ret_state = LIFELINE_UNKNOWN;
        return NULL;
    }
    h->peer[h->peers] = (struct peer){.session = session, .fd = fd};
    h->idle++; /* until it is watched */
    return &h->peer[h->peers++];
}

static void watch_add(struct sqlite_store *s, uint64_t key_hash, uint64_t session)
{
    struct hints *h = &s->hints;
    void *at = h->watch;
    enum lifeline_state state;
    if (session == 0 || session == s->session)
        return;
    struct peer *p = peer_find(h, session);
    if (!p)
        p = peer_add(s, session, &state);
    if (!p) {
        if (state == LIFELINE_ENDED)
            hint_queue_add(&h->queue, key_hash); /* it ended since the caller looked */
        return;
    }
    if (!room_for_one_more(&at, h->watches, &h->watches_cap, sizeof *h->watch))
        return;
    h->watch = at;
    h->watch[h->watches++] = (struct watch){.key_hash = key_hash, .session = session};
    if (p->watches++ == 0)
        h->idle--;
}

void sqlite_watch_sessions(struct store *store, const char *key, const uint64_t *session,
                           uint32_t count)
{
    struct sqlite_store *s = sqlite_of(store);
    struct hints *h = &s->hints;
    uint64_t key_hash = store_key_hash(key);
    size_t before = h->watches;
    /* The new ones first: a peer that stays is not closed and opened again. */
    for (uint32_t i = 0; i < count; i++)
        watch_add(s, key_hash, session[i]);
    size_t kept = 0;
    for (size_t i = 0; i < h->watches; i++) {
        struct watch w = h->watch[i];
        if (i >= before || w.key_hash != key_hash) {
            h->watch[kept++] = w;
            continue;
        }
        struct peer *p = peer_find(h, w.session);
        if (p && --p->watches == 0)
            peer_rest(h, p);
    }
    h->watches = kept;
}

/* A watched session's process has ended: every key that watches it gets a hint, once. */
static void peer_ended(struct hints *h, uint64_t session)
{
    struct peer *p = peer_find(h, session);
    size_t kept = 0;
    for (size_t i = 0; i < h->watches; i++) {
        if (h->watch[i].session == session)
            hint_queue_add(&h->queue, h->watch[i].key_hash);
        else
            h->watch[kept++] = h->watch[i];
    }
    h->watches = kept;
    if (p)
        peer_remove(h, p);
}

/* ---- every change --------------------------------------------------------------------------- */

/* The counter moved since our last look: a memory read. */
static void look(struct sqlite_store *s)
{
    struct hints *h = &s->hints;
    uint64_t changes = atomic_load_explicit(&gate_page(s->gate)->changes, memory_order_acquire);
    if (changes == h->changes)
        return;
    h->changes = changes;
    h->queue.all = true;
}

void sqlite_hints_count(struct sqlite_store *s)
{
    struct hints *h = &s->hints;
    _Atomic uint64_t *changes = &gate_page(s->gate)->changes;
    uint64_t before = atomic_fetch_add_explicit(changes, 1, memory_order_release);
    if (h->changes == before && h->inotify < 0)
        h->changes = before + 1; /* our own change is no news to us, but to an observer it is */
}

static void observe(struct sqlite_store *s)
{
    _Atomic int64_t *until = &gate_page(s->gate)->observed_until;
    atomic_store_explicit(until, clock_now().ms + OBSERVES_MS, memory_order_relaxed);
}

int sqlite_watch_all(struct store *store, bool on, tenure_error *err)
{
    struct sqlite_store *s = sqlite_of(store);
    struct hints *h = &s->hints;
    if (!on || h->inotify >= 0) {
        if (!on && h->inotify >= 0) {
            unlisten(h, h->inotify);
            close(h->inotify);
            h->inotify = -1;
        }
        return 0;
    }
    char path[4096 + 8];
    int n = snprintf(path, sizeof path, "%s-gate", s->path);
    if (n < 0 || (size_t)n >= sizeof path)
        return fail(err, TENURE_INVALID, "the path of the store is too long");
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "no inotify descriptor");
    int e = inotify_add_watch(fd, path, IN_MODIFY) < 0 ? errno : 0;
    if (e == 0)
        e = listen_to(h, fd, EPOLLIN, ABOUT_CHANGES);
    if (e != 0) {
        close(fd);
        return fail_errno(err, e, "%s cannot be watched", path);
    }
    h->inotify = fd;
    observe(s);
    h->changes = atomic_load(&gate_page(s->gate)->changes);
    h->looked = clock_now();
    return 0;
}

/* ---- taking --------------------------------------------------------------------------------- */

static void drain_bell(struct sqlite_store *s)
{
    uint64_t hint[64];
    size_t n = lifelines_drain(s->lives, hint, sizeof hint / sizeof hint[0]);
    for (size_t i = 0; i < n; i++)
        hint_queue_add(&s->hints.queue, hint[i]);
}

static void drain_changes(struct sqlite_store *s)
{
    char events[1024];
    ssize_t n;
    do {
        n = read(s->hints.inotify, events, sizeof events);
    } while (n > 0 || (n < 0 && errno == EINTR));
    look(s);
}

static void collect(struct sqlite_store *s)
{
    struct epoll_event e[16];
    int n = epoll_wait(s->hints.epoll, e, sizeof e / sizeof e[0], 0);
    for (int i = 0; i < n; i++) {
        if (e[i].data.u64 == ABOUT_BELL)
            drain_bell(s);
        else if (e[i].data.u64 == ABOUT_CHANGES)
            drain_changes(s);
        else
            peer_ended(&s->hints, e[i].data.u64);
    }
}

bool sqlite_next_hint(struct store *store, struct store_hint *ret)
{
    struct sqlite_store *s = sqlite_of(store);
    if (hint_queue_take(&s->hints.queue, ret))
        return true;
    collect(s);
    return hint_queue_take(&s->hints.queue, ret);
}

int sqlite_fd(struct store *store)
{
    return sqlite_of(store)->hints.epoll;
}

/* Whether anybody would want a hint. */
static bool cares(const struct sqlite_store *s)
{
    return s->session != 0 || s->hints.watches > 0 || s->hints.inotify >= 0;
}

void sqlite_process(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);
    struct instant now = clock_now();
    collect(s);
    if (!cares(s) || instant_diff(s->hints.looked, now).ms < TIMING_NOTICE_MS)
        return;
    s->hints.looked = now;
    if (s->hints.inotify >= 0)
        observe(s);
    look(s);
}

struct instant sqlite_due(struct store *store)
{
    const struct sqlite_store *s = sqlite_of(store);
    return cares(s) ? instant_add(s->hints.looked, SPAN(TIMING_NOTICE_MS)) : INSTANT_NEVER;
}
