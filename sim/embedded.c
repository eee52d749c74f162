/* sim/embedded.c - the engine whose operations are done when they return, like SQLite's. */
#include <string.h>

#include "sim/client.h"

/* Whether the operation is refused; *ret_after: only once it has happened, with no answer. */
static bool is_refused(struct store_op *op, bool *ret_after)
{
    static const int codes[] = {TENURE_BUSY, TENURE_NO_SPACE, TENURE_UNREACHABLE, TENURE_UNSURE};
    *ret_after = false;
    if (world.quiet || !random_chance(&world.random, world.plan.store_error))
        return false;
    int code = codes[random_below(&world.random, 4)];
    if (code == TENURE_UNSURE && random_chance(&world.random, 500)) {
        *ret_after = true;
        return false;
    }
    store_op_finish(op, code);
    return true;
}

void embedded_update(struct client *c, struct store_update *op)
{
    struct request read = {.client = c->index, .id = client_next_id()}, q;
    bool unsure;
    if (is_refused(&op->op, &unsure))
        return;
    memcpy(read.key, op->key[0], strlen(op->key[0]) + 1);
    op->verdict = decide_on(op, server_serve(&read), &q);
    if (op->verdict < 0) {
        store_op_finish(&op->op, op->verdict);
        return;
    }
    q.client = c->index;
    q.id = client_next_id();
    c->cost.reads++;
    if (q.what != STORE_KEEP) {
        *(q.mark.rule == DECIDE_SWEEP ? &c->cost.tidied : &c->cost.commits) += 1;
        server_serve(&q);
    }
    store_op_finish(&op->op, unsure ? TENURE_UNSURE : 0);
}

static struct reply *session_at_once(struct client *c, struct request *q, struct store_op *op)
{
    bool unsure;
    if (is_refused(op, &unsure))
        return NULL;
    q->client = c->index;
    q->id = client_next_id();
    c->cost.renewals += q->kind == REQUEST_RENEW;
    struct reply *p = server_serve(q);
    store_op_finish(op, unsure ? TENURE_UNSURE : p->code);
    return p;
}

void embedded_open(struct client *c, struct store_session_open *op)
{
    struct request q = {.kind = REQUEST_OPEN, .ttl_ms = op->ttl.ms};
    const struct reply *p = session_at_once(c, &q, &op->op);
    c->notices = 0;
    if (p)
        op->session = p->session;
}

void embedded_renew(struct client *c, struct store_session_renew *op)
{
    struct request q = {.kind = REQUEST_RENEW, .session = op->session};
    const struct reply *p = session_at_once(c, &q, &op->op);
    if (!p || p->code != 0)
        return;
    op->noticed = p->notices != c->notices;
    if (op->op.code == 0)
        c->notices = p->notices;
}

void embedded_close(struct client *c, struct store_session_close *op)
{
    struct request q = {.kind = REQUEST_CLOSE, .session = op->session};
    session_at_once(c, &q, &op->op);
}

void embedded_read(struct client *c, struct store_read *op)
{
    struct request q = {.kind = REQUEST_READ, .client = c->index};
    bool unsure;
    c->cost.reads++;
    if (!is_refused(&op->op, &unsure))
        decide_read(op, server_serve(&q));
}
