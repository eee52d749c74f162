#include "store/faulty.h"

#include <stdlib.h>
#include <string.h>

#include "os/clock.h"

/* An operation whose reply we hold back, or that waits to be asked. */
struct held {
    enum faulty_call call;
    enum fault fault;
    struct store_op *op;
    uint32_t turns;
    bool asked;
    bool answered; /* the inner store is done with it */
};

struct faulty {
    struct store store;
    struct store *inner;
    struct faulty_rule *rules;
    size_t count;
    uint64_t random;
    uint32_t calls[FAULTY_CALLS];
    struct held *held;
    size_t helds, cap;
};

static struct faulty *faulty_of(struct store *store)
{
    return (struct faulty *)(void *)store; /* the first member */
}

/* splitmix64 */
static uint64_t draw(struct faulty *f)
{
    uint64_t z = f->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The rule for this call, or NULL.  Counts the call. */
static const struct faulty_rule *pick(struct faulty *f, enum faulty_call call)
{
    uint32_t n = ++f->calls[call];
    for (size_t i = 0; i < f->count; i++) {
        const struct faulty_rule *r = &f->rules[i];
        uint32_t from = r->from ? r->from : 1;
        bool kind = r->call == call || (r->call == FAULTY_ANY && call != FAULTY_HINT);
        if (!kind || n < from || (r->times != 0 && n - from >= r->times))
            continue;
        if (r->percent == 0 || draw(f) % 100 < r->percent)
            return r;
    }
    return NULL;
}

static void ask(struct faulty *f, enum faulty_call call, struct store_op *op)
{
    void *at = op; /* the head of each operation */
    switch (call) {
    case FAULTY_UPDATE:
        store_update(f->inner, at);
        break;
    case FAULTY_OPEN:
        store_session_open(f->inner, at);
        break;
    case FAULTY_RENEW:
        store_session_renew(f->inner, at);
        break;
    case FAULTY_CLOSE:
        store_session_close(f->inner, at);
        break;
    case FAULTY_READ:
        store_read(f->inner, at);
        break;
    case FAULTY_ANY:
    case FAULTY_HINT:
    case FAULTY_CALLS:
        abort(); /* no operation */
    }
}

/* ---- operations that are held --------------------------------------------------------------- */

static bool hold(struct faulty *f, struct held h)
{
    if (f->helds == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 16;
        struct held *more = realloc(f->held, cap * sizeof *more);
        if (!more)
            return false;
        f->held = more;
        f->cap = cap;
    }
    f->held[f->helds++] = h;
    return true;
}

/* Looks after one; returns true when its owner may see that it is done. */
static bool look_after(struct faulty *f, struct held *h)
{
    if (!h->asked) {
        if (h->turns > 0 && --h->turns > 0)
            return false;
        h->asked = true;
        ask(f, h->call, h->op);
        return h->op->done; /* else the inner store finishes it */
    }
    if (!h->answered) {
        if (!h->op->done)
            return false;
        h->answered = true;
        h->op->done = false;
    }
    if (h->turns > 0 && --h->turns > 0)
        return false;
    h->op->done = true;
    if (h->fault == FAULT_LOSE)
        store_op_fail(h->op, TENURE_UNSURE, "the reply was lost");
    return true;
}

static void faulty_process(struct store *store)
{
    struct faulty *f = faulty_of(store);
    f->inner->ops->process(f->inner);
    size_t kept = 0;
    for (size_t i = 0; i < f->helds; i++) {
        struct held h = f->held[i];
        if (!look_after(f, &h) && !(h.asked && h.fault == FAULT_LATE))
            f->held[kept++] = h;
    }
    f->helds = kept;
}

static void faulty_abandon(struct store *store, struct store_op *op)
{
    struct faulty *f = faulty_of(store);
    for (size_t i = 0; i < f->helds; i++) {
        struct held h = f->held[i];
        if (h.op != op)
            continue;
        f->held[i] = f->held[--f->helds];
        if (h.asked && !h.answered && !op->done)
            break;
        store_op_finish(op, TENURE_UNSURE);
        return;
    }
    f->inner->ops->abandon(f->inner, op);
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Asks, and holds the answer back. */
static void ask_held(struct faulty *f, enum faulty_call call, struct store_op *op,
                     const struct faulty_rule *r)
{
    struct held h = {.call = call, .fault = r->fault, .op = op, .turns = r->turns};
    if (r->fault == FAULT_LATE && hold(f, h))
        return;
    ask(f, call, op);
    if (op->done && r->fault == FAULT_LOSE && r->turns == 0) {
        store_op_fail(op, TENURE_UNSURE, "the reply was lost");
        return;
    }
    h.asked = true;
    h.answered = op->done;
    if (hold(f, h))
        op->done = false;
}

/* The session ends for real, so that nothing contradicts the answer. */
static void end_session(struct faulty *f, struct store_session_renew *op)
{
    struct store_session_close end = {.session = op->session};
    store_session_close(f->inner, &end);
    if (!end.op.done)
        f->inner->ops->abandon(f->inner, &end.op);
    if (end.op.code < 0)
        store_op_fail(&op->op, end.op.code, "%s", end.op.error.text);
    else
        store_op_fail(&op->op, TENURE_LOST, "session %llu is dead: it was ended by a fault",
                      (unsigned long long)op->session);
}

static void twice(struct faulty *f, enum faulty_call call, struct store_op *op)
{
    ask(f, call, op);
    if (op->done) /* else the second would overtake the first */
        ask(f, call, op);
}

static void call_with_faults(struct store *store, enum faulty_call call, struct store_op *op)
{
    struct faulty *f = faulty_of(store);
    void *at = op;
    const struct faulty_rule *r = pick(f, call);
    if (!r) {
        ask(f, call, op);
        return;
    }
    switch (r->fault) {
    case FAULT_REFUSE:
        store_op_fail(op, TENURE_UNREACHABLE, "the store was made unreachable");
        break;
    case FAULT_DEAD:
        if (call == FAULTY_RENEW)
            end_session(f, at);
        else
            ask(f, call, op);
        break;
    case FAULT_TWICE:
        twice(f, call, op);
        break;
    case FAULT_LOSE:
    case FAULT_SLOW:
    case FAULT_LATE:
        ask_held(f, call, op, r);
        break;
    }
}

static void faulty_update(struct store *store, struct store_update *op)
{
    call_with_faults(store, FAULTY_UPDATE, &op->op);
}

static void faulty_session_open(struct store *store, struct store_session_open *op)
{
    call_with_faults(store, FAULTY_OPEN, &op->op);
}

static void faulty_session_renew(struct store *store, struct store_session_renew *op)
{
    call_with_faults(store, FAULTY_RENEW, &op->op);
}

static void faulty_session_close(struct store *store, struct store_session_close *op)
{
    call_with_faults(store, FAULTY_CLOSE, &op->op);
}

static void faulty_read(struct store *store, struct store_read *op)
{
    call_with_faults(store, FAULTY_READ, &op->op);
}

static bool faulty_next_hint(struct store *store, struct store_hint *ret)
{
    struct faulty *f = faulty_of(store);
    struct store_hint hint;
    while (f->inner->ops->next_hint(f->inner, &hint)) {
        if (pick(f, FAULTY_HINT))
            continue; /* lost */
        *ret = hint;
        return true;
    }
    return false;
}

static struct instant faulty_due(struct store *store)
{
    struct faulty *f = faulty_of(store);
    return f->helds > 0 ? clock_now() : f->inner->ops->due(f->inner);
}

/* ---- what is passed on ---------------------------------------------------------------------- */

static void faulty_watch_sessions(struct store *store, const char *key, const uint64_t *session,
                                  uint32_t count)
{
    struct store *inner = faulty_of(store)->inner;
    inner->ops->watch_sessions(inner, key, session, count);
}

static int faulty_watch_all(struct store *store, bool on, tenure_error *err)
{
    struct store *inner = faulty_of(store)->inner;
    return inner->ops->watch_all(inner, on, err);
}

static int faulty_fd(struct store *store)
{
    struct store *inner = faulty_of(store)->inner;
    return inner->ops->fd(inner);
}

static void faulty_forked(struct store *store)
{
    struct store *inner = faulty_of(store)->inner;
    inner->ops->forked(inner);
}

static int faulty_lifeline(struct store *store)
{
    struct store *inner = faulty_of(store)->inner;
    return store_lifeline(inner);
}

static void faulty_examine(struct store *store, void (*fn)(void *arg, bool fine, const char *text),
                           void *arg)
{
    struct store *inner = faulty_of(store)->inner;
    inner->ops->examine(inner, fn, arg);
}

static const char *faulty_url(struct store *store)
{
    struct store *inner = faulty_of(store)->inner;
    return inner->ops->url(inner);
}

static void faulty_close(struct store *store)
{
    struct faulty *f = faulty_of(store);
    f->inner->ops->close(f->inner);
    free(f->rules);
    free(f->held);
    free(f);
}

static const struct store_ops faulty_ops = {
    .scheme = "faulty",
    .close = faulty_close,
    .update = faulty_update,
    .session_open = faulty_session_open,
    .session_renew = faulty_session_renew,
    .session_close = faulty_session_close,
    .read = faulty_read,
    .abandon = faulty_abandon,
    .watch_sessions = faulty_watch_sessions,
    .watch_all = faulty_watch_all,
    .next_hint = faulty_next_hint,
    .fd = faulty_fd,
    .process = faulty_process,
    .due = faulty_due,
    .forked = faulty_forked,
    .lifeline = faulty_lifeline,
    .examine = faulty_examine,
    .url = faulty_url,
};

struct store *faulty_wrap(struct store *inner, const struct faulty_rule *rules, size_t count,
                          uint64_t seed)
{
    struct faulty *f = calloc(1, sizeof *f);
    struct faulty_rule *copy = calloc(count ? count : 1, sizeof *copy);
    if (!f || !copy) {
        free(f);
        free(copy);
        return NULL;
    }
    if (count > 0)
        memcpy(copy, rules, count * sizeof *copy);
    f->store.ops = &faulty_ops;
    f->inner = inner;
    f->rules = copy;
    f->count = count;
    f->random = seed;
    return &f->store;
}
