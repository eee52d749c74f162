/* store/sqlite_update.c - decisions on records, and looking at them. */
#include "store/sqlite_engine.h"

#include <string.h>

#include "core/name.h"
#include "os/point.h"

/* ---- finding -------------------------------------------------------------------------------- */

/* Where the record of a key is, unless another key's hash is the same. */
static int64_t row_of(const char *key)
{
    return -(int64_t)(store_key_hash(key) >> 2) - 1;
}

static int step_find(sqlite3_stmt *q, int64_t row, const char *key)
{
    sqlite3_bind_int64(q, 1, row);
    sqlite3_bind_text(q, 2, key, -1, SQLITE_STATIC);
    return sqlite3_step(q);
}

/* What the row that q is on holds of a record: column `at` is its size, the next one its bytes,
 * with zeros behind them (put()). */
static void borrow(sqlite3_stmt *q, int at, struct store_record *ret)
{
    sqlite3_int64 size = sqlite3_column_int64(q, at);
    ret->bytes = sqlite3_column_blob(q, at + 1);
    ret->len = (size_t)sqlite3_column_bytes(q, at + 1);
    if (size > 0 && (size_t)size < ret->len)
        ret->len = (size_t)size;
}

/* Finds record i of the decision; its statement stays open as long as the bytes are borrowed. */
static int find(struct sqlite_store *s, int i, struct store_record *ret)
{
    sqlite3_stmt *q = s->st[ST_FIND + i], *seek = s->st[ST_SEEK];
    s->row[i] = row_of(ret->key);
    int rc = step_find(q, s->row[i], ret->key);
    if (rc == SQLITE_DONE) { /* not where it should be: the index knows */
        sqlite3_bind_text(seek, 1, ret->key, -1, SQLITE_STATIC);
        bool found = sqlite3_step(seek) == SQLITE_ROW;
        if (found)
            s->row[i] = sqlite3_column_int64(seek, 0);
        rc = sqlite3_reset(seek);
        sqlite3_reset(q);
        if (rc != SQLITE_OK || !found)
            return rc;
        rc = step_find(q, s->row[i], ret->key);
    }
    if (rc == SQLITE_ROW)
        borrow(q, 0, ret);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* ---- one decision --------------------------------------------------------------------------- */

/* Runs decide on what the transaction sees.  Returns its verdict, or a negative code with *err.
 * The statements of the records stay open as long as their bytes are borrowed. */
static int decide(struct sqlite_store *s, struct store_update *op, struct sqlite_txn *t,
                  struct store_view *view, tenure_error *err)
{
    struct sqlite_oracle oracle = {.s = s, .now = t->now};
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
        rc = find(s, i, &view->in[i]);
    }
    int verdict = rc == SQLITE_OK ? op->decide(op->arg, view) : 0;
    for (int i = 0; i < op->count; i++)
        sqlite3_reset(s->st[ST_FIND + i]);
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

/* SQLite overwrites a row in its place when its length stays the same; else it takes it out and
 * puts it in again, with its overflow pages.  So records grow and shrink by steps. */
#define STEP_BYTES 128

static int put(struct sqlite_store *s, int64_t row, const struct store_record *in,
               const struct store_write *out)
{
    enum statement id = in->bytes ? ST_UPDATE : ST_INSERT;
    sqlite3_stmt *q = s->st[id];
    size_t padded = (out->len + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    memset((char *)out->bytes + out->len, 0, padded - out->len);
    sqlite3_bind_int64(q, 1, row);
    sqlite3_bind_int64(q, 2, (sqlite3_int64)out->len);
    sqlite3_bind_blob(q, 3, out->bytes, (int)padded, SQLITE_STATIC);
    if (id == ST_INSERT)
        sqlite3_bind_text(q, 4, in->key, -1, SQLITE_STATIC);
    return sqlite_run(s, id);
}
_Static_assert(STORE_RECORD_MAX % STEP_BYTES == 0, "the buffer has room for the last step");

static int write_out(struct sqlite_store *s, struct store_view *view, struct sqlite_txn *t)
{
    int rc = SQLITE_OK;
    for (int i = 0; i < view->count && rc == SQLITE_OK; i++) {
        const struct store_record *in = &view->in[i];
        if (view->out[i].what == STORE_PUT) {
            rc = put(s, s->row[i], in, &view->out[i]);
        } else if (view->out[i].what == STORE_DELETE && in->bytes) {
            sqlite3_bind_int64(s->st[ST_DELETE], 1, s->row[i]);
            rc = sqlite_run(s, ST_DELETE);
        }
    }
    if (rc == SQLITE_OK && s->fx.notice != 0) {
        sqlite3_bind_int64(s->st[ST_SESSION_NOTICE], 1, (sqlite3_int64)s->fx.notice);
        rc = sqlite_run(s, ST_SESSION_NOTICE);
    }
    if (rc == SQLITE_OK)
        rc = sqlite_forget_gone(s);
    if (view->facts.token_floor > t->floor) {
        t->floor = view->facts.token_floor;
        t->floor_moved = true;
    }
    t->notify = true;
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

static int update_inside(struct sqlite_store *s, struct store_update *op, tenure_error *err)
{
    struct sqlite_txn t;
    struct store_view view;
    int code = sqlite_write_begin(s, &t, err);
    if (code < 0)
        return code;
    int verdict = decide(s, op, &t, &view, err);
    code = verdict < 0 ? verdict : check_out(&t, &view, err);
    if (code < 0 || !writes(&view)) {
        sqlite_cancel(s);
        return code < 0 ? code : verdict;
    }
    int rc = write_out(s, &view, &t);
    if (rc != SQLITE_OK) {
        code = sqlite_fail(s, rc, "write", err);
        sqlite_cancel(s);
        return code;
    }
    code = sqlite_commit(s, &t, err);
    if (code < 0)
        return code;
    sqlite_bury_gone(s);
    POINT("commit-ring");
    ring(s, op);
    POINT("ring-reply");
    return verdict;
}

/* Returns true when the question could be answered without writing. */
static bool update_looking(struct sqlite_store *s, struct store_update *op, int *ret,
                           tenure_error *err)
{
    struct sqlite_txn t;
    struct store_view view;
    *ret = sqlite_read_begin(s, &t, err);
    if (*ret < 0)
        return true;
    *ret = decide(s, op, &t, &view, err);
    sqlite_read_end(s);
    return *ret < 0 || (!writes(&view) && !view.fx->changed);
}

static void update_once(struct sqlite_store *s, struct store_update *op)
{
    int verdict;
    if (!op->look_first || !update_looking(s, op, &verdict, &op->op.error))
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

/* ---- looking at many ------------------------------------------------------------------------ */

/* Binds the range of keys.  Every byte that a name may have is below DEL, so prefix + DEL is
 * above all that starts with the prefix. */
static int scan_bind(struct sqlite_store *s, const struct store_read *op, char *end, size_t cap)
{
    sqlite3_stmt *q = s->st[ST_SCAN];
    const char *after = op->after ? op->after : "";
    size_t len = strlen(op->prefix);
    if (len + 2 > cap)
        return TENURE_INVALID;
    memcpy(end, op->prefix, len);
    memcpy(end + len, "\x7f", 2);
    const char *start = strcmp(after, op->prefix) > 0 ? after : op->prefix;
    sqlite3_bind_text(q, 1, start, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 2, end, -1, SQLITE_STATIC);
    sqlite3_bind_text(q, 3, after, -1, SQLITE_STATIC);
    return 0;
}

static int scan(struct sqlite_store *s, const struct store_read *op, const struct sqlite_txn *t)
{
    sqlite3_stmt *q = s->st[ST_SCAN];
    struct sqlite_oracle oracle = {.s = s, .now = t->now};
    const struct facts facts = {
        .now = t->now,
        .wall_ms = clock_wall_ms(),
        .token_floor = t->floor,
        .liveness = sqlite_liveness,
        .oracle = &oracle,
    };
    while (sqlite3_step(q) == SQLITE_ROW) {
        struct facts copy = facts;
        struct store_record record = {.key = (const char *)sqlite3_column_text(q, 0)};
        borrow(q, 1, &record);
        if (!record.key)
            return SQLITE_NOMEM;
        bool go_on = op->fn(op->arg, &record, &copy);
        if (oracle.rc != SQLITE_OK)
            return oracle.rc;
        if (!go_on)
            return SQLITE_OK;
    }
    return sqlite3_reset(q);
}

void sqlite_read(struct store *store, struct store_read *op)
{
    struct sqlite_store *s = sqlite_of(store);
    struct sqlite_txn t;
    char end[NAME_BYTES_MAX + 2];
    if (scan_bind(s, op, end, sizeof end) < 0) {
        store_op_fail(&op->op, TENURE_INVALID, "a prefix has at most %d bytes", NAME_BYTES_MAX);
        return;
    }
    if (sqlite_read_begin(s, &t, &op->op.error) < 0) {
        sqlite_op_failed(&op->op);
        return;
    }
    int rc = scan(s, op, &t);
    sqlite3_reset(s->st[ST_SCAN]);
    s->gone_count = 0; /* seen, but only a writer buries */
    if (rc != SQLITE_OK)
        sqlite_fail(s, rc, "read", &op->op.error);
    sqlite_read_end(s);
    if (rc != SQLITE_OK)
        sqlite_op_failed(&op->op);
    else
        store_op_finish(&op->op, 0);
}
