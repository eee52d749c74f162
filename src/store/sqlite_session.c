/* store/sqlite_session.c - sessions: rows, FIFOs, and who is alive.
 *
 * A session is alive while its row is there, has not expired, and its lifeline does not say that
 * its process has ended.  Each of the three is final: a deleted row never comes back (ids are
 * drawn from the tokens' sequence), an expired one is never renewed, and an ended process never
 * reopens its FIFO. */
#include "store/sqlite_engine.h"

#include <fcntl.h>
#include <string.h>

#include "os/point.h"

/* For so long the row of an expired session is kept, so that each of its claims ends with the
 * right cause; after that its claims say that it died. */
#define PURGE_AFTER_MS (24 * 3600 * 1000LL)
#define PURGE_EVERY 61 /* sessions; a prime: ids skip the numbers that tokens take */

static int row_read(struct sqlite_store *s, uint64_t session, struct session_row *ret)
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
 * cache asks SQLite nothing.  Inside the gate; who reads outside sees what its snapshot says. */
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
    int rc = row_read(s, session, ret);
    if (rc == SQLITE_OK)
        s->session_row[s->session_rows++] = *ret;
    return rc;
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

enum liveness sqlite_liveness(void *oracle, uint64_t session, struct instant *ret_until)
{
    struct sqlite_oracle *o = oracle;
    struct session_row row;
    int rc = (o->cached ? row_recall : row_read)(o->s, session, &row);
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

int sqlite_sessions_alive(struct sqlite_store *s, size_t *ret)
{
    sqlite3_stmt *q;
    *ret = 0;
    int rc = sqlite_statement(s, ST_SESSION_LIST, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, sqlite_now(s).ms);
    while (sq.sqlite3_step(q) == SQLITE_ROW)
        *ret += lifelines_ask(s->lives, (uint64_t)sq.sqlite3_column_int64(q, 0)) != LIFELINE_ENDED;
    return sq.sqlite3_reset(q);
}

int sqlite_forget_gone(struct sqlite_store *s)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; i < s->gone_count && rc == SQLITE_OK; i++)
        rc = row_delete(s, s->gone[i]);
    return rc;
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

/* Forgets who died without anybody's asking for it. */
static int purge(struct sqlite_store *s, struct instant now)
{
    s->gone_count = 0;
    int e = lifelines_list(s->lives, purge_one, s);
    if (e != 0)
        return SQLITE_OK; /* the next one will do it */
    int rc = sqlite_forget_gone(s);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_stmt *q;
    rc = sqlite_statement(s, ST_SESSION_PURGE, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, ms_add(now.ms, -PURGE_AFTER_MS));
    return sqlite_run(s, ST_SESSION_PURGE);
}

static int insert(struct sqlite_store *s, uint64_t id, struct span ttl, struct instant now)
{
    sqlite3_stmt *q;
    s->gone_count = 0;
    int rc = id % PURGE_EVERY == 0 ? purge(s, now) : SQLITE_OK;
    if (rc == SQLITE_OK)
        rc = sqlite_statement(s, ST_SESSION_INSERT, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, (sqlite3_int64)id);
    sq.sqlite3_bind_int64(q, 2, ttl.ms);
    sq.sqlite3_bind_int64(q, 3, instant_add(now, ttl).ms);
    return sqlite_run(s, ST_SESSION_INSERT);
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

/* The row and the FIFO.  The FIFO is there before the row is committed, so a session is never
 * without one. */
static int open_inside(struct sqlite_store *s, const struct sqlite_txn *t, uint64_t id,
                       struct span ttl, tenure_error *err)
{
    let_go(s);
    int rc = insert(s, id, ttl, t->now);
    if (rc != SQLITE_OK)
        return sqlite_fail(s, rc, "open a session", err);
    int code = lifelines_hold(s->lives, id, err);
    return code < 0 ? code : sqlite_hints_join(s, err);
}

static void open_once(struct sqlite_store *s, struct store_session_open *op)
{
    struct sqlite_txn t;
    tenure_error *err = &op->op.error;
    if (sqlite_write_begin(s, &t, err) < 0) {
        sqlite_op_failed(&op->op);
        return;
    }
    uint64_t id = t.floor + 1;
    t.floor = id;
    t.floor_moved = true;
    if (open_inside(s, &t, id, op->ttl, err) < 0) {
        let_go(s);
        lifelines_bury(s->lives, id);
        sqlite_cancel(s);
        sqlite_op_failed(&op->op);
        return;
    }
    POINT("fifo-row");
    if (sqlite_commit(s, &t, err) < 0) {
        let_go(s); /* its FIFO stays: if the row is there after all, it says that we ended */
        sqlite_op_failed(&op->op);
        return;
    }
    sqlite_bury_gone(s);
    s->session = id;
    s->notices = 0;
    op->session = id;
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
    /* An expired row stays for its cause.  A lifeline that was removed ends the row with it: then
     * the refusal counts only when that was committed. */
    if (row->found && !instant_reached(t->now, row->expires)) {
        t->notify = true;
        if (!finish(s, t, row_delete(s, op->session), "end a session", &op->op))
            return;
    } else {
        sqlite_cancel(s);
    }
    store_op_fail(&op->op, TENURE_LOST, "session %llu is dead: %s",
                  (unsigned long long)op->session, why);
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
    int rc = row_read(s, op->session, &row);
    const char *why = rc == SQLITE_OK ? death(s, op->session, &row, t.now) : NULL;
    if (why) {
        renew_refuse(s, &t, op, &row, why);
        return;
    }
    sqlite3_stmt *q;
    if (rc == SQLITE_OK)
        rc = sqlite_statement(s, ST_SESSION_RENEW, &q);
    if (rc == SQLITE_OK) {
        sq.sqlite3_bind_int64(q, 1, (sqlite3_int64)op->session);
        sq.sqlite3_bind_int64(q, 2, instant_add(t.now, row.ttl).ms);
        rc = sqlite_run(s, ST_SESSION_RENEW);
    }
    if (rc == SQLITE_OK && ret_along)
        rc = sqlite_cache_write_rested(s, &t);
    if (ret_along)
        *ret_along = t.lines.count > 0;
    if (!finish(s, &t, rc, "renew a session", &op->op))
        return;
    op->noticed = row.notices != s->notices; /* counted, not cleared: a lost answer loses none */
    s->notices = row.notices;
    store_op_finish(&op->op, 0);
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
}

/* ---- closing -------------------------------------------------------------------------------- */

static void close_once(struct sqlite_store *s, struct store_session_close *op)
{
    struct sqlite_txn t;
    if (sqlite_write_begin(s, &t, &op->op.error) < 0) {
        sqlite_op_failed(&op->op);
        return;
    }
    t.notify = true;
    if (!finish(s, &t, row_delete(s, op->session), "close a session", &op->op))
        return;
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
