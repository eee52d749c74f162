/* lib/operate.c - what operators, and holders about their own tenure, do to a name. */
#include <stdio.h>
#include <string.h>

#include "lib/handle.h"
#include "os/clock.h"

#define TRANSFER_LOOK_MS 50 /* between looks while a transfer is under way */

static int forked(tenure_error *err)
{
    return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
}

/* ---- by the holder --------------------------------------------------------------------------- */

static int hold_update(tenure_claim *c, struct decision *d, tenure_error *err)
{
    if (!handle_enter(c->handle))
        return forked(err);
    int code = 0;
    if (c->phase == PHASE_LOST)
        code = error_copy(err, &c->trouble);
    else if (c->phase != PHASE_HELD)
        code = error_set(err, TENURE_STATE, "%s is not held", c->name);
    d->id = c->id;
    if (code == 0)
        code = handle_decide(c->handle, c->name, d, err);
    if (code == VERDICT_GONE) {
        c->look_due = true;
        code = error_set(err, TENURE_LOST, "%s: the tenure is over, or was told to end", c->name);
    }
    handle_leave(c->handle);
    return code < 0 ? code : 0;
}

EXPORT int tenure_serving(tenure_claim *c, tenure_error *err)
{
    struct decision d = {.rule = DECIDE_SERVE};
    return hold_update(c, &d, err);
}

EXPORT int tenure_publish(tenure_claim *c, const char *value, tenure_error *err)
{
    struct decision d = {.rule = DECIDE_PUBLISH, .value = text_of(value)};
    int code = text_accept("value", value, CLAIM_VALUE_BYTES_MAX, err);
    return code < 0 ? code : hold_update(c, &d, err);
}

/* ---- by an operator -------------------------------------------------------------------------- */

static int accept(const char *name, const char *by, const char *reason, tenure_error *err)
{
    int code = name_accept(name, err);
    if (code == 0)
        code = text_accept("name of who does it", by, CLAIM_AS_BYTES_MAX, err);
    if (code == 0)
        code = text_accept("reason", reason, CLAIM_REASON_BYTES_MAX, err);
    return code;
}

/* Has *d decided about the name on behalf of `by`, NULL for the handle's own name. */
static int decide(tenure *t, const char *name, const char *by, const char *reason,
                  struct decision *d, tenure_error *err)
{
    int code = accept(name, by, reason, err);
    if (code < 0)
        return code;
    if (!handle_enter(t))
        return forked(err);
    d->by = text_of(by ? by : t->as);
    d->reason = text_of(reason);
    code = handle_decide(t, name, d, err);
    handle_leave(t);
    return code;
}

EXPORT int tenure_evict(tenure *t, const char *name, tenure_token token, const char *by,
                        const char *reason, tenure_error *err)
{
    struct decision d = {.rule = DECIDE_END, .token = token, .cause = CAUSE_EVICTED};
    int code = decide(t, name, by, reason, &d, err);
    if (code == VERDICT_GONE)
        return error_set(err, TENURE_NOT_OWNED, "no tenure of %s stands under token %llu", name,
                         (unsigned long long)token);
    return code < 0 ? code : 0;
}

EXPORT int tenure_resign(tenure *t, const char *name, const char *by, tenure_token *ret_token,
                         tenure_error *err)
{
    struct decision d = {.rule = DECIDE_RESIGN};
    int code = decide(t, name, by, NULL, &d, err);
    if (code == VERDICT_GONE)
        return error_set(err, TENURE_NOT_OWNED, "%s has no leader", name);
    if (code == VERDICT_CONFLICT)
        return error_set(err, TENURE_CONFLICT, "%s is not an election", name);
    if (code < 0)
        return code;
    *ret_token = d.standing.token;
    return 0;
}

/* ---- transfer -------------------------------------------------------------------------------- */

struct successor {
    struct claim *scratch;
    const char *name;
    struct text to, as; /* whom it is handed over to, and what that candidate is known as */
    uint64_t former_token;
    uint64_t token; /* out: the epoch under which `to` serves, or served; 0: not yet */
};

static bool find_successor(void *arg, const struct store_record *record, struct facts *facts)
{
    struct successor *s = arg;
    (void)facts;
    if (strcmp(record->key, s->name) != 0)
        return true;
    struct claim *c = s->scratch;
    if (record_decode(record->bytes, record->len, c) == RECORD_FINE)
        s->token = claim_succeeded(c, s->to, s->as, &s->former_token);
    return false;
}

