/* store/sqlite_update.c - decisions on records. */
#include "store/sqlite_engine.h"

#include "os/point.h"

/* ---- one decision --------------------------------------------------------------------------- */

/* Runs decide on what the transaction sees, or on the line of its one record, if there is one.
 * Returns its verdict, or a negative code with *err.  The statements of the records stay open as
 * long as their bytes are borrowed.  `young`: see struct sqlite_oracle. */
static int decide(struct sqlite_store *s, struct store_update *op, struct sqlite_txn *t, int line,
                  const struct sqlite_young *young, struct store_view *view, tenure_error *err)
{
    struct sqlite_oracle oracle = {.s = s, .now = t->now, .young = young, .err = err};
    s->fx.changed = false;
    s->fx.ring_count = 0;
    s->fx.notice = 0;
    s->gone_count = 0;
    view->facts = (struct facts){
        .now = t->now,
        .wall_ms = clock_wall_ms(),
        .token_floor = t->floor,
        .liveness = sqlite_liveness,
        .oracle = &oracle,
    };
    view->own_clocks = false;
    view->count = op->count;
    view->fx = &s->fx;
    int rc = SQLITE_OK;
    for (int i = 0; i < op->count && rc == SQLITE_OK; i++) {
        view->in[i] = (struct store_record){.key = op->key[i]};
        view->out[i] = (struct store_write){.what = STORE_KEEP, .bytes = s->buffer[i]};
        if (line >= 0)
            sqlite_cache_borrow(s, line, &view->in[i]);
        else
            rc = sqlite_record_find(s, i, &view->in[i]);
    }
    int verdict = rc == SQLITE_OK ? op->decide(op->arg, view) : 0;
    for (int i = 0; i < op->count && line < 0; i++)
        sqlite_record_found(s, i);
    if (oracle.code < 0)
        return oracle.code;
    if (rc == SQLITE_OK)
        rc = oracle.rc;
    if (rc != SQLITE_OK)
        return sqlite_fail(s, rc, "read", err);
    if (verdict < 0)
        return fail(err, verdict, "%s", tenure_error_sentence(verdict));
    return verdict;
}

