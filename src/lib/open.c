/* lib/open.c - a handle's birth and death, where the default store is, and fork. */
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/given.h"
#include "lib/handle.h"
#include "os/clock.h"
#include "wire/duration.h"

int error_set(tenure_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return code;
}

int error_copy(tenure_error *err, const tenure_error *from)
{
    if (err)
        *err = *from;
    return from->code;
}

/* ---- fork ----------------------------------------------------------------------------------- */

/* The one global of the library: all open handles, so that a forked child can let go of what
 * would keep its parent's sessions alive.  Guarded by `handles.mutex`. */
static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    tenure *first;
    _Atomic uint64_t generation; /* counts forks on the way from the first process */
} handles = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_ONCE_INIT, NULL, 1};

bool handle_is_ours(const tenure *t)
{
    return t->generation == atomic_load_explicit(&handles.generation, memory_order_relaxed);
}

/* No handle is in the middle of something when the process is copied. */
static void before_fork(void)
{
    pthread_mutex_lock(&handles.mutex);
    for (tenure *t = handles.first; t; t = t->next)
        pthread_mutex_lock(&t->mutex);
}

static void unlock_all(void)
{
    for (tenure *t = handles.first; t; t = t->next)
        pthread_mutex_unlock(&t->mutex);
}

static void after_fork_in_parent(void)
{
    unlock_all();
    pthread_mutex_unlock(&handles.mutex);
}

static void after_fork_in_child(void)
{
    atomic_fetch_add(&handles.generation, 1);
    for (tenure *t = handles.first; t; t = t->next) {
        if (t->store)
            t->store->ops->forked(t->store);
        waiter_close(&t->waiter);
    }
    unlock_all();
    handles.first = NULL;
    pthread_mutex_unlock(&handles.mutex);
}

static void watch_forks(void)
{
    /* Fails only without memory; then a forked child keeps the parent's sessions alive. */
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static void list_add(tenure *t)
{
    pthread_once(&handles.once, watch_forks);
    pthread_mutex_lock(&handles.mutex);
    t->generation = atomic_load(&handles.generation);
    t->next = handles.first;
    handles.first = t;
    pthread_mutex_unlock(&handles.mutex);
}

static void list_remove(tenure *t)
{
    pthread_mutex_lock(&handles.mutex);
    for (tenure **p = &handles.first; *p; p = &(*p)->next) {
        if (*p == t) {
            *p = t->next;
            break;
        }
    }
    pthread_mutex_unlock(&handles.mutex);
}

/* ---- where ---------------------------------------------------------------------------------- */

#define URL_BYTES 4200

static int make_directories(char *path, tenure_error *err)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0700) != 0 && errno != EEXIST) {
            int code = errno == EROFS                        ? TENURE_READ_ONLY
                       : errno == ENOSPC || errno == EDQUOT ? TENURE_NO_SPACE
                                                             : TENURE_DENIED;
            return error_set(err, code,
                             "cannot make the directory %s of the default store: %s; TENURE_STORE "
                             "or --store names another",
                             path, strerror(errno));
        }
        *slash = '/';
    }
    return 0;
}

/* The store of the user: XDG_STATE_HOME, else ~/.local/state; /var/lib for root. */
static int default_url(bool existing, char url[URL_BYTES], tenure_error *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char path[URL_BYTES - 8];
    int n;
    if (geteuid() == 0)
        n = snprintf(path, sizeof path, "/var/lib/tenure/tenure.db");
    else if (state && state[0] == '/')
        n = snprintf(path, sizeof path, "%s/tenure/tenure.db", state);
    else if (home && home[0] == '/')
        n = snprintf(path, sizeof path, "%s/.local/state/tenure/tenure.db", home);
    else
        return error_set(err, TENURE_INVALID,
                         "no store is named, and neither XDG_STATE_HOME nor HOME is an absolute "
                         "path: give one, as in sqlite:/path/to/file");
    if (n < 0 || (size_t)n >= sizeof path)
        return error_set(err, TENURE_INVALID, "the path of the state directory is too long");
    int code = existing ? 0 : make_directories(path, err);
    if (code < 0)
        return code;
    snprintf(url, URL_BYTES, "sqlite:%s", path);
    return 0;
}

static int resolve(const char *where, bool existing, char url[URL_BYTES], tenure_error *err)
{
    const char *source = where ? where : getenv("TENURE_STORE");
    if (!source || !*source)
        return where ? error_set(err, TENURE_INVALID, "the store's URL is empty")
                     : default_url(existing, url, err);
    if (strlen(source) >= URL_BYTES)
        return error_set(err, TENURE_INVALID, "the store's URL has more than %d bytes",
                         URL_BYTES - 1);
    memcpy(url, source, strlen(source) + 1);
    return 0;
}

