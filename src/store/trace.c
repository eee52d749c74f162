#include "store/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum call { CALL_UPDATE, CALL_OPEN, CALL_RENEW, CALL_CLOSE, CALL_READ };

/* An operation in flight. */
struct flight {
    enum call call;
    struct store_op *op;
};

struct trace {
    struct store store;
    struct store *inner;
    FILE *out;
    struct flight *flight;
    size_t flights, cap;
};

static struct trace *trace_of(struct store *store)
{
    return (struct trace *)(void *)store; /* the first member */
}

static void print_question(FILE *out, enum call call, const struct store_op *op)
{
    const void *at = op; /* the head of each operation */
    switch (call) {
    case CALL_UPDATE: {
        const struct store_update *u = at;
        fputs("update", out);
        for (int i = 0; i < u->count; i++)
            fprintf(out, " %s", u->key[i]);
        break;
    }
    case CALL_OPEN:
        fprintf(out, "open %" PRId64 "ms", ((const struct store_session_open *)at)->ttl.ms);
        break;
    case CALL_RENEW:
        fprintf(out, "renew %" PRIu64, ((const struct store_session_renew *)at)->session);
        break;
    case CALL_CLOSE:
        fprintf(out, "close %" PRIu64, ((const struct store_session_close *)at)->session);
        break;
    case CALL_READ: {
        const struct store_read *r = at;
        fprintf(out, "read %s*", r->prefix);
        if (r->after)
            fprintf(out, " after %s", r->after);
        break;
    }
    }
}

static void print_answer(FILE *out, enum call call, const struct store_op *op)
{
    const void *at = op;
    if (op->code < 0)
        fprintf(out, "%s: %s\n", tenure_error_name(op->code), op->error.text);
    else if (call == CALL_UPDATE)
        fprintf(out, "%d\n", ((const struct store_update *)at)->verdict);
    else if (call == CALL_OPEN)
        fprintf(out, "%" PRIu64 "\n", ((const struct store_session_open *)at)->session);
    else if (call == CALL_RENEW && ((const struct store_session_renew *)at)->noticed)
        fputs("noticed\n", out);
    else
        fputs("done\n", out);
}

/* An operation whose end cannot be noted without memory is only missing from the log. */
static void note_flight(struct trace *t, enum call call, struct store_op *op)
{
    if (t->flights == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 16;
        struct flight *more = realloc(t->flight, cap * sizeof *more);
        if (!more)
            return;
        t->flight = more;
        t->cap = cap;
    }
    t->flight[t->flights++] = (struct flight){call, op};
}

static void log_call(struct trace *t, enum call call, struct store_op *op)
{
    print_question(t->out, call, op);
    if (op->done) {
        fputs(" -> ", t->out);
        print_answer(t->out, call, op);
    } else {
        fputs(" -> ...\n", t->out);
        note_flight(t, call, op);
    }
    fflush(t->out);
}

static void trace_update(struct store *store, struct store_update *op)
{
    store_update(trace_of(store)->inner, op);
    log_call(trace_of(store), CALL_UPDATE, &op->op);
}

static void trace_session_open(struct store *store, struct store_session_open *op)
{
    store_session_open(trace_of(store)->inner, op);
    log_call(trace_of(store), CALL_OPEN, &op->op);
}

static void trace_session_renew(struct store *store, struct store_session_renew *op)
{
    store_session_renew(trace_of(store)->inner, op);
    log_call(trace_of(store), CALL_RENEW, &op->op);
}

static void trace_session_close(struct store *store, struct store_session_close *op)
{
    store_session_close(trace_of(store)->inner, op);
    log_call(trace_of(store), CALL_CLOSE, &op->op);
}

static void trace_read(struct store *store, struct store_read *op)
{
    store_read(trace_of(store)->inner, op);
    log_call(trace_of(store), CALL_READ, &op->op);
}

