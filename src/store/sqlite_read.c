/* store/sqlite_read.c - looking at many records: lines of the cache go before rows. */
#include "store/sqlite_engine.h"

#include <string.h>

/* A scan on its way. */
struct scan {
    const struct store_read *op;
    struct facts facts;
    struct sqlite_oracle oracle;
    struct sqlite_copies copies;
    size_t copied; /* of them, those that were shown */
};

/* Shows one record.  False when that was enough, or all that can be done. */
static bool show(struct scan *n, const struct store_record *record)
{
    struct store_record r = *record;
    struct facts copy = n->facts;
    return n->op->fn(n->op->arg, &r, &copy) && n->oracle.rc == SQLITE_OK;
}

/* Shows the copies that come before the row of `key`, or all that are left (NULL).  *ret_same: the
 * last one was of the same key, and goes before its row. */
static bool show_copies(struct scan *n, const char *key, bool *ret_same)
{
    *ret_same = false;
    for (; n->copied < n->copies.count && !*ret_same; n->copied++) {
        const struct sqlite_copy *c = &n->copies.at[n->copied];
        int order = key ? strcmp(c->key, key) : -1;
        if (order > 0)
            return true;
        *ret_same = order == 0;
        if (!show(n, &(struct store_record){.key = c->key, .bytes = c->bytes, .len = c->len}))
            return false;
    }
    return true;
}

static int show_rows(struct scan *n, sqlite3_stmt *q)
{
    bool same;
    while (sq.sqlite3_step(q) == SQLITE_ROW) {
        struct store_record record = {.key = (const char *)sq.sqlite3_column_text(q, 0)};
        sqlite_record_borrow(q, 1, &record);
        if (!record.key)
            return SQLITE_NOMEM;
        if (!show_copies(n, record.key, &same) || (!same && !show(n, &record)))
            return n->oracle.rc;
    }
    int rc = sq.sqlite3_reset(q);
    if (rc == SQLITE_OK)
        show_copies(n, NULL, &same);
    return rc != SQLITE_OK ? rc : n->oracle.rc;
}

/* Every byte that a name may have is below DEL, so prefix + DEL is above all that starts with the
 * prefix. */
static int scan(struct sqlite_store *s, struct scan *n)
{
    sqlite3_stmt *q;
    char end[NAME_BYTES_MAX + 2];
    const char *prefix = n->op->prefix, *after = n->op->after ? n->op->after : "";
    size_t len = strlen(prefix);
    int rc = sqlite_statement(s, ST_SCAN, &q);
    if (rc != SQLITE_OK)
        return rc;
    memcpy(end, prefix, len);
    memcpy(end + len, "\x7f", 2);
    sq.sqlite3_bind_text(q, 1, strcmp(after, prefix) > 0 ? after : prefix, -1, SQLITE_STATIC);
    sq.sqlite3_bind_text(q, 2, end, -1, SQLITE_STATIC);
    sq.sqlite3_bind_text(q, 3, after, -1, SQLITE_STATIC);
    rc = show_rows(n, q);
    sq.sqlite3_reset(q);
    return rc;
}

/* Copies of lines first, then a snapshot of the rows. */
static int look(struct sqlite_store *s, const struct store_read *op, tenure_error *err)
{
    struct sqlite_txn t;
    struct sqlite_young young;
    young.count = 0;
    sqlite_young_copy(s, &young); /* the session of a line that is copied now may end meanwhile */
    struct scan n = {.op = op, .oracle = {.s = s, .young = &young}};
    int code = sqlite_cache_copy(s, op->prefix, op->after, &n.copies);
    if (code < 0)
        code = fail(err, code, "%s: %s", s->path, tenure_error_sentence(code));
    if (code == 0)
        code = sqlite_read_begin(s, &t, &young, err);
    if (code < 0) {
        sqlite_cache_copied(&n.copies);
        return code;
    }
    n.oracle.now = t.now;
    n.facts = (struct facts){
        .now = t.now,
        .wall_ms = clock_wall_ms(),
        .token_floor = t.floor,
        .liveness = sqlite_liveness,
        .oracle = &n.oracle,
    };
    int rc = scan(s, &n);
    s->gone_count = 0; /* seen, but only a writer buries */
    if (rc != SQLITE_OK)
        code = sqlite_fail(s, rc, "read", err);
    sqlite_read_end(s);
    sqlite_cache_copied(&n.copies);
    return code;
}

void sqlite_read(struct store *store, struct store_read *op)
{
    struct sqlite_store *s = sqlite_of(store);
    if (strlen(op->prefix) > NAME_BYTES_MAX)
        store_op_fail(&op->op, TENURE_INVALID, "a prefix has at most %d bytes", NAME_BYTES_MAX);
    else if (look(s, op, &op->op.error) < 0)
        sqlite_op_failed(&op->op);
    else
        store_op_finish(&op->op, 0);
}
