/* store/memory.c - see memory.h.  Made to be obviously right: one mutex, sorted arrays. */
#include "store/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/timing.h"
#include "os/clock.h"
#include "os/fail.h"
#include "store/engines.h"
#include "store/hint_queue.h"
#include "store/record_set.h"
#include "store/room.h"

struct session {
    uint64_t id;
    struct span ttl;
    struct instant expires;
    bool noticed;
};

struct handle;

/* What is shared by the handles of one name. */
struct world {
    struct world *next;
    char *name; /* NULL: of one handle only */
    pthread_mutex_t mutex;
    struct handle *handle;
    struct record_set records;
    struct session *session;
    size_t sessions, sessions_cap;
    uint64_t floor;
    bool clock_is_set;
    struct instant now;
};

struct watch {
    uint64_t key_hash, session;
};

struct handle {
    struct store store;
    struct world *world;
    struct handle *next;
    char *url;
    bool forked;
    uint64_t session; /* whose bell this is; 0: none */
    int bell;         /* eventfd: readable while the queue is not empty */
    bool all;         /* wants to hear of every change */
    struct hint_queue queue;
    struct watch *watch;
    size_t watches, watches_cap;
    void *buffer[STORE_KEYS_MAX];
    struct effects fx;
};

static pthread_mutex_t worlds_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct world *worlds; /* those that have a name; they stay */

static struct handle *handle_of(struct store *store)
{
    return (struct handle *)(void *)store; /* the first member */
}

static struct world *enter(struct store *store)
{
    struct world *w = handle_of(store)->world;
    pthread_mutex_lock(&w->mutex);
    return w;
}

static void leave(struct world *w)
{
    pthread_mutex_unlock(&w->mutex);
}

static struct instant world_now(const struct world *w)
{
    return w->clock_is_set ? w->now : clock_now();
}

/* ---- hints ---------------------------------------------------------------------------------- */

static void hint(struct handle *h, uint64_t key_hash)
{
    hint_queue_add(&h->queue, key_hash);
    eventfd_write(h->bell, 1); /* fails only when it is readable anyway */
}

static void hint_all(struct world *w)
{
    for (struct handle *h = w->handle; h; h = h->next) {
        if (h->all) {
            h->queue.all = true;
            eventfd_write(h->bell, 1);
        }
    }
}

static void ring(struct world *w, uint64_t session, uint64_t key_hash)
{
    for (struct handle *h = w->handle; h; h = h->next) {
        if (h->session == session)
            hint(h, key_hash);
    }
}

static void tell_watchers(struct world *w, uint64_t session)
{
    for (struct handle *h = w->handle; h; h = h->next) {
        size_t kept = 0;
        for (size_t i = 0; i < h->watches; i++) {
            if (h->watch[i].session == session)
                hint(h, h->watch[i].key_hash);
            else
                h->watch[kept++] = h->watch[i];
        }
        h->watches = kept;
    }
}

/* ---- sessions ------------------------------------------------------------------------------- */

static struct session *session_find(struct world *w, uint64_t id)
{
    for (size_t i = 0; i < w->sessions; i++) {
        if (w->session[i].id == id)
            return &w->session[i];
    }
    return NULL;
}

static void session_end(struct world *w, uint64_t id)
{
    struct session *s = session_find(w, id);
    if (!s)
        return;
    *s = w->session[--w->sessions];
    tell_watchers(w, id);
    hint_all(w);
}

static enum liveness liveness(void *oracle, uint64_t id, struct instant *ret_until)
{
    struct world *w = oracle;
    const struct session *s = session_find(w, id);
    *ret_until = s ? s->expires : world_now(w);
    if (!s)
        return LIVE_GONE;
    return instant_reached(world_now(w), s->expires) ? LIVE_EXPIRED : LIVE;
}

