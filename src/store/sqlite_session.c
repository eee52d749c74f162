/* store/sqlite_session.c - sessions: rows, FIFOs, and who is alive.
 *
 * A session is alive while its row is there, or its place among the young ones (sqlite_young.c),
 * has not expired, and its lifeline does not say that its process has ended.  Each of the three is
 * final: a deleted row never comes back (ids are drawn from the tokens' sequence), an expired one
 * is never renewed, and an ended process never reopens its FIFO. */
#include "store/sqlite_engine.h"

#include <fcntl.h>
#include <string.h>

#include "os/point.h"

/* For so long the row of an expired session is kept, so that each of its claims ends with the
 * right cause; after that its claims say that it died. */
#define PURGE_AFTER_MS (24 * 3600 * 1000LL)
#define PURGE_EVERY 61 /* sessions; a prime: ids skip the numbers that tokens take */

int sqlite_session_row(struct sqlite_store *s, uint64_t session, struct session_row *ret)
{
    sqlite3_stmt *q;
    *ret = (struct session_row){.session = session};
    int rc = sqlite_statement(s, ST_SESSION, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, (sqlite3_int64)session);
    if (sq.sqlite3_step(q) == SQLITE_ROW) {
        ret->found = true;
        ret->expires = INSTANT(sq.sqlite3_column_int64(q, 0));
        ret->ttl = SPAN(sq.sqlite3_column_int64(q, 1));
        ret->notices = sq.sqlite3_column_int64(q, 2);
    }
    return sq.sqlite3_reset(q);
}

/* The same, remembered as long as nobody has begun a commit: then a decision on a record in the
 * cache asks SQLite nothing.  Inside the gate, in no transaction; who reads outside sees what its
 * snapshot says. */
static int row_recall(struct sqlite_store *s, uint64_t session, struct session_row *ret)
{
    uint64_t commits = gate_page(s->gate)->commits;
    if (s->rows_as_of != commits || s->session_rows == SESSION_ROWS)
        s->session_rows = 0;
    s->rows_as_of = commits;
    for (size_t i = 0; i < s->session_rows; i++) {
        if (s->session_row[i].session == session) {
            *ret = s->session_row[i];
            return SQLITE_OK;
        }
    }
    int rc = sqlite_session_row(s, session, ret);
    if (rc == SQLITE_OK)
        s->session_row[s->session_rows++] = *ret;
    return rc;
}

int sqlite_session_insert(struct sqlite_store *s, const struct session_row *row)
{
    sqlite3_stmt *q;
    int rc = sqlite_statement(s, ST_SESSION_INSERT, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, (sqlite3_int64)row->session);
    sq.sqlite3_bind_int64(q, 2, row->ttl.ms);
    sq.sqlite3_bind_int64(q, 3, row->expires.ms);
    sq.sqlite3_bind_int64(q, 4, row->notices);
    return sqlite_run(s, ST_SESSION_INSERT);
}

static int row_delete(struct sqlite_store *s, uint64_t session)
{
    sqlite3_stmt *q;
    int rc = sqlite_statement(s, ST_SESSION_DELETE, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, (sqlite3_int64)session);
    return sqlite_run(s, ST_SESSION_DELETE);
}

/* ---- who is alive --------------------------------------------------------------------------- */

static void gone_add(struct sqlite_store *s, uint64_t session)
{
    for (size_t i = 0; i < s->gone_count; i++) {
        if (s->gone[i] == session)
            return;
    }
    if (s->gone_count < GONE_MAX)
        s->gone[s->gone_count++] = session;
}

static bool find_copy(const struct sqlite_young *young, uint64_t session, struct session_row *ret)
{
    for (size_t i = 0; i < young->count; i++) {
        if (young->row[i].session == session) {
            *ret = young->row[i];
            return true;
        }
    }
    return false;
}

/* What the page says of a session, or else its row.  *ret as it was: nothing is known. */
static int find(struct sqlite_oracle *o, uint64_t session, struct session_row *ret)
{
    if (o->young ? find_copy(o->young, session, ret) : sqlite_young_find(o->s, session, ret))
        return SQLITE_OK;
    if (!o->s->db && o->code == 0) /* who looks from outside has it open */
        o->code = sqlite_need(o->s, o->err);
    if (o->code < 0)
        return SQLITE_OK; /* the decision does not count */
    bool cached = !o->young && sq.sqlite3_get_autocommit(o->s->db) != 0;
    return (cached ? row_recall : sqlite_session_row)(o->s, session, ret);
}

