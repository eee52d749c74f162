#include "script.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/waiter.h"
#include "store/engines.h"
#include "store/memory.h"

#define HANDLES_MAX 8
#define TURNS_MAX 100000 /* at one instant: who turns more often turns on the spot */

struct scripted {
    struct store store; /* first: what the library has */
    struct store *inner;
    tenure *t;
    struct instant armed;
    bool nudged;
    bool answered; /* an answer waits to be taken */
    bool gathers; /* updates wait until the caller has nothing more to ask */
    bool held[CALL_KINDS];
    int64_t slow_ms[CALL_KINDS];
    int64_t jam_ms[CALL_KINDS];
    unsigned lost[CALL_KINDS]; /* so many of the next ones lose their answers, */
    unsigned refused[CALL_KINDS]; /* and then so many do not happen */
    unsigned asked[CALL_KINDS];
    struct store_op *waiting[CALL_KINDS]; /* linked by op->next */
    uint64_t session;
};

static struct {
    struct instant now;
    char url[32];
    int serial;
    struct scripted at[HANDLES_MAX];
    int count;
    unsigned turns; /* since the clock moved */
    void (*meanwhile)(void);
    uint64_t vigil;
} script = {.now = {1000000}};

static void set_clock(struct instant when)
{
    if (when.ms > script.now.ms) {
        script.now = when;
        script.turns = 0;
    } else if (++script.turns > TURNS_MAX) {
        puts("Bail out! the library turns on the spot");
        abort();
    }
}

/* ---- the clock and the waiter that the library finds ---------------------------------------- */

struct instant clock_now(void)
{
    return script.now;
}

int64_t clock_wall_ms(void)
{
    return 1700000000000 + script.now.ms;
}

int64_t clock_wall_bound(int64_t *ret_error_ms)
{
    *ret_error_ms = 10;
    return clock_wall_ms();
}

/* Its descriptor is the number of its handle: the one whose store was opened last. */
int waiter_open(struct waiter *w, int nested)
{
    (void)nested;
    *w = (struct waiter){script.count - 1, -1, -1, INSTANT_NEVER};
    return 0;
}

void waiter_close(struct waiter *w)
{
    (void)w;
}

void waiter_arm(struct waiter *w, struct instant when)
{
    w->armed = when;
    script.at[w->fd].armed = when;
}

static bool has_work(const struct scripted *s)
{
    struct pollfd bell = {.fd = s->inner->ops->fd(s->inner), .events = POLLIN};
    return s->answered || instant_reached(script.now, s->armed) || poll(&bell, 1, 0) > 0;
}

bool waiter_wait(const struct waiter *w, struct instant until)
{
    struct scripted *s = &script.at[w->fd];
    void (*meanwhile)(void) = script.meanwhile;
    script.meanwhile = NULL;
    if (meanwhile)
        meanwhile();
    struct instant when = instant_min(s->armed, until);
    bool nudged = s->nudged;
    s->nudged = false;
    if (nudged)
        return has_work(s);
    if (when.ms == INSTANT_NEVER.ms && !has_work(s)) {
        puts("Bail out! a call waits for ever");
        abort();
    }
    set_clock(has_work(s) ? script.now : when);
    return has_work(s);
}

void waiter_nudge(const struct waiter *w)
{
    script.at[w->fd].nudged = true;
}

void waiter_drain(struct waiter *w)
{
    (void)w;
}

/* ---- the store ------------------------------------------------------------------------------- */

static struct scripted *scripted_of(struct store *s)
{
    return (struct scripted *)(void *)s; /* the first member */
}

static void pass_on(struct scripted *s, enum call kind, void *op)
{
    switch (kind) {
    case CALL_UPDATE:
        store_update(s->inner, op);
        break;
    case CALL_READ:
        store_read(s->inner, op);
        break;
    case CALL_OPEN:
        store_session_open(s->inner, op);
        s->session = ((struct store_session_open *)op)->session;
        break;
    case CALL_RENEW:
        store_session_renew(s->inner, op);
        break;
    case CALL_CLOSE:
        store_session_close(s->inner, op);
        break;
    case CALL_KINDS:
        abort();
    }
}

static void take(struct store *store, enum call kind, struct store_op *op)
{
    struct scripted *s = scripted_of(store);
    s->asked[kind]++;
    if (s->held[kind] || (s->gathers && kind == CALL_UPDATE)) {
        op->next = s->waiting[kind];
        s->waiting[kind] = op;
        return;
    }
    if (s->jam_ms[kind] > 0) {
        set_clock(instant_add(script.now, SPAN(s->jam_ms[kind])));
        store_op_fail(op, TENURE_BUSY, "jammed by the script");
        return;
    }
    if (s->lost[kind] == 0 && s->refused[kind] > 0) {
        s->refused[kind]--;
        store_op_fail(op, TENURE_UNREACHABLE, "refused by the script");
        return;
    }
    pass_on(s, kind, op);
    if (s->lost[kind] > 0) {
        s->lost[kind]--;
        store_op_finish(op, TENURE_UNSURE);
    }
    int64_t ms = s->slow_ms[kind];
    s->slow_ms[kind] = 0;
    if (ms > 0)
        set_clock(instant_add(script.now, SPAN(ms)));
}