static void memory_session_open(struct store *store, struct store_session_open *op)
{
    struct world *w = enter(store);
    void *at = w->session;
    if (!room_for_one_more(&at, w->sessions, &w->sessions_cap, sizeof *w->session)) {
        leave(w);
        store_op_finish(&op->op, TENURE_NO_MEMORY);
        return;
    }
    w->session = at;
    op->session = ++w->floor;
    w->session[w->sessions++] = (struct session){
        .id = op->session,
        .ttl = op->ttl,
        .expires = instant_add(world_now(w), op->ttl),
    };
    handle_of(store)->session = op->session;
    leave(w);
    store_op_finish(&op->op, 0);
}

static void memory_session_renew(struct store *store, struct store_session_renew *op)
{
    struct world *w = enter(store);
    struct session *s = session_find(w, op->session);
    if (s && !instant_reached(world_now(w), s->expires)) {
        s->expires = instant_add(world_now(w), s->ttl);
        op->noticed = s->noticed;
        s->noticed = false;
        store_op_finish(&op->op, 0);
    } else {
        store_op_fail(&op->op, TENURE_LOST, "session %llu is dead: %s",
                      (unsigned long long)op->session, s ? "it had expired" : "it was ended");
    }
    leave(w);
}

static void memory_session_close(struct store *store, struct store_session_close *op)
{
    struct handle *h = handle_of(store);
    struct world *w = enter(store);
    session_end(w, op->session);
    if (h->session == op->session)
        h->session = 0;
    leave(w);
    store_op_finish(&op->op, 0);
}

void memory_session_end(struct store *store, uint64_t session)
{
    struct world *w = enter(store);
    session_end(w, session);
    leave(w);
}

void memory_clock_set(struct store *store, struct instant now)
{
    struct world *w = enter(store);
    if (!w->clock_is_set || now.ms > w->now.ms)
        w->now = now;
    w->clock_is_set = true;
    leave(w);
}

/* ---- deciding and looking ------------------------------------------------------------------- */

static struct facts facts_of(struct world *w)
{
    return (struct facts){
        .now = world_now(w),
        .wall_ms = clock_wall_ms(),
        .token_floor = w->floor,
        .liveness = liveness,
        .oracle = w,
    };
}

static int decide(struct handle *h, const struct store_update *op, struct store_view *view)
{
    struct world *w = h->world;
    h->fx.changed = false;
    h->fx.ring_count = 0;
    h->fx.notice = 0;
    *view = (struct store_view){.facts = facts_of(w), .count = op->count, .fx = &h->fx};
    for (int i = 0; i < op->count; i++) {
        const struct record *r = record_set_get(&w->records, op->key[i]);
        view->in[i] = (struct store_record){.key = op->key[i]};
        view->out[i] = (struct store_write){.what = STORE_KEEP, .bytes = h->buffer[i]};
        if (r) {
            view->in[i].bytes = r->bytes;
            view->in[i].len = r->len;
        }
    }
    return op->decide(op->arg, view);
}

/* Everything that the puts need, before anything is changed: they happen together. */
static bool prepare(struct world *w, const struct store_view *view,
                    struct record fresh[STORE_KEYS_MAX])
{
    for (int i = 0; i < view->count; i++) {
        const struct store_write *out = &view->out[i];
        if (out->what == STORE_PUT &&
            !record_make(&fresh[i], view->in[i].key, out->bytes, out->len))
            return false;
    }
    return record_set_reserve(&w->records, STORE_KEYS_MAX);
}

/* Makes the decision so; false without memory, and then nothing has changed. */
static bool apply(struct handle *h, const struct store_view *view)
{
    struct world *w = h->world;
    struct record fresh[STORE_KEYS_MAX] = {{0}};
    bool changed = false;
    if (!prepare(w, view, fresh)) {
        for (int i = 0; i < view->count; i++)
            record_free(&fresh[i]);
        return false;
    }
    for (int i = 0; i < view->count; i++) {
        changed = changed || view->out[i].what != STORE_KEEP;
        if (view->out[i].what == STORE_PUT)
            record_set_put(&w->records, &fresh[i]);
        else if (view->out[i].what == STORE_DELETE)
            record_set_delete(&w->records, view->in[i].key);
    }
    if (changed && view->facts.token_floor > w->floor)
        w->floor = view->facts.token_floor;
    struct session *told = session_find(w, h->fx.notice);
    if (told)
        told->noticed = true;
    for (int i = 0; i < view->count; i++) {
        for (uint32_t r = 0; r < h->fx.ring_count; r++)
            ring(w, h->fx.ring[r], store_key_hash(view->in[i].key));
    }
    if (changed)
        hint_all(w);
    return true;
}

