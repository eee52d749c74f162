/* store/sqlite_txn.c - transactions, and what may go wrong with them. */
#include "store/sqlite_engine.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "os/point.h"
#include "store/sqlite_code.h"

/* Frames of the log after which it is copied back into the database: a longer log costs space,
 * a shorter one more fsyncs (three per round, whatever its length). */
#define CHECKPOINT_FRAMES 4000

/* When a checkpoint could not copy all of it, because somebody still reads an older state. */
#define CHECKPOINT_AGAIN_FRAMES 1000

/* Who leaves waits for so long for others who do, but not for one who is stopped. */
#define TIDY_PATIENCE_MS 100

/* What the last one who leaves cuts off; a log below it is read within a millisecond. */
#define LONG_FRAMES 250

/* How long the file is believed to be in its place.  One that was replaced is noticed at once by
 * who opens the new one (its tokens are behind the gate's), and by us so much later. */
#define PLACE_MS 20

/* Tokens and session ids that one transaction may draw at most: a full claim for each key. */
#define TOKENS_PER_TXN ((uint64_t)CLAIM_TICKETS_MAX * STORE_KEYS_MAX + 1)

/* ---- errors --------------------------------------------------------------------------------- */

int sqlite_fail(struct sqlite_store *s, int rc, const char *doing, tenure_error *err)
{
    int code = sqlite_code(s->db, rc);
    switch (code) {
    case TENURE_NO_SPACE:
        return fail(err, code, "%s: cannot %s: no space left on the disk", s->path, doing);
    case TENURE_BUSY:
        return fail(err, code, "%s: cannot %s: a program that does not use the gate keeps the "
                               "database locked", s->path, doing);
    case TENURE_INTERNAL:
        return fail(err, code, "%s: cannot %s: %s (%d)", s->path, doing, sq.sqlite3_errmsg(s->db),
                    rc);
    default: {
        int e = s->db ? sq.sqlite3_system_errno(s->db) : 0;
        return fail(err, code, "%s: cannot %s: %s%s%s", s->path, doing,
                    s->db ? sq.sqlite3_errmsg(s->db) : sq.sqlite3_errstr(rc), e ? ": " : "",
                    e ? strerror(e) : "");
    }
    }
}

