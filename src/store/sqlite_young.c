/* store/sqlite_young.c - young sessions: those that were opened lately, and have no row yet.
 *
 * Most commands are over before their session is renewed for the first time, so until then it is
 * in the gate's page: to open it and to close it is no transaction, and a command that finds its
 * record in the cache, too, needs no SQLite at all.  The first renewal makes a row of it; so does
 * who wants to open one when the page is full.
 *
 * What is said there goes before the row.  A row is committed before the place in the page is free,
 * so who reads both, from outside of the gate, copies the page first (sqlite_read_begin()).  If
 * somebody dies in between, `moving` says that there may be sessions that have both; then nobody
 * ends one without a transaction, and the next transaction finds out which they are. */
#include "store/sqlite_engine.h"

#include "os/point.h"

static int place_of(const struct gate_page *p, uint64_t session)
{
    for (int i = 0; i < GATE_YOUNG; i++) {
        if (atomic_load_explicit(&p->young[i], memory_order_acquire) == session)
            return i;
    }
    return -1;
}

static void set_free(struct gate_page *p, int i)
{
    atomic_store(&p->young[i], 0);
}

/* Of place i, whose session it was when it was asked for. */
static struct session_row row_at(const struct gate_page *p, int i, uint64_t session)
{
    const struct gate_session *of = &p->of_young[i];
    return (struct session_row){
        .session = session,
        .found = true,
        .young = true,
        .expires = INSTANT(atomic_load_explicit(&of->expires, memory_order_relaxed)),
        .ttl = SPAN(atomic_load_explicit(&of->ttl, memory_order_relaxed)),
        .notices = atomic_load_explicit(&of->notices, memory_order_relaxed)};
}

bool sqlite_young_find(const struct sqlite_store *s, uint64_t session, struct session_row *ret)
{
    const struct gate_page *p = gate_page(s->gate);
    int i = session != 0 ? place_of(p, session) : -1;
    if (i < 0)
        return false;
    *ret = row_at(p, i, session);
    return true;
}

void sqlite_young_copy(const struct sqlite_store *s, struct sqlite_young *to)
{
    const struct gate_page *p = gate_page(s->gate);
    for (int i = 0; i < GATE_YOUNG; i++) {
        uint64_t session = atomic_load_explicit(&p->young[i], memory_order_acquire);
        if (session == 0)
            continue;
        to->row[to->count] = row_at(p, i, session);
        if (atomic_load(&p->young[i]) == session) /* else it has left, maybe for another one */
            to->count++;
    }
}

bool sqlite_young_add(struct sqlite_store *s, uint64_t session, struct span ttl,
                      struct instant expires)
{
    struct gate_page *p = gate_page(s->gate);
    int i = place_of(p, 0);
    if (i < 0)
        return false;
    struct gate_session *of = &p->of_young[i];
    atomic_store_explicit(&of->expires, expires.ms, memory_order_relaxed);
    atomic_store_explicit(&of->ttl, ttl.ms, memory_order_relaxed);
    atomic_store_explicit(&of->notices, 0, memory_order_relaxed);
    POINT("fifo-row");
    atomic_store(&p->young[i], session);
    return true;
}

bool sqlite_young_has_room(const struct sqlite_store *s)
{
    return place_of(gate_page(s->gate), 0) >= 0;
}

void sqlite_young_extend(struct sqlite_store *s, uint64_t session, struct instant expires)
{
    struct gate_page *p = gate_page(s->gate);
    int i = place_of(p, session);
    if (i >= 0)
        atomic_store_explicit(&p->of_young[i].expires, expires.ms, memory_order_relaxed);
}

bool sqlite_young_notice(struct sqlite_store *s, uint64_t session)
{
    struct gate_page *p = gate_page(s->gate);
    int i = place_of(p, session);
    if (i >= 0)
        atomic_fetch_add(&p->of_young[i].notices, 1);
    return i >= 0;
}

bool sqlite_young_are_alone(const struct sqlite_store *s)
{
    return gate_page(s->gate)->moving == 0;
}

void sqlite_young_end(struct sqlite_store *s, uint64_t session)
{
    struct gate_page *p = gate_page(s->gate);
    int i = session != 0 ? place_of(p, session) : -1;
    if (i >= 0)
        set_free(p, i);
}

void sqlite_young_clear(struct sqlite_store *s)
{
    struct gate_page *p = gate_page(s->gate);
    for (int i = 0; i < GATE_YOUNG; i++)
        set_free(p, i);
    p->moving = 0;
}

/* ---- rows for them -------------------------------------------------------------------------- */

int sqlite_young_move(struct sqlite_store *s, struct sqlite_txn *t, const struct session_row *row)
{
    gate_page(s->gate)->moving = 1; /* before there can be both */
    t->moves = row->session;
    return sqlite_session_insert(s, row);
}

int sqlite_young_move_all(struct sqlite_store *s, struct sqlite_txn *t)
{
    struct sqlite_young all;
    int rc = SQLITE_OK;
    all.count = 0;
    sqlite_young_copy(s, &all);
    for (size_t i = 0; i < all.count && rc == SQLITE_OK; i++)
        rc = sqlite_young_move(s, t, &all.row[i]);
    if (rc == SQLITE_OK)
        t->moves = SQLITE_MOVES_ALL;
    return rc;
}

void sqlite_young_moved(struct sqlite_store *s, const struct sqlite_txn *t)
{
    if (t->moves == SQLITE_MOVES_ALL)
        sqlite_young_clear(s);
    else
        sqlite_young_end(s, t->moves);
    gate_page(s->gate)->moving = 0;
}

int sqlite_young_settle(struct sqlite_store *s)
{
    struct sqlite_young all;
    struct session_row row;
    int rc = SQLITE_OK;
    if (sqlite_young_are_alone(s))
        return SQLITE_OK;
    all.count = 0;
    sqlite_young_copy(s, &all);
    for (size_t i = 0; i < all.count && rc == SQLITE_OK; i++) {
        rc = sqlite_session_row(s, all.row[i].session, &row);
        if (rc == SQLITE_OK && row.found)
            sqlite_young_end(s, row.session);
    }
    if (rc == SQLITE_OK)
        gate_page(s->gate)->moving = 0;
    return rc;
}