static void memory_update(struct store *store, struct store_update *op)
{
    struct handle *h = handle_of(store);
    struct store_view view;
    struct world *w = enter(store);
    int verdict = decide(h, op, &view);
    for (int i = 0; i < op->count && verdict >= 0; i++) {
        if (view.out[i].what == STORE_PUT &&
            (view.out[i].len == 0 || view.out[i].len > STORE_RECORD_MAX))
            verdict = TENURE_INTERNAL;
    }
    if (verdict >= 0 && !apply(h, &view))
        verdict = TENURE_NO_MEMORY;
    leave(w);
    if (verdict >= 0)
        op->verdict = verdict;
    store_op_finish(&op->op, verdict >= 0 ? 0 : verdict);
}

static void memory_read(struct store *store, struct store_read *op)
{
    struct world *w = enter(store);
    const struct facts facts = facts_of(w);
    size_t len = strlen(op->prefix);
    for (size_t i = record_set_seek(&w->records, op->prefix); i < w->records.count; i++) {
        const struct record *r = &w->records.at[i];
        struct facts copy = facts;
        if (strncmp(r->key, op->prefix, len) != 0)
            break;
        if (op->after && strcmp(r->key, op->after) <= 0)
            continue;
        if (!op->fn(op->arg, &(struct store_record){r->key, r->bytes, r->len}, &copy))
            break;
    }
    leave(w);
    store_op_finish(&op->op, 0);
}

static void memory_abandon(struct store *store, struct store_op *op)
{
    (void)store; /* nothing is ever in flight */
    if (!op->done)
        store_op_finish(op, TENURE_UNSURE);
}

/* ---- taking hints --------------------------------------------------------------------------- */

static void memory_watch_sessions(struct store *store, const char *key, const uint64_t *session,
                                  uint32_t count)
{
    struct handle *h = handle_of(store);
    struct world *w = enter(store);
    uint64_t key_hash = store_key_hash(key);
    size_t kept = 0;
    for (size_t i = 0; i < h->watches; i++) {
        if (h->watch[i].key_hash != key_hash)
            h->watch[kept++] = h->watch[i];
    }
    h->watches = kept;
    for (uint32_t i = 0; i < count; i++) {
        void *at = h->watch;
        if (!session_find(w, session[i])) {
            hint(h, key_hash); /* it ended since the caller looked */
            continue;
        }
        if (!room_for_one_more(&at, h->watches, &h->watches_cap, sizeof *h->watch))
            break; /* a hint may be lost */
        h->watch = at;
        h->watch[h->watches++] = (struct watch){key_hash, session[i]};
    }
    leave(w);
}

static int memory_watch_all(struct store *store, bool on, tenure_error *err)
{
    (void)err;
    struct world *w = enter(store);
    handle_of(store)->all = on;
    leave(w);
    return 0;
}

static bool memory_next_hint(struct store *store, struct store_hint *ret)
{
    struct handle *h = handle_of(store);
    struct world *w = enter(store);
    bool any = hint_queue_take(&h->queue, ret);
    eventfd_t n;
    if (h->queue.count == 0 && !h->queue.all)
        eventfd_read(h->bell, &n); /* not readable any more */
    leave(w);
    return any;
}

static int memory_fd(struct store *store)
{
    return handle_of(store)->bell;
}

static void memory_process(struct store *store)
{
    (void)store; /* everything is finished at once */
}

static struct instant memory_due(struct store *store)
{
    (void)store;
    return INSTANT_NEVER;
}

static void memory_examine(struct store *store, void (*fn)(void *arg, bool fine, const char *text),
                           void *arg)
{
    (void)store;
    fn(arg, false, "this store lives in one process and ends with it: it is for tests");
}

static const char *memory_url(struct store *store)
{
    return handle_of(store)->url;
}

