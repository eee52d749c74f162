/* sim/decide.c - what a client decides on what it was told. */
#include <assert.h>
#include <string.h>

#include "sim/client.h"

static unsigned char buffer[STORE_RECORD_MAX];
static struct effects effects;

/* What a decision may know of sessions: those in the reply live; which it asked for is noted. */
struct oracle {
    const struct reply *p;
    struct request *q;
};

static enum liveness liveness(void *arg, uint64_t session, struct instant *ret_until)
{
    struct oracle *o = arg;
    for (int i = 0; i < o->p->alive_count; i++) {
        if (o->p->alive[i].session != session)
            continue;
        *ret_until = INSTANT(o->p->alive[i].until_ms);
        for (int k = 0; o->q && k < o->q->live_count; k++) {
            if (o->q->live[k] == session)
                return LIVE;
        }
        if (o->q) {
            assert(o->q->live_count < REQUEST_LIST_MAX);
            o->q->live[o->q->live_count++] = session;
        }
        return LIVE;
    }
    *ret_until = INSTANT(o->p->now_ms);
    return world.plan.embedded ? LIVE_GONE : LIVE_EXPIRED;
}

static struct facts facts_of(const struct reply *p, struct oracle *o)
{
    return (struct facts){.now = INSTANT(p->now_ms),
                          .wall_ms = 1700000000000 + p->now_ms,
                          .token_floor = p->floor,
                          .liveness = liveness,
                          .oracle = o};
}

int decide_on(struct store_update *op, const struct reply *p, struct request *q)
{
    struct oracle o = {p, q};
    *q = (struct request){.kind = REQUEST_COMMIT,
                          .version = p->record[0].version,
                          .floor_read = p->floor};
    memcpy(q->key, op->key[0], strlen(op->key[0]) + 1);
    struct store_view view = {.facts = facts_of(p, &o), .count = 1, .fx = &effects};
    view.in[0] = (struct store_record){q->key, p->record[0].bytes, p->record[0].len};
    view.out[0].bytes = buffer;
    effects.changed = false;
    effects.ring_count = 0;
    effects.notice = 0;
    int verdict = op->decide(op->arg, &view);
    if (verdict < 0)
        return verdict;
    q->granted = view.granted && view.undisturbed;
    const struct decision *d = op->arg; /* for the judge: an engine never looks into it */
    q->mark = (struct mark){.rule = d->rule, .id = d->id, .token = d->token};
    if (d->rule == DECIDE_ASK) {
        q->mark.id = d->ask.id;
        q->mark.instead = d->ask.instead;
    }
    q->what = (int)view.out[0].what;
    q->floor = view.facts.token_floor;
    q->notice = effects.notice;
    q->decided_ms = p->now_ms;
    for (uint32_t i = 0; i < effects.ring_count && q->ring_count < REQUEST_LIST_MAX; i++)
        q->ring[q->ring_count++] = effects.ring[i];
    if (q->what == STORE_PUT) {
        void *bytes = world_alloc(view.out[0].len);
        memcpy(bytes, buffer, view.out[0].len);
        q->bytes = bytes;
        q->len = view.out[0].len;
    }
    return verdict;
}

void decide_read(struct store_read *op, const struct reply *p)
{
    struct oracle o = {p, NULL};
    for (int i = 0; i < world.plan.names; i++) {
        const char *key = world.plan.name[i].name;
        if (p->record[i].version == 0 || strncmp(key, op->prefix, strlen(op->prefix)) != 0 ||
            (op->after && strcmp(key, op->after) <= 0))
            continue;
        struct facts facts = facts_of(p, &o);
        struct store_record record = {key, p->record[i].bytes, p->record[i].len};
        if (!op->fn(op->arg, &record, &facts))
            break;
    }
    store_op_finish(&op->op, 0);
}