static void take_update(struct store *s, struct store_update *op)
{
    take(s, CALL_UPDATE, &op->op);
}

static void take_read(struct store *s, struct store_read *op)
{
    take(s, CALL_READ, &op->op);
}

static void take_open(struct store *s, struct store_session_open *op)
{
    take(s, CALL_OPEN, &op->op);
}

static void take_renew(struct store *s, struct store_session_renew *op)
{
    take(s, CALL_RENEW, &op->op);
}

static void take_close(struct store *s, struct store_session_close *op)
{
    take(s, CALL_CLOSE, &op->op);
}

static void abandon(struct store *store, struct store_op *op)
{
    struct scripted *s = scripted_of(store);
    for (int kind = 0; kind < CALL_KINDS; kind++) {
        for (struct store_op **at = &s->waiting[kind]; *at; at = &(*at)->next) {
            if (*at == op) {
                *at = op->next;
                break;
            }
        }
    }
    if (!op->done)
        store_op_finish(op, TENURE_UNSURE);
}

static void close_store(struct store *store)
{
    struct scripted *s = scripted_of(store);
    s->inner->ops->close(s->inner);
    s->inner = NULL;
    s->t = NULL;
}

static void watch_sessions(struct store *store, const char *key, const uint64_t *session,
                           uint32_t count)
{
    struct store *inner = scripted_of(store)->inner;
    inner->ops->watch_sessions(inner, key, session, count);
}

static int watch_all(struct store *store, bool on, tenure_error *err)
{
    struct store *inner = scripted_of(store)->inner;
    return inner->ops->watch_all(inner, on, err);
}

static bool next_hint(struct store *store, struct store_hint *ret)
{
    struct store *inner = scripted_of(store)->inner;
    return inner->ops->next_hint(inner, ret);
}

static int bell(struct store *store)
{
    struct store *inner = scripted_of(store)->inner;
    return inner->ops->fd(inner);
}

static bool has_gathered(const struct scripted *s)
{
    return s->gathers && !s->held[CALL_UPDATE] && s->waiting[CALL_UPDATE];
}

/* In the order in which they were asked. */
static void serve_gathered(struct scripted *s)
{
    struct store_op *first = NULL;
    for (struct store_op *op = s->waiting[CALL_UPDATE], *next; op; op = next) {
        next = op->next;
        op->next = first;
        first = op;
    }
    s->waiting[CALL_UPDATE] = first;
    script_serve((int)(s - script.at), CALL_UPDATE);
}

static void process(struct store *store)
{
    struct scripted *s = scripted_of(store);
    if (has_gathered(s))
        serve_gathered(s);
    s->answered = false;
}

static struct instant due(struct store *store)
{
    return has_gathered(scripted_of(store)) ? INSTANT(0) : INSTANT_NEVER;
}

static void forked(struct store *store)
{
    (void)store;
}

static void examine(struct store *store, void (*fn)(void *arg, bool fine, const char *text),
                    void *arg)
{
    (void)store;
    fn(arg, true, "scripted");
}

static const char *url(struct store *store)
{
    (void)store;
    return script.url;
}

static uint64_t vigil(struct store *store)
{
    (void)store;
    return script.vigil;
}

static const struct store_ops scripted_ops = {
    .scheme = "script",
    .close = close_store,
    .update = take_update,
    .session_open = take_open,
    .session_renew = take_renew,
    .session_close = take_close,
    .read = take_read,
    .abandon = abandon,
    .watch_sessions = watch_sessions,
    .watch_all = watch_all,
    .next_hint = next_hint,
    .vigil = vigil,
    .fd = bell,
    .process = process,
    .due = due,
    .forked = forked,
    .examine = examine,
    .url = url,
};

int store_open(const char *text, const struct store_options *opt, struct store **ret,
               tenure_error *err)
{
    struct url parts;
    struct scripted *s = &script.at[script.count];
    if (script.count == HANDLES_MAX || url_parse(text_of(text), &parts) != URL_FINE)
        abort();
    *s = (struct scripted){.store.ops = &scripted_ops, .armed = INSTANT_NEVER};
    int code = memory_store_open(&parts, opt, &s->inner, err);
    if (code == 0) {
        script.count++;
        *ret = &s->store;
    }
    return code;
}

int store_raise(const char *text, uint64_t above, tenure_error *err)
{
    (void)text, (void)above, (void)err;
    return TENURE_INVALID;
}

int store_init(const char *text, tenure_error *err)
{
    (void)text, (void)err;
    return 0;
}

/* ---- the script ------------------------------------------------------------------------------ */

void script_begin(void)
{
    script.count = 0;
    script.vigil = 0;
    snprintf(script.url, sizeof script.url, "memory:%d", ++script.serial);
}