/* ---- opening and closing -------------------------------------------------------------------- */

static void world_free(struct world *w)
{
    record_set_free(&w->records);
    free(w->session);
    free(w->name);
    pthread_mutex_destroy(&w->mutex);
    free(w);
}

static struct world *world_new(const char *name)
{
    struct world *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    if (*name != '\0' && !(w->name = strdup(name))) {
        free(w);
        return NULL;
    }
    pthread_mutex_init(&w->mutex, NULL);
    return w;
}

/* Joins the world of that name, or makes one; NULL without memory. */
static struct world *world_join(struct handle *h, const char *name)
{
    pthread_mutex_lock(&worlds_mutex);
    struct world *w = *name != '\0' ? worlds : NULL;
    while (w && strcmp(w->name, name) != 0)
        w = w->next;
    if (!w) {
        w = world_new(name);
        if (w && w->name) {
            w->next = worlds;
            worlds = w;
        }
    }
    if (w) {
        pthread_mutex_lock(&w->mutex);
        h->next = w->handle;
        w->handle = h;
        pthread_mutex_unlock(&w->mutex);
    }
    pthread_mutex_unlock(&worlds_mutex);
    return w;
}

static void world_part(struct world *w, struct handle *h)
{
    pthread_mutex_lock(&worlds_mutex);
    pthread_mutex_lock(&w->mutex);
    struct handle **at = &w->handle;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    pthread_mutex_unlock(&w->mutex);
    if (!w->name)
        world_free(w); /* it was this handle's only */
    pthread_mutex_unlock(&worlds_mutex);
}

static void handle_free(struct handle *h)
{
    if (h->bell >= 0)
        close(h->bell);
    for (int i = 0; i < STORE_KEYS_MAX; i++)
        free(h->buffer[i]);
    free(h->watch);
    free(h->url);
    free(h);
}

/* In a child the world is a copy whose mutex another thread may have held: it stays as it is. */
static void memory_forked(struct store *store)
{
    struct handle *h = handle_of(store);
    close(h->bell);
    h->bell = -1;
    h->forked = true;
}

static void memory_close(struct store *store)
{
    struct handle *h = handle_of(store);
    if (!h->forked) {
        if (h->session != 0)
            memory_session_end(store, h->session);
        world_part(h->world, h);
    }
    handle_free(h);
}

static const struct store_ops memory_ops = {
    .scheme = "memory",
    .close = memory_close,
    .update = memory_update,
    .session_open = memory_session_open,
    .session_renew = memory_session_renew,
    .session_close = memory_session_close,
    .read = memory_read,
    .abandon = memory_abandon,
    .watch_sessions = memory_watch_sessions,
    .watch_all = memory_watch_all,
    .next_hint = memory_next_hint,
    .fd = memory_fd,
    .process = memory_process,
    .due = memory_due,
    .forked = memory_forked,
    .examine = memory_examine,
    .url = memory_url,
};

int memory_store_open(const struct url *url, const struct store_options *opt, struct store **ret,
                      tenure_error *err)
{
    (void)opt;
    if (url->query.len > 0)
        return fail(err, TENURE_INVALID, "unknown option \"%.*s\" of a memory: URL",
                    (int)(url->query.len > 80 ? 80 : url->query.len), url->query.at);
    struct handle *h = calloc(1, sizeof *h);
    if (!h)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    h->store.ops = &memory_ops;
    h->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (h->bell < 0) {
        int e = errno;
        handle_free(h);
        return fail_errno(err, e, "no event descriptor");
    }
    bool fine = asprintf(&h->url, "memory:%.*s", (int)url->body.len, url->body.at) >= 0;
    if (!fine)
        h->url = NULL; /* asprintf() leaves it undefined */
    for (int i = 0; i < STORE_KEYS_MAX; i++) {
        h->buffer[i] = malloc(STORE_RECORD_MAX);
        fine = fine && h->buffer[i];
    }
    if (fine)
        h->world = world_join(h, h->url + strlen("memory:"));
    if (!h->world) {
        handle_free(h);
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    }
    *ret = &h->store;
    return 0;
}