static bool writes(const struct store_view *view)
{
    for (int i = 0; i < view->count; i++) {
        if (view->out[i].what != STORE_KEEP)
            return true;
    }
    return view->fx->notice != 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

static int write_out(struct sqlite_store *s, struct store_view *view, struct sqlite_txn *t)
{
    int rc = SQLITE_OK;
    for (int i = 0; i < view->count && rc == SQLITE_OK; i++) {
        const struct store_record *in = &view->in[i];
        const struct store_write *out = &view->out[i];
        if (out->what == STORE_PUT)
            rc = sqlite_record_put(s, i, in, out->bytes, out->len,
                                   ++gate_page(s->gate)->sequence);
        else if (out->what == STORE_DELETE && in->bytes)
            rc = sqlite_record_delete(s, i);
    }
    if (rc == SQLITE_OK && s->fx.notice != 0 && !sqlite_young_notice(s, s->fx.notice)) {
        sqlite3_stmt *q;
        rc = sqlite_statement(s, ST_SESSION_NOTICE, &q);
        if (rc == SQLITE_OK)
            sq.sqlite3_bind_int64(q, 1, (sqlite3_int64)s->fx.notice);
        if (rc == SQLITE_OK)
            rc = sqlite_run(s, ST_SESSION_NOTICE);
    }
    if (rc == SQLITE_OK)
        rc = sqlite_forget_gone(s, t);
    if (view->facts.token_floor > t->floor) {
        t->floor = view->facts.token_floor;
        t->floor_moved = true;
    }
    return rc;
}

/* What a decision may not do, whatever the rules are. */
static int check_out(const struct sqlite_txn *t, const struct store_view *view, tenure_error *err)
{
    for (int i = 0; i < view->count; i++) {
        const struct store_write *out = &view->out[i];
        if (out->what == STORE_PUT && (out->len == 0 || out->len > STORE_RECORD_MAX))
            return fail(err, TENURE_INTERNAL, "a record of %zu bytes", out->len);
    }
    if (view->facts.token_floor > t->ceiling)
        return fail(err, TENURE_INTERNAL, "token %llu was drawn above the reserve",
                    (unsigned long long)view->facts.token_floor);
    return 0;
}

/* Bells ring when it is committed and the gate is free: who is woken may come in at once. */
static void ring(struct sqlite_store *s, const struct store_update *op)
{
    for (int i = 0; i < op->count && s->fx.ring_count > 0; i++)
        lifelines_ring(s->lives, s->fx.ring, s->fx.ring_count, store_key_hash(op->key[i]));
}

/* Decides on rows, in a transaction.  Returns the verdict. */
static int update_rows(struct sqlite_store *s, struct store_update *op, bool *changed,
                       tenure_error *err)
{
    struct sqlite_txn t;
    struct store_view view;
    int code = sqlite_cache_retire(s, op->key, op->count, err);
    if (code == 0)
        code = sqlite_begin(s, &t, err);
    if (code < 0)
        return code;
    int verdict = decide(s, op, &t, -1, NULL, &view, err);
    code = verdict < 0 ? verdict : check_out(&t, &view, err);
    if (code < 0 || !writes(&view)) {
        sqlite_rollback(s);
        return code < 0 ? code : verdict;
    }
    int rc = write_out(s, &view, &t);
    if (rc != SQLITE_OK) {
        code = sqlite_fail(s, rc, "write", err);
        sqlite_rollback(s);
        return code;
    }
    code = sqlite_end(s, &t, err);
    *changed = code == 0;
    return code < 0 ? code : verdict;
}

/* Decides on one record that is in the cache, or may come into it.  Says whether that is all there
 * is to do; else nothing has happened. */
static bool update_line(struct sqlite_store *s, struct store_update *op, bool *changed, int *ret,
                        tenure_error *err)
{
    struct gate_page *p = gate_page(s->gate);
    struct sqlite_txn t = {.floor = p->token, .ceiling = p->ceiling};
    struct store_view view;
    int line = sqlite_cache_find(s, op->key[0]);
    if (s->read_only || !sqlite_has_tokens(&t))
        return false;
    if (line < 0 && (sqlite_need(s, err) < 0 || sqlite_cache_make_room(s, err) < 0))
        return false;
    t.now = sqlite_now(s);
    *ret = decide(s, op, &t, line, NULL, &view, err);
    int code = *ret < 0 ? *ret : check_out(&t, &view, err);
    if (code < 0 || !writes(&view)) {
        *ret = code < 0 ? code : *ret;
        return true;
    }
    if (!sqlite_cache_takes(&view.out[0]) || s->fx.notice != 0 || !sqlite_forget_young(s))
        return false;
    p->token = view.facts.token_floor > p->token ? view.facts.token_floor : p->token;
    *changed = sqlite_cache_put(s, line, op->key[0], &view.out[0], t.now);
    return *changed;
}

static int update_inside(struct sqlite_store *s, struct store_update *op, tenure_error *err)
{
    int verdict, code = sqlite_enter(s, err);
    bool changed = false;
    if (code < 0)
        return code;
    if (op->count != 1 || !op->ephemeral || !update_line(s, op, &changed, &verdict, err))
        verdict = update_rows(s, op, &changed, err);
    sqlite_leave(s, changed);
    if (!changed)
        return verdict;
    sqlite_bury_gone(s);
    POINT("commit-ring");
    ring(s, op);
    POINT("ring-reply");
    return verdict;
}

/* Whether all of its records are in rows, as far as we know. */
static bool is_in_rows(const struct sqlite_store *s, const struct store_update *op)
{
    for (int i = 0; i < op->count; i++) {
        if (sqlite_cache_find(s, op->key[i]) >= 0)
            return false;
    }
    return true;
}

/* Returns true when the question could be answered without writing. */
static bool update_looking(struct sqlite_store *s, struct store_update *op, int *ret,
                           tenure_error *err)
{
    struct sqlite_txn t;
    struct store_view view;
    struct sqlite_young young;
    young.count = 0;
    *ret = sqlite_read_begin(s, &t, &young, err);
    if (*ret < 0)
        return true;
    *ret = decide(s, op, &t, -1, &young, &view, err);
    sqlite_read_end(s);
    return *ret < 0 || (!writes(&view) && !view.fx->changed);
}

static void update_once(struct sqlite_store *s, struct store_update *op)
{
    int verdict;
    if (!op->look_first || !is_in_rows(s, op) || !update_looking(s, op, &verdict, &op->op.error))
        verdict = update_inside(s, op, &op->op.error);
    if (verdict < 0) {
        sqlite_op_failed(&op->op);
        return;
    }
    op->verdict = verdict;
    store_op_finish(&op->op, 0);
}

void sqlite_update(struct store *store, struct store_update *op)
{
    struct sqlite_store *s = sqlite_of(store);
    update_once(s, op);
    if (sqlite_try_again(s, &op->op))
        update_once(s, op);
}