static void trace_abandon(struct store *store, struct store_op *op)
{
    struct trace *t = trace_of(store);
    t->inner->ops->abandon(t->inner, op);
    for (size_t i = 0; i < t->flights; i++) {
        if (t->flight[i].op != op)
            continue;
        print_question(t->out, t->flight[i].call, op);
        fputs(" => given up\n", t->out);
        t->flight[i] = t->flight[--t->flights];
        return;
    }
}

static void trace_process(struct store *store)
{
    struct trace *t = trace_of(store);
    t->inner->ops->process(t->inner);
    size_t kept = 0;
    for (size_t i = 0; i < t->flights; i++) {
        struct flight f = t->flight[i];
        if (!f.op->done) {
            t->flight[kept++] = f;
            continue;
        }
        print_question(t->out, f.call, f.op);
        fputs(" => ", t->out);
        print_answer(t->out, f.call, f.op);
    }
    t->flights = kept;
}

static void trace_watch_sessions(struct store *store, const char *key, const uint64_t *session,
                                 uint32_t count)
{
    struct trace *t = trace_of(store);
    fprintf(t->out, "watch %s:", key);
    for (uint32_t i = 0; i < count; i++)
        fprintf(t->out, " %" PRIu64, session[i]);
    fputc('\n', t->out);
    t->inner->ops->watch_sessions(t->inner, key, session, count);
}

static int trace_watch_all(struct store *store, bool on, tenure_error *err)
{
    struct trace *t = trace_of(store);
    int code = t->inner->ops->watch_all(t->inner, on, err);
    fprintf(t->out, "watch-all %s -> %s\n", on ? "on" : "off", tenure_error_name(code));
    return code;
}

static bool trace_next_hint(struct store *store, struct store_hint *ret)
{
    struct trace *t = trace_of(store);
    if (!t->inner->ops->next_hint(t->inner, ret))
        return false;
    if (ret->all)
        fputs("hint *\n", t->out);
    else if (ret->ended != 0)
        fprintf(t->out, "hint session %016" PRIx64 " ended\n", ret->ended);
    else
        fprintf(t->out, "hint %016" PRIx64 "\n", ret->key_hash);
    return true;
}

static int trace_fd(struct store *store)
{
    struct store *inner = trace_of(store)->inner;
    return inner->ops->fd(inner);
}

static struct instant trace_due(struct store *store)
{
    struct store *inner = trace_of(store)->inner;
    return inner->ops->due(inner);
}

static void trace_forked(struct store *store)
{
    struct store *inner = trace_of(store)->inner;
    inner->ops->forked(inner);
}

static uint64_t trace_vigil(struct store *store)
{
    return store_vigil(trace_of(store)->inner);
}

static int trace_lifeline(struct store *store)
{
    struct store *inner = trace_of(store)->inner;
    return store_lifeline(inner);
}

static void trace_examine(struct store *store, void (*fn)(void *arg, bool fine, const char *text),
                          void *arg)
{
    struct store *inner = trace_of(store)->inner;
    inner->ops->examine(inner, fn, arg);
}

static const char *trace_url(struct store *store)
{
    struct store *inner = trace_of(store)->inner;
    return inner->ops->url(inner);
}

static void trace_close(struct store *store)
{
    struct trace *t = trace_of(store);
    t->inner->ops->close(t->inner);
    free(t->flight);
    free(t);
}

static const struct store_ops trace_ops = {
    .scheme = "trace",
    .close = trace_close,
    .update = trace_update,
    .session_open = trace_session_open,
    .session_renew = trace_session_renew,
    .session_close = trace_session_close,
    .read = trace_read,
    .abandon = trace_abandon,
    .watch_sessions = trace_watch_sessions,
    .watch_all = trace_watch_all,
    .next_hint = trace_next_hint,
    .vigil = trace_vigil,
    .fd = trace_fd,
    .process = trace_process,
    .due = trace_due,
    .forked = trace_forked,
    .lifeline = trace_lifeline,
    .examine = trace_examine,
    .url = trace_url,
};

struct store *trace_wrap(struct store *inner, FILE *out)
{
    struct trace *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->store.ops = &trace_ops;
    t->inner = inner;
    t->out = out;
    return &t->store;
}
