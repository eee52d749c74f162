/* store/postgres_hold.c - a record that many want: wait for it, decide, write, in one transaction.
 *
 * BEGIN, hold(), apply(), COMMIT; on any other way out ROLLBACK, which request_next() sends when it
 * finds a transaction that nobody continues. */
#include <string.h>

#include "store/postgres_engine.h"

void hold_begin(struct pg_store *s, struct work *w)
{
    s->holding = true;
    w->writes = false;
    params_clear(&s->params);
    request_send(s, REQUEST_BEGIN, w);
}

static void stop(struct pg_store *s, struct work *w)
{
    s->holding = false;
    if (w->op)
        work_queue(s, w);
    else
        work_free(w);
}

static void hold(struct pg_store *s, struct work *w)
{
    int keys;
    params_clear(&s->params);
    keys = params_array(&s->params, PG_TEXT_ARRAY);
    for (int i = 0; i < w->count; i++) {
        const char *key = w->key[w->order[i]];
        params_add_bytes(&s->params, keys, key, strlen(key));
    }
    params_i64(&s->params, (int64_t)s->high);
    request_send(s, REQUEST_HOLD, w);
}

/* The records are ours: decides on them as they are. */
static void write(struct pg_store *s, struct work *w, const PGresult *r)
{
    bool confirmed = false;
    update_take(s, w, r);
    if (update_decide(s, w, &confirmed) && confirmed) {
        s->holding = false;
        update_settle(s, w);
        return;
    }
    bool together = w->count > 1;
    update_batch(s, w);
    request_send(s, together ? REQUEST_TOGETHER : REQUEST_APPLY, w);
}

static void commit(struct pg_store *s, struct work *w, const PGresult *r)
{
    update_take(s, w, r);
    if (!w->done || !w->writes) {
        stop(s, w); /* a session was not as expected */
        return;
    }
    params_clear(&s->params);
    request_send(s, REQUEST_COMMIT, w);
}

void hold_answered(struct pg_store *s, enum request request, struct work *w, const PGresult *r)
{
    if (!w->op && request != REQUEST_COMMIT) {
        stop(s, w);
        return;
    }
    switch (request) {
    case REQUEST_BEGIN:
        hold(s, w);
        break;
    case REQUEST_HOLD:
        write(s, w, r);
        break;
    case REQUEST_COMMIT:
        s->holding = false;
        w->done = strcmp(pq.PQcmdStatus((PGresult *)(void *)(uintptr_t)r), "COMMIT") == 0;
        update_settle(s, w);
        break;
    default:
        commit(s, w, r);
        break;
    }
}