int sqlite_run(struct sqlite_store *s, enum statement id)
{
    sqlite3_stmt *q;
    int rc = sqlite_statement(s, id, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_step(q);
    return sq.sqlite3_reset(q); /* the result of the step, with the more precise code */
}

struct instant sqlite_now(const struct sqlite_store *s)
{
    return INSTANT(ms_add(clock_now().ms, s->base));
}

/* ---- beginning ------------------------------------------------------------------------------ */

static int store_read_row(struct sqlite_store *s, struct sqlite_txn *t)
{
    sqlite3_stmt *q;
    int rc = sqlite_statement(s, ST_STORE, &q);
    if (rc != SQLITE_OK)
        return rc;
    rc = sq.sqlite3_step(q);
    if (rc == SQLITE_ROW) {
        t->floor = (uint64_t)sq.sqlite3_column_int64(q, 0);
        t->ceiling = (uint64_t)sq.sqlite3_column_int64(q, 1);
    }
    int end = sq.sqlite3_reset(q);
    if (end != SQLITE_OK)
        return end;
    return rc == SQLITE_ROW ? SQLITE_OK : SQLITE_CORRUPT;
}

static int need_outside(struct sqlite_store *s, tenure_error *err)
{
    int code = s->db ? 0 : sqlite_enter(s, err);
    if (code < 0 || s->db)
        return code;
    code = sqlite_need(s, err);
    sqlite_leave(s, false);
    return code;
}

int sqlite_read_begin(struct sqlite_store *s, struct sqlite_txn *t, struct sqlite_young *young,
                      tenure_error *err)
{
    *t = (struct sqlite_txn){0};
    int code = sqlite_check_place(s, err);
    if (code == 0)
        code = need_outside(s, err);
    if (code < 0)
        return code;
    sqlite_young_copy(s, young);
    int rc = sqlite_run(s, ST_READ);
    if (rc == SQLITE_OK)
        rc = store_read_row(s, t); /* which takes the snapshot */
    sqlite_young_copy(s, young);
    if (rc != SQLITE_OK) {
        sqlite_read_end(s);
        return sqlite_fail(s, rc, "read", err);
    }
    t->now = sqlite_now(s); /* after the lock: the answer is as of now, not of when we asked */
    uint64_t token = atomic_load(&gate_page(s->gate)->token);
    t->floor = t->floor > token ? t->floor : token;
    return 0;
}

void sqlite_read_end(struct sqlite_store *s)
{
    if (sq.sqlite3_get_autocommit(s->db) == 0)
        sqlite_run(s, ST_ROLLBACK); /* of a reader: cannot fail in a way that matters */
}

int sqlite_check_place(const struct sqlite_store *s, tenure_error *err)
{
    struct stat st;
    const struct gate_page *p = gate_page(s->gate);
    if (!gate_is_in_place(s->gate))
        return fail(err, TENURE_WENT_BACK, "%s-gate was removed while the store was open; open it "
                                           "anew", s->path);
    if (stat(s->path, &st) != 0)
        return errno == ENOENT
                   ? fail(err, TENURE_WENT_BACK, "%s was removed while it was open", s->path)
                   : fail_errno(err, errno, "%s", s->path);
    if (st.st_dev != s->dev || st.st_ino != s->ino)
        return fail(err, TENURE_WENT_BACK, "%s was replaced by another file while it was open",
                    s->path);
    if (strcmp(p->domain, s->domain) != 0)
        return fail(err, TENURE_UNSAFE_PLACE,
                    "%s was opened under another clock: by another machine, or in another time "
                    "namespace", s->path);
    return 0;
}

/* The same, asked now and then, but for what is in memory.  Inside the gate. */
static int check_place(struct sqlite_store *s, tenure_error *err)
{
    struct instant now = clock_now();
    if (memcmp(gate_page(s->gate)->store_id, s->id, sizeof s->id) != 0)
        return fail(err, TENURE_WENT_BACK, "%s-gate was written over while the store was open; "
                                           "open it anew", s->path);
    if (instant_diff(s->placed, now).ms < PLACE_MS)
        return 0;
    int code = sqlite_check_place(s, err);
    if (code < 0)
        return code;
    s->read_only = !gate_is_writable(s->gate);
    s->placed = now; /* only when it is so: a refusal must not let the next one through */
    return 0;
}

/* The database is not older than the gate remembers.  One that is newer is fine when somebody died
 * before he told the gate, but not when he told another one, and ours is gone. */
static int check_age(struct sqlite_store *s, const struct sqlite_txn *t, tenure_error *err)
{
    const struct gate_page *p = gate_page(s->gate);
    if (p->token > t->ceiling && p->ceiling <= t->ceiling)
        return fail(err, TENURE_CORRUPT,
                    "%s-gate is damaged: its last token is %llu, above the reserve %llu; stop what "
                    "uses it, then `tenure store check --raise-to %llu`", s->path,
                    (unsigned long long)p->token, (unsigned long long)t->ceiling,
                    (unsigned long long)t->ceiling);
    if (t->floor >= p->floor && t->ceiling >= p->ceiling)
        return t->ceiling == p->ceiling ? 0 : sqlite_check_place(s, err);
    bool floor = t->floor < p->floor;
    return fail(err, TENURE_WENT_BACK,
                "%s went back in time: its %s is %llu and was %llu; stop what uses it, then "
                "`tenure store check --raise-to %llu`", s->path,
                floor ? "last token" : "reserve of tokens",
                (unsigned long long)(floor ? t->floor : t->ceiling),
                (unsigned long long)(floor ? p->floor : p->ceiling),
                (unsigned long long)(p->ceiling > p->floor ? p->ceiling : p->floor));
}

static int begin(struct sqlite_store *s, struct sqlite_txn *t, tenure_error *err)
{
    struct gate_page *p = gate_page(s->gate);
    *t = (struct sqlite_txn){0};
    int code = sqlite_need(s, err);
    if (code < 0)
        return code;
    s->was_sealed = p->sealed == p->commits;
    p->commits++; /* before, so that who dies leaves nobody with rows that are not so any more */
    int rc = sqlite_run(s, ST_WRITE);
    if (rc == SQLITE_OK)
        rc = store_read_row(s, t);
    if (rc == SQLITE_OK)
        rc = sqlite_young_settle(s);
    if (rc != SQLITE_OK)
        return sqlite_fail(s, rc, "write", err);
    code = check_age(s, t, err);
    t->floor_moved = t->floor < p->token; /* by decisions that needed no transaction */
    if (t->floor_moved)
        t->floor = p->token;
    return code;
}

bool sqlite_has_tokens(const struct sqlite_txn *t)
{
    return t->ceiling >= t->floor && t->ceiling - t->floor >= TOKENS_PER_TXN;
}

int sqlite_begin(struct sqlite_store *s, struct sqlite_txn *t, tenure_error *err)
{
    int code = begin(s, t, err);
    if (code == 0 && !sqlite_has_tokens(t)) {
        uint64_t floor = t->floor;
        sqlite_run(s, ST_ROLLBACK);
        code = sqlite_reserve(s, floor, t->ceiling + SQLITE_TOKEN_BLOCK, err);
        if (code == 0)
            code = begin(s, t, err);
    }
    if (code < 0) {
        sqlite_rollback(s);
        return code;
    }
    t->now = sqlite_now(s); /* inside: nobody commits with an earlier instant after us */
    return 0;
}

/* A seal that was there is one of what is there now. */
void sqlite_rollback(struct sqlite_store *s)
{
    struct gate_page *p = gate_page(s->gate);
    if (s->db && sq.sqlite3_get_autocommit(s->db) == 0)
        sqlite_run(s, ST_ROLLBACK); /* or it already was; then there is nothing to roll back */
    if (s->was_sealed)
        p->sealed = p->commits;
    s->was_sealed = false;
}

/* ---- inside the gate ------------------------------------------------------------------------ */

int sqlite_enter(struct sqlite_store *s, tenure_error *err)
{
    int code = gate_enter(s->gate, s->patience, err);
    if (code < 0)
        return code;
    POINT("gate");
    code = check_place(s, err);
    if (code < 0)
        gate_leave(s->gate);
    return code;
}

void sqlite_leave(struct sqlite_store *s, bool changed)
{
    if (changed)
        sqlite_hints_count(s);
    gate_leave(s->gate);
    if (changed)
        gate_poke(s->gate);
}

int sqlite_write_begin(struct sqlite_store *s, struct sqlite_txn *t, tenure_error *err)
{
    int code = sqlite_enter(s, err);
    if (code < 0)
        return code;
    code = sqlite_begin(s, t, err);
    if (code < 0)
        gate_leave(s->gate);
    return code;
}

int sqlite_commit(struct sqlite_store *s, struct sqlite_txn *t, tenure_error *err)
{
    int code = sqlite_end(s, t, err);
    sqlite_leave(s, code == 0 && t->notify);
    return code;
}

void sqlite_cancel(struct sqlite_store *s)
{
    sqlite_rollback(s);
    gate_leave(s->gate);
}

/* ---- ending --------------------------------------------------------------------------------- */

static int floor_write(struct sqlite_store *s, const struct sqlite_txn *t)
{
    sqlite3_stmt *q;
    int rc = sqlite_statement(s, ST_STORE_FLOOR, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, (sqlite3_int64)t->floor);
    sq.sqlite3_bind_int64(q, 2, t->now.ms);
    return sqlite_run(s, ST_STORE_FLOOR);
}

bool sqlite_copy_back(struct sqlite_store *s)
{
    int length = 0, copied = 0;
    int rc = sq.sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &length, &copied);
    return rc == SQLITE_OK && length > 0 && copied == length;
}

