/* lib/sweep.c - a walk through the store, a few records at a time, that tidies up what the dead
 * left behind: names and permits that nobody asks for any more.
 *
 * It is housekeeping.  It goes on with a renewal, so that it needs no timer of its own, and with
 * every SWEEP_RENEWALS-th one only, because on a store behind a network each step is a request
 * (P9); with the next one as long as there is something to tidy; and less and less often while
 * there is nothing.  No call ever waits for it. */
#include <string.h>

#include "lib/handle.h"
#include "wire/docket.h"

#define SWEEP_RENEWALS 8
#define SWEEP_RENEWALS_MAX 64

/* Whether settling would change the record: somebody is dead in it, or it is forgotten. */
static bool is_untidy(const struct claim *c, struct facts *f)
{
    struct instant until;
    for (uint32_t i = 0; i < c->ticket_count; i++) {
        const struct ticket *t = &c->ticket[i];
        if (t->id.session != 0 && f->liveness(f->oracle, t->id.session, &until) != LIVE)
            return true;
        if (instant_reached(f->now, t->until))
            return true;
    }
    struct instant end = instant_add(c->touched, SPAN(DECISION_HISTORY_MS));
    return c->ticket_count == 0 && instant_reached(f->now, end);
}

static bool is_docket(const char *key)
{
    return key[0] == PERMIT_MARK[0];
}

/* Takes the docket away; what was drawn for it stays below the floor (P1). */
static int forget_docket(void *arg, struct store_view *view)
{
    struct docket d;
    (void)arg;
    if (docket_decode(view->in[0].bytes, view->in[0].len, &d) != RECORD_FINE || d.count == 0 ||
        !docket_is_forgotten(&d, view->facts.now, SPAN(DECISION_HISTORY_MS)))
        return 0;
    if (view->facts.token_floor < d.grant[0].serial)
        view->facts.token_floor = d.grant[0].serial;
    view->out[0].what = STORE_DELETE;
    return 0;
}

static bool is_due(tenure *t, const struct store_record *record, struct facts *facts)
{
    struct docket d;
    if (is_docket(record->key))
        return docket_decode(record->bytes, record->len, &d) == RECORD_FINE &&
               docket_is_forgotten(&d, facts->now, SPAN(DECISION_HISTORY_MS));
    return record_decode(record->bytes, record->len, &t->scratch) == RECORD_FINE &&
           is_untidy(&t->scratch, facts);
}

static bool see(void *arg, const struct store_record *record, struct facts *facts)
{
    tenure *t = arg;
    struct sweep *s = &t->sweep;
    size_t n = strlen(record->key);
    if (s->seen == SWEEP_RECORDS)
        return false;
    s->seen++;
    if (n > NAME_BYTES_MAX)
        return true;
    memcpy(s->after, record->key, n + 1);
    if (is_due(t, record, facts))
        memcpy(s->name[s->found++], record->key, n + 1);
    return true;
}

static void look(tenure *t, struct instant now)
{
    struct sweep *s = &t->sweep;
    s->seen = s->found = s->tidied = 0;
    s->work = SWEEP_LOOKS;
    s->sent = now;
    memcpy(s->from, s->after, sizeof s->from);
    if (s->from[0] == '\0')
        memcpy(s->from, PERMITS_AFTER, sizeof PERMITS_AFTER); /* entries stay */
    s->look = (struct store_read){.prefix = "", .after = s->from, .fn = see, .arg = t};
    store_read(t->store, &s->look);
}

static void tidy_next(tenure *t, struct instant now)
{
    struct sweep *s = &t->sweep;
    if (s->tidied == s->found) {
        s->work = SWEEP_RESTS;
        return;
    }
    s->work = SWEEP_TIDIES;
    s->sent = now;
    s->decision = (struct decision){.scratch = &t->scratch, .rule = DECIDE_SWEEP};
    const char *key = s->name[s->tidied++];
    s->tidy = (struct store_update){.count = 1,
                                    .key = {key},
                                    .decide = is_docket(key) ? forget_docket : decision_apply,
                                    .arg = &s->decision};
    store_update(t->store, &s->tidy);
}

static struct store_op *op_of(struct sweep *s)
{
    return s->work == SWEEP_LOOKS    ? &s->look.op
           : s->work == SWEEP_TIDIES ? &s->tidy.op
                                     : NULL;
}

/* The answer is there.  What failed is left as it is: the walk comes by again. */
static void answered(tenure *t, struct instant now)
{
    struct sweep *s = &t->sweep;
    if (s->work == SWEEP_LOOKS) {
        bool at_end = s->look.op.code < 0 || s->seen < SWEEP_RECORDS;
        if (at_end)
            s->after[0] = '\0';
        bool in_vain = s->look.op.code == 0 && s->found == 0 && s->pause > 0;
        s->pause = !in_vain                            ? SWEEP_RENEWALS
                   : s->pause * 2 < SWEEP_RENEWALS_MAX ? s->pause * 2
                                                       : SWEEP_RENEWALS_MAX;
        s->renewals = s->found > 0 ? 1 : s->pause;
    }
    tidy_next(t, now);
}

struct instant sweep_turn(tenure *t, struct instant now)
{
    struct sweep *s = &t->sweep;
    struct store_op *op;
    while ((op = op_of(s)) != NULL) {
        struct instant give_up = instant_add(s->sent, t->timing.attempt);
        if (!op->done && !instant_reached(now, give_up))
            return give_up;
        if (!op->done)
            t->store->ops->abandon(t->store, op);
        answered(t, now);
    }
    return INSTANT_NEVER;
}

void sweep_renewed(tenure *t, struct instant now)
{
    struct sweep *s = &t->sweep;
    if (s->renewals > 0)
        s->renewals--;
    if (s->renewals > 0 || s->work != SWEEP_RESTS)
        return;
    look(t, now);
    sweep_turn(t, now);
}

void sweep_stop(tenure *t)
{
    struct store_op *op = op_of(&t->sweep);
    if (op && !op->done)
        t->store->ops->abandon(t->store, op);
    t->sweep.work = SWEEP_RESTS;
}