enum liveness sqlite_liveness(void *oracle, uint64_t session, struct instant *ret_until)
{
    struct sqlite_oracle *o = oracle;
    struct session_row row = {0};
    int rc = find(o, session, &row);
    if (rc != SQLITE_OK && o->rc == SQLITE_OK)
        o->rc = rc;
    if (!row.found) {
        *ret_until = o->now;
        return LIVE_GONE;
    }
    *ret_until = row.expires;
    if (instant_reached(o->now, row.expires))
        return LIVE_EXPIRED;
    if (lifelines_ask(o->s->lives, session) != LIFELINE_ENDED)
        return LIVE;
    gone_add(o->s, session);
    return LIVE_GONE;
}

struct count {
    struct sqlite_store *s;
    size_t alive;
    int rc;
};

static void count_rowless(void *arg, uint64_t session)
{
    struct count *c = arg;
    struct session_row row;
    int rc = sqlite_session_row(c->s, session, &row);
    if (rc != SQLITE_OK)
        c->rc = rc;
    else if (!row.found && lifelines_ask(c->s->lives, session) != LIFELINE_ENDED)
        c->alive++;
}

static int count_rows(struct count *c)
{
    sqlite3_stmt *q;
    int rc = sqlite_statement(c->s, ST_SESSION_LIST, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, sqlite_now(c->s).ms);
    while (sq.sqlite3_step(q) == SQLITE_ROW)
        c->alive += lifelines_ask(c->s->lives, (uint64_t)sq.sqlite3_column_int64(q, 0)) !=
                    LIFELINE_ENDED;
    return sq.sqlite3_reset(q);
}

int sqlite_sessions_alive(struct sqlite_store *s, size_t *ret, tenure_error *err)
{
    struct count c = {.s = s};
    int e = 0, rc = count_rows(&c);
    if (rc == SQLITE_OK) {
        e = lifelines_list(s->lives, count_rowless, &c);
        rc = c.rc;
    }
    *ret = c.alive;
    if (e != 0) /* who cannot be seen may be alive */
        return fail_errno(err, e, "%s-live cannot be listed", s->path);
    return rc == SQLITE_OK ? 0 : sqlite_fail(s, rc, "read", err);
}

int sqlite_forget_gone(struct sqlite_store *s, struct sqlite_txn *t)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; i < s->gone_count && rc == SQLITE_OK; i++)
        rc = row_delete(s, s->gone[i]);
    t->forgets = true;
    return rc;
}

bool sqlite_forget_young(struct sqlite_store *s)
{
    struct session_row row;
    if (s->gone_count > 0 && !sqlite_young_are_alone(s))
        return false;
    for (size_t i = 0; i < s->gone_count; i++) {
        if (!sqlite_young_find(s, s->gone[i], &row))
            return false;
    }
    sqlite_gone_left(s);
    return true;
}

void sqlite_gone_left(struct sqlite_store *s)
{
    for (size_t i = 0; i < s->gone_count; i++)
        sqlite_young_end(s, s->gone[i]);
}

void sqlite_bury_gone(struct sqlite_store *s)
{
    for (size_t i = 0; i < s->gone_count; i++)
        lifelines_bury(s->lives, s->gone[i]);
    s->gone_count = 0;
}

/* ---- opening -------------------------------------------------------------------------------- */

static void purge_one(void *arg, uint64_t session)
{
    struct sqlite_store *s = arg;
    if (lifelines_ask(s->lives, session) == LIFELINE_ENDED)
        gone_add(s, session);
}

static bool is_time_to_purge(uint64_t id)
{
    return id % PURGE_EVERY == 0;
}

/* Forgets who died without anybody's asking for it. */
static int purge(struct sqlite_store *s, struct sqlite_txn *t)
{
    s->gone_count = 0;
    int e = lifelines_list(s->lives, purge_one, s);
    if (e != 0)
        return SQLITE_OK; /* the next one will do it */
    int rc = sqlite_forget_gone(s, t);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_stmt *q;
    rc = sqlite_statement(s, ST_SESSION_PURGE, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, ms_add(t->now.ms, -PURGE_AFTER_MS));
    return sqlite_run(s, ST_SESSION_PURGE);
}

/* Among the rows, since it is time to purge or the page is full: then it is emptied, too, before
 * anybody is forgotten, who would have a row again, and no FIFO. */
static int insert(struct sqlite_store *s, struct sqlite_txn *t, uint64_t id, struct span ttl)
{
    const struct session_row row = {
        .session = id, .ttl = ttl, .expires = instant_add(t->now, ttl)};
    s->gone_count = 0;
    int rc = sqlite_young_has_room(s) ? SQLITE_OK : sqlite_young_move_all(s, t);
    if (rc == SQLITE_OK && is_time_to_purge(id))
        rc = purge(s, t);
    return rc == SQLITE_OK ? sqlite_session_insert(s, &row) : rc;
}

