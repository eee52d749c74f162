/* lib/decide.c - one operation of the store from start to end, for calls that wait for it. */
#include "lib/handle.h"
#include "os/clock.h"

/* Turns until the operation is done or its time is over. */
static void finish(tenure *t, struct store_op *op, struct span limit)
{
    struct instant give_up = instant_add(clock_now(), limit);
    while (!op->done && !instant_reached(clock_now(), give_up))
        handle_wait(t, give_up);
    if (!op->done)
        t->store->ops->abandon(t->store, op);
}

int handle_update(tenure *t, struct store_update *op, tenure_error *err)
{
    store_update(t->store, op);
    finish(t, &op->op, t->timing.attempt);
    return op->op.code < 0 ? error_copy(err, &op->op.error) : op->verdict;
}

int handle_read(tenure *t, struct store_read *op, tenure_error *err)
{
    store_read(t->store, op);
    finish(t, &op->op, t->timing.ttl);
    if (op->op.code == TENURE_UNSURE)
        return error_set(err, TENURE_UNREACHABLE, "the store did not answer");
    return op->op.code < 0 ? error_copy(err, &op->op.error) : 0;
}

int handle_decide(tenure *t, const char *name, struct decision *d, tenure_error *err)
{
    struct store_update op = {.count = 1, .key = {name}, .decide = decision_apply, .arg = d};
    d->scratch = &t->scratch;
    int code = handle_update(t, &op, err);
    if ((code == TENURE_CORRUPT || code == TENURE_FOREIGN) && d->flaw != RECORD_FINE)
        return error_set(err, code, "the record of %s cannot be used: %s", name,
                         record_flaw_text(d->flaw));
    return code;
}