/* ---- options -------------------------------------------------------------------------------- */

static int take_as(tenure *t, const char *as, tenure_error *err)
{
    char host[65] = "localhost";
    if (!as) {
        gethostname(host, sizeof host - 1);
        snprintf(t->as, sizeof t->as, "%s:%ld", host, (long)getpid());
        return 0;
    }
    struct text text = text_of(as);
    if (text.len == 0 || text.len > CLAIM_AS_BYTES_MAX || !text_is_clean(text))
        return error_set(err, TENURE_INVALID,
                         "the holder's name has %zu bytes: it is 1 to %d bytes of UTF-8 without "
                         "control characters", text.len, CLAIM_AS_BYTES_MAX);
    memcpy(t->as, as, text.len + 1);
    return 0;
}

static int take_ttl(tenure *t, int64_t ttl_ms, tenure_error *err)
{
    struct span bound;
    char ttl[DURATION_BYTES], limit[DURATION_BYTES];
    switch (timing_derive(SPAN(ttl_ms), SPAN(-1), &t->timing, &bound)) {
    case TIMING_TTL_TOO_SHORT:
        return error_set(err, TENURE_INVALID, "a TTL of %s is too short: ttl >= %s",
                         duration_format(SPAN(ttl_ms), ttl), duration_format(bound, limit));
    case TIMING_TTL_TOO_LONG:
        return error_set(err, TENURE_INVALID, "a TTL of %s is too long: ttl <= %s",
                         duration_format(SPAN(ttl_ms), ttl), duration_format(bound, limit));
    default:
        return 0; /* the default grace fits every ttl */
    }
}

static int take_options(tenure *t, const tenure_options *opt, tenure_error *err)
{
    unsigned unknown = opt->flags & ~(unsigned)(TENURE_PUMP | TENURE_EXISTING | TENURE_LAZY);
    if (unknown)
        return error_set(err, TENURE_INVALID, "unknown flag in tenure_options.flags: 0x%x",
                         unknown);
    if (opt->open_ms < 0 || opt->open_ms > TIMING_TTL_CEILING_MS)
        return error_set(err, TENURE_INVALID, "open_ms %lld: it is 1 to %lld ms, or 0",
                         (long long)opt->open_ms, (long long)TIMING_TTL_CEILING_MS);
    if (opt->max_silence_ms < 0)
        return error_set(err, TENURE_INVALID, "max_silence_ms %lld: it is 0, which is off, or more",
                         (long long)opt->max_silence_ms);
    int code = take_ttl(t, opt->ttl_ms, err);
    if (code == 0)
        code = take_as(t, opt->as, err);
    t->max_silence = SPAN(opt->max_silence_ms);
    return code;
}

/* ---- birth ---------------------------------------------------------------------------------- */