/* Ends a transaction whose last statement gave rc: it is committed, or `op` has failed. */
static bool finish(struct sqlite_store *s, struct sqlite_txn *t, int rc, const char *doing,
                   struct store_op *op)
{
    if (rc != SQLITE_OK) {
        sqlite_fail(s, rc, doing, &op->error);
        sqlite_cancel(s);
    } else if (sqlite_commit(s, t, &op->error) == 0) {
        return true;
    }
    sqlite_op_failed(op);
    return false;
}

/* Lets go of the session that the handle had, if any; it has no say in what becomes of its row. */
static void let_go(struct sqlite_store *s)
{
    sqlite_hints_leave(s);
    lifelines_drop(s->lives);
    s->session = 0;
}

/* The FIFO, which is there before the session is, so that none is ever without one.  And before it
 * is seen that the gate is in its place: who makes another one looks for FIFOs. */
static int hold(struct sqlite_store *s, uint64_t id, tenure_error *err)
{
    let_go(s);
    int code = lifelines_hold(s->lives, id, err);
    if (code == 0)
        code = sqlite_hints_join(s, err);
    if (code == 0)
        code = sqlite_check_place(s, err);
    if (code == 0)
        return 0;
    let_go(s);
    lifelines_bury(s->lives, id);
    return code;
}

/* A row.  Inside the gate. */
static int open_row(struct sqlite_store *s, struct store_session_open *op, uint64_t *ret)
{
    struct sqlite_txn t;
    tenure_error *err = &op->op.error;
    int code = sqlite_begin(s, &t, err);
    if (code < 0)
        return code;
    uint64_t id = *ret = t.floor + 1;
    t.floor = id;
    t.floor_moved = true;
    int rc = insert(s, &t, id, op->ttl);
    code = rc == SQLITE_OK ? hold(s, id, err) : sqlite_fail(s, rc, "open a session", err);
    if (code < 0) {
        sqlite_rollback(s);
        return code;
    }
    POINT("fifo-row");
    code = sqlite_end(s, &t, err);
    if (code < 0)
        let_go(s); /* its FIFO stays: if the row is there after all, it says that we ended */
    return code;
}

/* A place among the young ones.  Says whether that is all there is to do; else nothing has
 * happened.  Inside the gate. */
static bool open_young(struct sqlite_store *s, struct store_session_open *op, uint64_t *ret,
                       int *ret_code)
{
    struct gate_page *p = gate_page(s->gate);
    const struct sqlite_txn t = {.floor = p->token, .ceiling = p->ceiling};
    uint64_t id = *ret = t.floor + 1;
    if (s->read_only || !sqlite_has_tokens(&t) || is_time_to_purge(id) ||
        !sqlite_young_are_alone(s) || !sqlite_young_has_room(s))
        return false;
    s->gone_count = 0;
    p->token = id;
    *ret_code = hold(s, id, &op->op.error);
    if (*ret_code == 0)
        sqlite_young_add(s, id, op->ttl, instant_add(sqlite_now(s), op->ttl));
    return true;
}

static void open_once(struct sqlite_store *s, struct store_session_open *op)
{
    uint64_t id = 0;
    int code = sqlite_enter(s, &op->op.error);
    if (code == 0) {
        if (!open_young(s, op, &id, &code))
            code = open_row(s, op, &id);
        sqlite_leave(s, false);
    }
    if (code < 0) {
        sqlite_op_failed(&op->op);
        return;
    }
    sqlite_bury_gone(s);
    s->session = op->session = id;
    s->notices = 0;
    store_op_finish(&op->op, 0);
}

void sqlite_session_open(struct store *store, struct store_session_open *op)
{
    struct sqlite_store *s = sqlite_of(store);
    open_once(s, op);
    if (sqlite_try_again(s, &op->op))
        open_once(s, op);
}

/* ---- renewing ------------------------------------------------------------------------------- */

/* Why the session is dead, or NULL. */
static const char *death(struct sqlite_store *s, uint64_t session,
                         const struct session_row *row, struct instant now)
{
    if (!row->found)
        return "it was closed, or its process was found ended";
    if (instant_reached(now, row->expires))
        return "it had expired";
    if (session == s->session && !lifelines_own_intact(s->lives))
        return "its lifeline was removed";
    return NULL;
}

/* Ends the session for good: its row goes, so that nobody ever finds it alive again. */
static void renew_refuse(struct sqlite_store *s, struct sqlite_txn *t,
                         struct store_session_renew *op, const struct session_row *row,
                         const char *why)
{
    /* An expired one stays for its cause.  A lifeline that was removed ends the row with it: then
     * the refusal counts only when that was committed. */
    if (row->found && !instant_reached(t->now, row->expires)) {
        t->notify = true;
        t->ends = op->session;
        if (!finish(s, t, row_delete(s, op->session), "end a session", &op->op))
            return;
    } else {
        sqlite_cancel(s);
    }
    store_op_fail(&op->op, TENURE_LOST, "session %llu is dead: %s",
                  (unsigned long long)op->session, why);
}