tenure *script_open(int64_t ttl_ms, int64_t max_silence_ms)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure_error err;
    tenure *t = NULL;
    char as[16];
    snprintf(as, sizeof as, "h%d", script.count);
    opt.ttl_ms = ttl_ms;
    opt.max_silence_ms = max_silence_ms;
    opt.as = as;
    if (tenure_open(script.url, &opt, &t, &err) < 0)
        abort();
    script.at[script.count - 1].t = t;
    return t;
}

void script_hold(int handle, enum call kind, bool on)
{
    script.at[handle].held[kind] = on;
}

void script_gather(int handle)
{
    script.at[handle].gathers = true;
}

void script_lose(int handle, enum call kind, unsigned count)
{
    script.at[handle].lost[kind] = count;
}

void script_refuse(int handle, enum call kind, unsigned count)
{
    script.at[handle].refused[kind] = count;
}

void script_serve(int handle, enum call kind)
{
    struct scripted *s = &script.at[handle];
    while (s->waiting[kind]) {
        struct store_op *op = s->waiting[kind];
        s->waiting[kind] = op->next;
        pass_on(s, kind, op);
        s->answered = true;
    }
}

void script_swallow(int handle, enum call kind)
{
    struct scripted *s = &script.at[handle];
    for (struct store_op *op = s->waiting[kind], *next; op; op = next) {
        next = op->next;
        pass_on(s, kind, op);
        op->done = false; /* and yet it happened */
    }
    s->waiting[kind] = NULL;
}

void script_slow(int handle, enum call kind, int64_t ms)
{
    script.at[handle].slow_ms[kind] = ms;
}

void script_meanwhile(void (*fn)(void))
{
    script.meanwhile = fn;
}

void script_jam(int handle, enum call kind, int64_t ms)
{
    script.at[handle].jam_ms[kind] = ms;
}

unsigned script_waiting(int handle, enum call kind)
{
    unsigned count = 0;
    for (struct store_op *op = script.at[handle].waiting[kind]; op; op = op->next)
        count++;
    return count;
}

unsigned script_asked(int handle, enum call kind)
{
    return script.at[handle].asked[kind];
}

struct replacement {
    const void *bytes;
    size_t len;
    bool existed;
};

static int replace(void *arg, struct store_view *view)
{
    struct replacement *r = arg;
    r->existed = view->in[0].len > 0;
    view->out[0].what = r->bytes ? STORE_PUT : STORE_DELETE;
    view->out[0].len = r->len;
    if (r->bytes)
        memcpy(view->out[0].bytes, r->bytes, r->len);
    return 0;
}

/* Any open handle's engine does: they share the records. */
static struct store *any_inner(void)
{
    for (int i = 0; i < script.count; i++) {
        if (script.at[i].inner)
            return script.at[i].inner;
    }
    abort();
}

void script_put(const char *name, const void *bytes, size_t len)
{
    struct replacement r = {.bytes = bytes, .len = len};
    struct store_update op = {.count = 1, .key = {name}, .decide = replace, .arg = &r};
    store_update(any_inner(), &op);
}

static int look(void *arg, struct store_view *view)
{
    *(bool *)arg = view->in[0].len > 0;
    return 0;
}

bool script_has(const char *name)
{
    bool has = false;
    struct store_update op = {.count = 1, .key = {name}, .decide = look, .arg = &has};
    store_update(any_inner(), &op);
    return has;
}

void script_vigil(uint64_t number)
{
    script.vigil = number;
}

bool script_is_readable(int handle)
{
    return has_work(&script.at[handle]);
}

void script_end_session(int handle)
{
    memory_session_end(script.at[handle].inner, script.at[handle].session);
}

/* Turns whoever has work, until nobody has; says when the next one wants to. */
static struct instant settle(int first, int last)
{
    struct instant next = INSTANT_NEVER;
    for (int i = first; i <= last; i++) {
        struct scripted *s = &script.at[i];
        while (s->t && has_work(s)) {
            set_clock(script.now); /* counts: it must not go on for ever */
            if (tenure_process(s->t) < 0)
                abort();
            i = first; /* it may have given work to those before it */
            s = &script.at[i];
        }
    }
    for (int i = first; i <= last; i++) {
        if (script.at[i].t)
            next = instant_min(next, script.at[i].armed);
    }
    return next;
}

static void turn_until(int first, int last, struct instant end)
{
    struct instant next;
    while (next = settle(first, last), !instant_reached(script.now, end))
        set_clock(instant_min(next, end));
}

void script_run(int64_t ms)
{
    turn_until(0, script.count - 1, instant_add(script.now, SPAN(ms)));
}

void script_run_alone(int handle, int64_t ms)
{
    turn_until(handle, handle, instant_add(script.now, SPAN(ms)));
}

void script_pass(int64_t ms)
{
    set_clock(instant_add(script.now, SPAN(ms)));
}

void script_turn(void)
{
    for (int i = 0; i < script.count; i++) {
        if (script.at[i].t && tenure_process(script.at[i].t) < 0)
            abort();
    }
}