/* Waits until `to` serves under a later epoch, or has done so between two looks: its token, or 0
 * when the time is over. */
static uint64_t await_successor(tenure *t, struct successor *s, struct instant limit)
{
    for (;;) {
        struct store_read op = {.prefix = s->name, .fn = find_successor, .arg = s};
        store_read(t->store, &op);
        while (!op.op.done && !instant_reached(clock_now(), limit))
            handle_wait(t, limit);
        if (!op.op.done)
            t->store->ops->abandon(t->store, &op.op);
        struct instant now = clock_now();
        if (s->token != 0 || instant_reached(now, limit))
            return s->token;
        handle_wait(t, instant_min(limit, instant_add(now, SPAN(TRANSFER_LOOK_MS))));
    }
}

static int roll_back(tenure *t, const char *name, const char *to, const char *former,
                     const char *by, tenure_token *ret_token, tenure_error *err)
{
    struct decision d = {
        .rule = DECIDE_ROLLBACK,
        .to = text_of(to),
        .former = text_of(former),
        .by = text_of(by),
    };
    int code = handle_decide(t, name, &d, err);
    if (code == VERDICT_HELD) { /* it serves after all */
        *ret_token = d.standing.token;
        return 0;
    }
    if (code < 0)
        return code;
    return error_set(err, TENURE_TIMED_OUT,
                     "%s: %s did not serve in time; rolled back: %s is preferred again", name, to,
                     former);
}

static int transfer(tenure *t, const char *name, const char *to, const char *by, int64_t wait_ms,
                    tenure_token *ret_token, tenure_error *err)
{
    struct decision d = {.rule = DECIDE_TRANSFER, .to = text_of(to), .by = text_of(by)};
    int code = handle_decide(t, name, &d, err);
    if (code == VERDICT_CONFLICT)
        return error_set(err, TENURE_CONFLICT, "%s is not an election", name);
    if (code == VERDICT_GONE && d.standing.token == 0)
        return error_set(err, TENURE_NOT_OWNED, "%s has no leader", name);
    if (code == VERDICT_GONE && strcmp(d.as, to) == 0)
        return error_set(err, TENURE_NOT_OWNED, "%s is led by %s already", name, to);
    if (code == VERDICT_GONE)
        return error_set(err, TENURE_NOT_OWNED,
                         "no candidate of %s is known as %s; `tenure status -v` shows who waits",
                         name, to);
    if (code < 0)
        return code;
    struct successor s = {
        .scratch = &t->scratch,
        .name = name,
        .to = text_of(to),
        .as = d.standing.by,
        .former_token = d.standing.token,
    };
    struct instant limit =
        wait_ms == TENURE_FOREVER ? INSTANT_NEVER : instant_add(clock_now(), SPAN(wait_ms));
    uint64_t token = await_successor(t, &s, limit);
    if (token == 0)
        return roll_back(t, name, to, d.as, by, ret_token, err);
    *ret_token = token;
    return 0;
}

EXPORT int tenure_transfer(tenure *t, const char *name, const char *to, const char *by,
                           int64_t wait_ms, tenure_token *ret_token, tenure_error *err)
{
    int code = accept(name, by, to, err);
    if (code < 0)
        return code;
    if (!to || !*to || strlen(to) > CLAIM_AS_BYTES_MAX)
        return error_set(err, TENURE_INVALID, "a candidate's name has 1 to %d bytes",
                         CLAIM_AS_BYTES_MAX);
    if (wait_ms < TENURE_FOREVER)
        return error_set(err, TENURE_INVALID, "wait_ms %lld: it is TENURE_FOREVER, 0 or more",
                         (long long)wait_ms);
    if (!handle_enter(t))
        return forked(err);
    code = transfer(t, name, to, by ? by : t->as, wait_ms, ret_token, err);
    handle_leave(t);
    return code;
}

EXPORT int tenure_end_session(tenure *t, uint64_t session, tenure_error *err)
{
    struct store_session_close op = {.session = session, .claims_left = true};
    if (!handle_enter(t))
        return forked(err);
    struct instant limit = instant_add(clock_now(), SPAN(2 * t->timing.attempt.ms));
    store_session_close(t->store, &op);
    while (!op.op.done && !instant_reached(clock_now(), limit))
        handle_wait(t, limit);
    if (!op.op.done)
        t->store->ops->abandon(t->store, &op.op);
    handle_leave(t);
    return op.op.code < 0 ? error_copy(err, &op.op.error) : 0;
}