/* Does so when the log has grown by enough since the last time.  Inside the gate: never two
 * at once, never beside a commit.  A failure costs nothing but space, and the next one retries. */
static void checkpoint(struct sqlite_store *s)
{
    struct gate_page *p = gate_page(s->gate);
    uint64_t frames = (uint64_t)s->log_frames;
    if (frames < p->checkpoint_frames)
        p->checkpoint_frames = 0; /* the log was begun anew */
    if (frames - p->checkpoint_frames < CHECKPOINT_FRAMES)
        return;
    bool all = sqlite_copy_back(s);
    p->checkpoint_frames = all ? frames : frames - CHECKPOINT_FRAMES + CHECKPOINT_AGAIN_FRAMES;
}

/* The last one who leaves leaves no long log behind: who comes next, alone again, reads all of it
 * to make its index anew, which is what `tenure lock` would start with.  Somebody else's program
 * that reads is not waited for. */
static void shorten(struct sqlite_store *s)
{
    if (s->log_frames >= LONG_FRAMES && sq.sqlite3_busy_handler(s->db, NULL, NULL) == SQLITE_OK &&
        sq.sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) ==
            SQLITE_OK)
        gate_page(s->gate)->checkpoint_frames = 0;
}

void sqlite_tidy(struct sqlite_store *s)
{
    tenure_error ignored; /* what is not written back stays in its line */
    struct sqlite_look look;
    if (gate_enter(s->gate, SPAN(TIDY_PATIENCE_MS), &ignored) < 0)
        return;
    if (gate_is_alone(s->gate) && check_place(s, &ignored) == 0) {
        sqlite_cache_write_all(s, &ignored);
        sqlite_look(s, &look);
        bool whole = sqlite_seal_is_whole(s, &look);
        shorten(s);
        sqlite_look(s, &look);
        if (whole) /* and it is older now */
            sqlite_seal(s, &look);
    }
    gate_depart(s->gate);
}

