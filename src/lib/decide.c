/* lib/decide.c - one decision from start to end, for calls that wait for it. */
#include "lib/handle.h"
#include "os/clock.h"

int handle_decide(tenure *t, const char *name, struct decision *d, tenure_error *err)
{
    struct store_update op = {.count = 1, .key = {name}, .decide = decision_apply, .arg = d};
    struct instant give_up = instant_add(clock_now(), t->timing.attempt);
    d->scratch = &t->scratch;
    store_update(t->store, &op);
    while (!op.op.done && !instant_reached(clock_now(), give_up))
        handle_wait(t, give_up);
    if (!op.op.done)
        t->store->ops->abandon(t->store, &op.op);
    if (op.op.code == TENURE_CORRUPT || op.op.code == TENURE_FOREIGN) {
        if (d->flaw != RECORD_FINE)
            return error_set(err, op.op.code, "the record of %s cannot be used: %s", name,
                             record_flaw_text(d->flaw));
    }
    if (op.op.code < 0)
        return error_copy(err, &op.op.error);
    return op.verdict;
}