static int extend(struct sqlite_store *s, struct sqlite_txn *t, struct session_row *row)
{
    sqlite3_stmt *q;
    row->expires = instant_add(t->now, row->ttl);
    if (row->young)
        return sqlite_young_move(s, t, row);
    int rc = sqlite_statement(s, ST_SESSION_RENEW, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, (sqlite3_int64)row->session);
    sq.sqlite3_bind_int64(q, 2, row->expires.ms);
    return sqlite_run(s, ST_SESSION_RENEW);
}

static void renewed(struct sqlite_store *s, struct store_session_renew *op,
                    const struct session_row *row)
{
    op->noticed = row->notices != s->notices; /* counted, not cleared: a lost answer loses none */
    s->notices = row->notices;
    store_op_finish(&op->op, 0);
}

/* `ret_along`: with it went records that had rested, so a failure may be theirs. */
static void renew_once(struct sqlite_store *s, struct store_session_renew *op, bool *ret_along)
{
    struct sqlite_txn t;
    struct session_row row;
    if (sqlite_write_begin(s, &t, &op->op.error) < 0) {
        sqlite_op_failed(&op->op);
        return;
    }
    int rc = sqlite_young_find(s, op->session, &row) ? SQLITE_OK
                                                     : sqlite_session_row(s, op->session, &row);
    const char *why = rc == SQLITE_OK ? death(s, op->session, &row, t.now) : NULL;
    if (why) {
        renew_refuse(s, &t, op, &row, why);
        return;
    }
    if (rc == SQLITE_OK)
        rc = extend(s, &t, &row);
    if (rc == SQLITE_OK && ret_along)
        rc = sqlite_cache_write_rested(s, &t);
    if (ret_along)
        *ret_along = t.lines.count > 0;
    if (!finish(s, &t, rc, "renew a session", &op->op))
        return;
    renewed(s, op, &row);
}

/* Where it is, if it is young, since there is no room for its row: a full disk takes nobody's
 * tenure. */
static void renew_young(struct sqlite_store *s, struct store_session_renew *op)
{
    struct session_row row;
    tenure_error ignored;
    if (sqlite_enter(s, &ignored) < 0)
        return;
    struct instant now = sqlite_now(s);
    bool can = !s->read_only && sqlite_young_find(s, op->session, &row) &&
               death(s, op->session, &row, now) == NULL;
    if (can)
        sqlite_young_extend(s, op->session, instant_add(now, row.ttl));
    sqlite_leave(s, false);
    if (can)
        renewed(s, op, &row);
}

void sqlite_session_renew(struct store *store, struct store_session_renew *op)
{
    struct sqlite_store *s = sqlite_of(store);
    bool along = false;
    renew_once(s, op, &along);
    if (along && op->op.code < 0) { /* a session does not depend on room for records */
        op->op.done = false;
        op->op.code = 0;
        renew_once(s, op, NULL);
    }
    if (sqlite_try_again(s, &op->op))
        renew_once(s, op, NULL);
    if (op->op.code == TENURE_NO_SPACE)
        renew_young(s, op);
}

/* ---- closing -------------------------------------------------------------------------------- */

/* Its place among the young ones.  Says whether it had one, and no row.  Inside the gate. */
static bool close_young(struct sqlite_store *s, uint64_t session)
{
    struct session_row row;
    if (!sqlite_young_are_alone(s) || !sqlite_young_find(s, session, &row))
        return false;
    sqlite_young_end(s, session);
    return true;
}

static int close_row(struct sqlite_store *s, uint64_t session, tenure_error *err)
{
    struct sqlite_txn t;
    int code = sqlite_begin(s, &t, err);
    if (code < 0)
        return code;
    t.ends = session;
    int rc = row_delete(s, session);
    if (rc == SQLITE_OK)
        return sqlite_end(s, &t, err);
    code = sqlite_fail(s, rc, "close a session", err);
    sqlite_rollback(s);
    return code;
}

static void close_once(struct sqlite_store *s, struct store_session_close *op)
{
    int code = sqlite_enter(s, &op->op.error);
    if (code == 0) {
        if (!close_young(s, op->session))
            code = close_row(s, op->session, &op->op.error);
        sqlite_leave(s, code == 0);
    }
    if (code < 0) {
        sqlite_op_failed(&op->op);
        return;
    }
    if (op->session == s->session)
        let_go(s); /* after the commit: those who watch us then find us closed, not died */
    lifelines_bury(s->lives, op->session);
    store_op_finish(&op->op, 0);
}

void sqlite_session_close(struct store *store, struct store_session_close *op)
{
    struct sqlite_store *s = sqlite_of(store);
    close_once(s, op);
    if (sqlite_try_again(s, &op->op))
        close_once(s, op);
}

int sqlite_lifeline(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);
    int fd = lifelines_own_fd(s->lives);
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}