static void make_locks(tenure *t)
{
    pthread_mutexattr_t recursive; /* a tenure_look_fn may fork */
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&t->mutex, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

static void *pump_run(void *arg)
{
    tenure *t = arg;
    pthread_mutex_lock(&t->mutex);
    while (!t->closing)
        handle_wait(t, INSTANT_NEVER);
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

static int start_pump(tenure *t, unsigned flags, tenure_error *err)
{
    if (!(flags & TENURE_PUMP))
        return 0;
    int code = pthread_create(&t->pump, NULL, pump_run, t);
    if (code != 0)
        return error_set(err, TENURE_NO_MEMORY, "cannot start the pump: %s", strerror(code));
    t->pump_runs = true;
    return 0;
}

/* Lets go of all that a forked child must not keep.  Mutex held. */
static void disconnect(tenure *t)
{
    while (t->claims)
        claim_free(t->claims);
    if (t->store)
        t->store->ops->close(t->store);
    t->store = NULL;
    waiter_close(&t->waiter);
}

static int connect_to(tenure *t, const char *url, const struct store_options *opt,
                      tenure_error *err)
{
    int code = store_open(url, opt, &t->store, err);
    if (code < 0)
        return code;
    code = waiter_open(&t->waiter, t->store->ops->fd(t->store));
    if (code == 0)
        return 0;
    disconnect(t);
    return error_set(err, TENURE_INTERNAL, "cannot make descriptors: %s", strerror(-code));
}

static void destroy(tenure *t)
{
    if (handle_is_ours(t))
        pthread_mutex_destroy(&t->mutex);
    free(t);
}

/* It is known to fork() before it has anything that a child could keep. */
static int open_known(tenure *t, const char *url, const struct store_options *opt,
                      tenure_error *err)
{
    list_add(t);
    pthread_mutex_lock(&t->mutex);
    int code = connect_to(t, url, opt, err);
    pthread_mutex_unlock(&t->mutex);
    return code;
}

/* Not before it has let go of all that. */
static void forget(tenure *t)
{
    list_remove(t);
    destroy(t);
}

EXPORT int tenure_open(const char *where, const tenure_options *given, tenure **ret,
                       tenure_error *err)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    int code = given ? given_take(&opt, sizeof opt, GIVEN_LEAST(tenure_options, max_silence_ms),
                                  given, "TENURE_OPTIONS_INIT", err)
                     : 0;
    if (code < 0)
        return code;
    bool existing = (opt.flags & TENURE_EXISTING) != 0;
    tenure *t = calloc(1, sizeof *t);
    char *url = malloc(URL_BYTES); /* on the stack it would lie above all of the engine's */
    if (!t || !url) {
        free(t);
        free(url);
        return error_set(err, TENURE_NO_MEMORY, "out of memory");
    }
    t->waiter = (struct waiter){-1, -1, -1, INSTANT_NEVER};
    t->due = INSTANT_NEVER;
    t->generation = atomic_load(&handles.generation);
    make_locks(t);
    atomic_store(&t->checkin_ms, clock_now().ms);
    code = take_options(t, &opt, err);
    if (code == 0)
        code = resolve(where, existing, url, err);
    if (code < 0) {
        destroy(t);
        free(url);
        return code;
    }
    const struct store_options how = {.patience = t->timing.attempt,
                                      .opening = SPAN(opt.open_ms),
                                      .create = !existing,
                                      .lazy = (opt.flags & TENURE_LAZY) != 0};
    code = open_known(t, url, &how, err);
    free(url);
    if (code == 0)
        code = start_pump(t, opt.flags, err);
    if (code < 0) {
        pthread_mutex_lock(&t->mutex);
        disconnect(t);
        pthread_mutex_unlock(&t->mutex);
        forget(t);
        return code;
    }
    *ret = t;
    return 0;
}

/* ---- death ---------------------------------------------------------------------------------- */

static void stop_pump(tenure *t)
{
    if (!t->pump_runs)
        return;
    t->closing = true;
    waiter_arm(&t->waiter, INSTANT(0)); /* wakes it up */
    pthread_mutex_unlock(&t->mutex);
    pthread_join(t->pump, NULL);
    pthread_mutex_lock(&t->mutex);
    t->pump_runs = false;
}

static tenure_claim *first_to_release(tenure *t)
{
    tenure_claim *c = t->claims;
    while (c && c->phase == PHASE_LEAVING)
        c = c->next;
    return c;
}

static bool is_leaving(const tenure *t)
{
    const tenure_claim *c = t->claims;
    while (c && c->question != QUESTION_LEAVE)
        c = c->next;
    return c != NULL;
}

/* As far as the time goes; what is left ends with the session. */
static void release_all(tenure *t, struct instant limit)
{
    tenure_claim *c;
    for (c = t->parting; c; c = c->parting_next)
        c->look_at = INSTANT(0);
    while (leave_due(t).ms == 0 && !instant_reached(clock_now(), limit))
        handle_turn(t);
    while ((c = first_to_release(t)) != NULL && !instant_reached(clock_now(), limit))
        claim_release(c, limit, NULL);
    while (is_leaving(t) && !instant_reached(clock_now(), limit))
        handle_wait(t, limit);
}

EXPORT tenure *tenure_close(tenure *t)
{
    if (!t)
        return NULL;
    if (handle_is_ours(t)) {
        pthread_mutex_lock(&t->mutex);
        struct instant limit = instant_add(clock_now(), t->timing.attempt);
        stop_pump(t);
        sweep_stop(t);
        release_all(t, limit);
        session_end(t, limit);
        disconnect(t);
        pthread_mutex_unlock(&t->mutex);
        forget(t);
    } else {
        disconnect(t);
        destroy(t);
    }
    return NULL;
}

EXPORT int tenure_raise(const char *where, tenure_token above, tenure_error *err)
{
    char url[URL_BYTES];
    int code = resolve(where, true, url, err);
    return code < 0 ? code : store_raise(url, above, err);
}

EXPORT int tenure_init(const char *where, tenure_error *err)
{
    char url[URL_BYTES];
    int code = resolve(where, false, url, err);
    return code < 0 ? code : store_init(url, err);
}