/* A full disk takes nobody's tenure as long as the log has room of its own. */
static bool make_room(struct sqlite_store *s)
{
    tenure_error ignored;
    if (!s->db || gate_enter(s->gate, s->patience, &ignored) < 0)
        return false;
    bool all = sqlite_copy_back(s);
    gate_leave(s->gate);
    return all;
}

bool sqlite_try_again(struct sqlite_store *s, struct store_op *op)
{
    if (op->code != TENURE_NO_SPACE || !make_room(s))
        return false;
    op->done = false;
    op->code = 0;
    return true;
}

/* A COMMIT that failed: whether it happened after all.  A full disk or a foreign lock stop it
 * before its last frame is whole; after an I/O error, also one while the log's index grows, the
 * frames may all be there, and nobody knows what the next recovery will find. */
static int commit_failed(struct sqlite_store *s, int rc, tenure_error *err)
{
    int code = sqlite_fail(s, rc, "commit", err);
    if ((rc & 0xff) != SQLITE_IOERR || !err)
        return code;
    char text[sizeof err->text];
    memcpy(text, err->text, sizeof text);
    return fail(err, TENURE_UNSURE, "%.200s; the outcome is unknown", text);
}

int sqlite_end(struct sqlite_store *s, struct sqlite_txn *t, tenure_error *err)
{
    struct gate_page *p = gate_page(s->gate);
    struct sqlite_look look;
    int rc = t->floor_moved ? floor_write(s, t) : SQLITE_OK;
    if (rc != SQLITE_OK) {
        int code = sqlite_fail(s, rc, "write", err);
        sqlite_rollback(s);
        return code;
    }
    s->was_sealed = false;
    rc = sqlite_run(s, ST_COMMIT);
    if (rc != SQLITE_OK) {
        int code = commit_failed(s, rc, err);
        sqlite_rollback(s);
        return code;
    }
    POINT("rows-kept");
    p->floor = t->floor;
    if (p->token < t->floor)
        p->token = t->floor;
    sqlite_cache_kept(s, &t->lines);
    if (t->forgets)
        sqlite_gone_left(s);
    sqlite_young_end(s, t->ends);
    sqlite_young_moved(s, t);
    checkpoint(s);
    sqlite_look(s, &look);
    sqlite_seal(s, &look);
    return 0;
}
