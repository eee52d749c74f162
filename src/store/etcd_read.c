/* store/etcd_read.c - looking at records, page after page, and at all sessions of that moment. */
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"

void etcd_read(struct store *store, struct store_read *op)
{
    struct etcd_store *s = etcd_of(store);
    struct etcd_work *w = etcd_work_new(s, WORK_READ, &op->op);
    if (!w)
        return;
    if (op->after && *op->after != '\0' && !(w->after = strdup(op->after))) {
        etcd_work_finish(w, TENURE_NO_MEMORY);
        return;
    }
    etcd_work_queue(s, w);
    etcd_works_start(s);
    etcd_link_flush(s);
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* The id in "session/ID" or "session/ID/left"; 0 when it is neither.  *ret_is_live tells which. */
static uint64_t id_of(const struct etcd_store *s, ProtobufCBinaryData key, bool *ret_is_live)
{
    size_t front = strlen(s->prefix) + strlen("session/");
    char digits[17] = "";
    if (key.len < front + 16)
        return 0;
    memcpy(digits, key.data + front, 16);
    *ret_is_live = key.len == front + 16;
    return strtoull(digits, NULL, 16);
}

void etcd_census_take(struct etcd_store *s, const Etcd__RangeResponse *r, int64_t as_of)
{
    uint64_t alive = 0;
    for (size_t i = 0; i < r->n_kvs; i++) {
        bool is_live = false;
        uint64_t id = id_of(s, r->kvs[i]->key, &is_live);
        if (id == 0)
            continue;
        if (is_live)
            alive = id;
        etcd_session_note(s, id, alive == id ? SESSION_ALIVE : SESSION_EXPIRED, NULL, as_of);
    }
    s->census = s->answer;
    etcd_sessions_tidy(s);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Shows one record; false when no more is wanted, or there is no memory (*ret_code). */
static bool show(struct etcd_store *s, struct etcd_work *w, const Etcd__KeyValue *kv,
                 int64_t as_of, int *ret_code)
{
    struct store_read *op = (struct store_read *)(void *)w->op;
    size_t front = strlen(s->prefix) + strlen("name/");
    char name[NAME_BYTES_MAX + 1];
    if (kv->key.len <= front || kv->key.len - front > NAME_BYTES_MAX)
        return true; /* somebody else's */
    memcpy(name, kv->key.data + front, kv->key.len - front);
    name[kv->key.len - front] = '\0';
    free(w->after);
    w->after = strdup(name);
    if (!w->after) {
        *ret_code = TENURE_NO_MEMORY;
        return false;
    }
    struct etcd_record r = {.version = kv->mod_revision, .seen = clock_now()};
    const struct etcd_record *known = etcd_record_known(s, name);
    if (known && known->version == r.version)
        r.seen = known->seen;
    bool fine = etcd_stamp_decode(kv->value.data, kv->value.len, &r.stamp);
    size_t stamp = fine ? ETCD_STAMP_BYTES : 0;
    struct etcd_oracle oracle = {.s = s};
    struct facts facts = {
        .wall_ms = clock_wall_ms(),
        .token_floor = etcd_floor_at(s, as_of),
        .liveness = etcd_liveness,
        .oracle = &oracle,
        .unheard = true, /* the census reads no values, so each ttl is its ticket's */
    };
    facts.now = oracle.now = etcd_record_now(s, &r, clock_now(), &facts.behind);
    struct store_record record = {name, kv->value.data + stamp, kv->value.len - stamp};
    return op->fn(op->arg, &record, &facts);
}

static void page(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                 const ProtobufCMessage *answer)
{
    const Etcd__TxnResponse *r = (const void *)answer;
    struct etcd_work *w = c->arg;
    if (end != CALL_ANSWERED || !etcd_answer_note(s, c, r->header)) {
        etcd_work_missed(s, w, c, end == CALL_ANSWERED ? CALL_LOST : end, false);
        return;
    }
    const Etcd__RangeResponse *records = etcd_answer_range(r, 0);
    const Etcd__RangeResponse *sessions = etcd_answer_range(r, 1);
    bool more = w->op != NULL;
    int code = 0;
    etcd_work_land(s, w);
    if (!records || !sessions) { /* another seal */
        etcd_work_queue(s, w);
        etcd_hello(s);
        return;
    }
    etcd_census_take(s, sessions, r->header->revision);
    for (size_t i = 0; more && i < records->n_kvs; i++)
        more = show(s, w, records->kvs[i], r->header->revision, &code);
    if (more && code == 0 && records->more) {
        w->give_up = instant_add(clock_now(), s->patience);
        etcd_work_queue(s, w);
    } else {
        etcd_work_finish(w, code);
    }
}

void etcd_read_start(struct etcd_store *s, struct etcd_work *w)
{
    const struct store_read *op = (struct store_read *)(void *)w->op;
    etcd_arena_clear(&s->arena);
    struct etcd_txn *t = etcd_txn_sealed(s);
    etcd_key from = etcd_key_of(&s->arena, s->prefix, "name/", op->prefix);
    etcd_key end = etcd_key_end(&s->arena, from);
    if (w->after && (strncmp(w->after, op->prefix, strlen(op->prefix)) == 0 ||
                     strcmp(w->after, op->prefix) > 0)) {
        from = etcd_key_of(&s->arena, s->prefix, "name/", w->after);
        from.len++; /* the first key behind it ends in a NUL, and so does what was allocated */
    }
    etcd_key all = etcd_key_of(&s->arena, s->prefix, "session/", NULL);
    etcd_txn_range(t, from, end, ETCD_PAGE, false);
    etcd_txn_range(t, all, etcd_key_end(&s->arena, all), 0, true);
    if (!s->arena.failed && etcd_call_start(s, ETCD_KV_TXN, &t->m.base,
                                            &etcd__txn_response__descriptor, page, w))
        etcd_work_fly(s, w);
}
