/* store/postgres_read.c - looking at many records, a page at a time. */
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "store/postgres_engine.h"

#define PAGE 256

static struct store_read *read_of(const struct work *w)
{
    return (struct store_read *)(void *)w->op; /* the first member */
}

void pg_read(struct store *store, struct store_read *op)
{
    struct pg_store *s = pg_of(store);
    if (strlen(op->prefix) > NAME_BYTES_MAX) {
        store_op_fail(&op->op, TENURE_INVALID, "a prefix has at most %d bytes", NAME_BYTES_MAX);
        return;
    }
    struct work *w = work_new(s, WORK_READ, &op->op);
    if (!w)
        return;
    w->after = strdup(op->after ? op->after : "");
    if (!w->after) {
        work_finish(s, w, TENURE_NO_MEMORY);
        return;
    }
    work_queue(s, w);
    request_next(s);
}

/* Every byte that a name may have is below DEL, so prefix + DEL is above all that starts so. */
void read_request(struct pg_store *s, struct work *w)
{
    const struct store_read *op = read_of(w);
    struct pg_params *p = &s->params;
    char end[NAME_BYTES_MAX + 2];
    size_t len = strlen(op->prefix);
    memcpy(end, op->prefix, len);
    memcpy(end + len, "\x7f", 2);
    params_clear(p);
    params_text(p, op->prefix);
    params_text(p, end);
    params_text(p, w->after);
    params_i32(p, PAGE);
}

/* Shows one record; false when no more is wanted. */
static bool show(struct pg_store *s, struct work *w, const PGresult *r, int row)
{
    const struct store_read *op = read_of(w);
    struct pg_oracle oracle = {.s = s, .now = s->clock.at, .looks = true};
    struct facts facts = {
        .now = s->clock.at,
        .wall_ms = clock_wall_ms(),
        .token_floor = answer_u64(r, row, 3),
        .liveness = pg_liveness,
        .oracle = &oracle,
    };
    struct store_record record = {
        .key = pq.PQgetvalue(r, row, 7),
        .bytes = pq.PQgetvalue(r, row, 6),
        .len = (size_t)pq.PQgetlength(r, row, 6),
    };
    s->relied.count = 0;
    return op->fn(op->arg, &record, &facts);
}

void read_answered(struct pg_store *s, struct work *w, const PGresult *r)
{
    int shown = 0, last = -1;
    if (!w->op) {
        work_free(w);
        return;
    }
    s->stamp++;
    answer_take(s, r);
    bool more = true;
    for (int row = 0; row < pq.PQntuples(r) && more; row++) {
        if (answer_i32(r, row, 0) != 5)
            continue;
        more = show(s, w, r, row);
        last = row;
        shown++;
    }
    if (!more || shown < PAGE) {
        work_finish(s, w, 0);
        return;
    }
    char *after = strdup(pq.PQgetvalue(r, last, 7));
    if (!after) {
        work_finish(s, w, TENURE_NO_MEMORY);
        return;
    }
    free(w->after);
    w->after = after;
    w->give_up = instant_add(clock_now(), s->patience);
    work_queue(s, w);
}
