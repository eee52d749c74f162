/* store/sqlite_engine.h - what the files of the SQLite engine share, and nobody else sees.
 *
 * The store at PATH is PATH itself (a SQLite database in WAL mode), PATH-wal and PATH-shm
 * (SQLite's), PATH-gate (os/gate.h) and PATH-live/ (os/lifeline.h).
 *
 * A RECORD is in a line of the cache that all processes share (sqlite_cache.c), or in its row; a
 * SESSION is in the gate's page until it is renewed (sqlite_young.c), and then in its row.  So who
 * finds the database as it was left (sqlite_seal.c) need not open it before something is asked
 * that only rows know: sqlite_need().
 *
 * DURABILITY.  A commit survives the death of any process, but is not synced: when the machine
 * dies, the last ones may go with it, and so do all local holders.  Tokens are ahead of that: none
 * is given out above `ceiling`, which is durable in the database and in the gate, and after a
 * reboot they go on above it.
 *
 * GOING BACK.  The gate mirrors floor and ceiling after each commit.  A database that knows less
 * was put back from a copy; it is refused at open and at each commit until store_raise().
 *
 * WRITING is inside the gate, always: it orders the writers fairly, and it keeps any two of them
 * from checkpointing at once (which corrupts the file in every SQLite before 3.51.3).
 */
#ifndef STORE_SQLITE_ENGINE_H
#define STORE_SQLITE_ENGINE_H

#include <sys/types.h>

#include "core/name.h"
#include "core/timing.h"
#include "os/clock.h"
#include "os/fail.h"
#include "os/gate.h"
#include "os/lifeline.h"
#include "store/hint_queue.h"
#include "store/sqlite_library.h"
#include "store/store.h"

enum statement {
    ST_READ, /* BEGIN */
    ST_WRITE,
    ST_COMMIT,
    ST_ROLLBACK,
    ST_STORE,
    ST_STORE_FLOOR,
    ST_STORE_CEILING,
    ST_FIND, /* and one more for each further key */
    ST_FIND_LAST = ST_FIND + STORE_KEYS_MAX - 1,
    ST_SEEK,
    ST_INSERT,
    ST_UPDATE,
    ST_DELETE,
    ST_SCAN,
    ST_SESSION,
    ST_SESSION_INSERT,
    ST_SESSION_RENEW,
    ST_SESSION_NOTICE,
    ST_SESSION_DELETE,
    ST_SESSION_PURGE,
    ST_SESSION_LIST,
    ST_COUNT,
};

#define GONE_MAX 64 /* dead sessions that one commit forgets; more are met again */

/* Somebody's process that a key of ours watches, or watched lately. */
struct peer {
    uint64_t session;
    uint64_t left; /* which of those that nobody watches has rested longest */
    uint32_t watches;
    int fd;
};

struct watch {
    uint64_t key_hash;
    uint64_t session;
};

/* What is known of a session: by its row, or while it is young. */
struct session_row {
    uint64_t session;
    bool found;
    bool young; /* it is not there: the gate's page says this */
    struct instant expires;
    struct span ttl;
    int64_t notices; /* how often it was told to take notice */
};
#define SESSION_ROWS 64 /* that a handle remembers */

/* Copies of young sessions, up to three of each. */
struct sqlite_young {
    size_t count;
    struct session_row row[3 * GATE_YOUNG];
};

/* Hints of one handle (sqlite_hint.c). */
struct hints {
    int epoll;
    int inotify; /* -1: not watching everything */
    struct peer *peer;
    size_t peers, peers_cap, idle;
    uint64_t lefts;
    struct watch *watch;
    size_t watches, watches_cap;
    struct hint_queue queue;
    uint64_t changes; /* the counter at our last look */
    struct instant looked;
};

struct inherited;

struct sqlite_store {
    struct store store;
    char *path, *url;
    bool any_place; /* ?fs=any */
    bool has_group; /* ?group=: made for, or given to, `group` */
    gid_t group;
    sqlite3 *db; /* NULL in a forked child, and until it is needed */
    struct inherited *inherited; /* where a forked child keeps it */
    sqlite3_stmt *st[ST_COUNT];
    struct gate *gate;
    struct lifelines *lives;
    dev_t dev; /* of the database file when it was opened */
    ino_t ino;
    uint8_t id[16]; /* of the store that was settled; 0: none was */
    char domain[CLOCK_DOMAIN_BYTES];
    int64_t base; /* store's clock = clock_now() + base */
    struct span patience;
    struct instant busy_since; /* of the busy handler */
    struct instant placed;     /* when the file was last seen in its place, */
    bool read_only;            /* and its file system took no writes */
    bool was_sealed;           /* the database, before the transaction that is under way */
    int log_frames;            /* in the write-ahead log after our last commit */
    uint64_t session;          /* our own, 0: none */
    int64_t notices;           /* of it, that a renewal has told */
    void *buffer[STORE_KEYS_MAX]; /* in one piece, which is the first one's */
    int64_t row[STORE_KEYS_MAX]; /* of the records that a decision found */
    struct session_row session_row[SESSION_ROWS]; /* that were read at `rows_as_of` */
    size_t session_rows;
    uint64_t rows_as_of; /* the gate's count of commits */
    struct effects fx;
    uint64_t gone[GONE_MAX]; /* found dead in this decision */
    size_t gone_count;
    struct hints hints;
};

/* Lines of the cache. */
#define SQLITE_CACHE_LINES 128
#define SQLITE_CACHE_BYTES (4096 * (1 + SQLITE_CACHE_LINES))
#define SQLITE_LINE_RECORD_BYTES 1880
struct sqlite_lines {
    int count;
    uint8_t at[SQLITE_CACHE_LINES];
};

/* What a transaction knows. */
struct sqlite_txn {
    uint64_t floor, ceiling;
    struct sqlite_lines lines; /* whose rows it writes */
    struct instant now;
    bool floor_moved;
    bool notify;  /* others may want to look */
    bool forgets; /* the rows of s->gone */
    uint64_t ends;  /* the session whose row it deletes; 0: none */
    uint64_t moves; /* the young session that it makes a row of; 0: none, or SQLITE_MOVES_ALL */
};
#define SQLITE_MOVES_ALL UINT64_MAX

/* ---- sqlite_share.c ------------------------------------------------------------------------- */

/* The group that a name or number stands for.  TENURE_INVALID when there is none. */
int sqlite_group_find(struct text name, gid_t *ret, tenure_error *err);

/* The directory of `path` is the group's, or is made so when it is not there. */
int sqlite_group_directory(struct text path, bool create, gid_t group, tenure_error *err);

/* The rights of the database: as it is, or as it will be. */
int sqlite_rights(const struct sqlite_store *s, struct rights *ret, tenure_error *err);

/* Gives the rights of the database to its companions as far as we may, and the database to the
 * group that was asked for.  Inside the gate. */
int sqlite_give(const struct sqlite_store *s, tenure_error *err);

/* The suffix of a companion that has not the rights of the database, or NULL. */
const char *sqlite_misfit(const struct sqlite_store *s);

/* Says of an error of the class denied whose the store is, and which file is in the way. */
int sqlite_no_rights(const struct sqlite_store *s, int code, tenure_error *err);

/* ---- sqlite_connection.c -------------------------------------------------------------------- */

/* Opens the database of s->path inside the gate if it is not open yet: before anything else that
 * asks SQLite, which it loads, too. */
int sqlite_need(struct sqlite_store *s, tenure_error *err);

/* The connection alone; and what it is told when the database is known to be ours, or new. */
int sqlite_connect(struct sqlite_store *s, tenure_error *err);
void sqlite_disconnect(sqlite3 *db);
int sqlite_use_log(struct sqlite_store *s, tenure_error *err);

/* Runs statements; or one whose answer is the first column of the first row. */
int sqlite_exec(struct sqlite_store *s, const char *text, const char *doing, tenure_error *err);
int sqlite_query_int(struct sqlite_store *s, const char *text, int64_t *ret, tenure_error *err);

/* ---- sqlite_schema.c ------------------------------------------------------------------------ */

/* Finds the database of s->path; or makes the file, if it may, and the gate remembers no other one.
 * Inside the gate. */
int sqlite_find_file(struct sqlite_store *s, bool create, bool raise, tenure_error *err);

/* Settles what there is to know of a store that is as we left it (sqlite_seal_holds()), without the
 * database: false when it is not, or is another clock's. */
bool sqlite_settle_sealed(struct sqlite_store *s);

/* Connects to the database inside the gate, makes or checks the schema, and settles clock,
 * tokens and mirror.  `raise` accepts a store that went back and lifts its tokens above *raise. */
int sqlite_schema_open(struct sqlite_store *s, const uint64_t *raise, tenure_error *err);

/* Makes a new block of tokens durable: floor and ceiling of database and gate.  Inside the gate,
 * outside of a transaction. */
int sqlite_reserve(struct sqlite_store *s, uint64_t floor, uint64_t ceiling, tenure_error *err);

#define SQLITE_TOKEN_BLOCK (1u << 20)
#define SQLITE_TOKEN_MAX ((uint64_t)1 << 62)

/* ---- sqlite_log.c --------------------------------------------------------------------------- */

/* Makes known to SQLite, once for the process, the VFS that connections of ours use.  Returns a
 * result code of SQLite. */
int sqlite_log_register(void);
#define SQLITE_LOG_VFS "tenure"

/* ---- sqlite_txn.c --------------------------------------------------------------------------- */

/* Fills *err for a result code of SQLite; `doing` completes "cannot ...". */
int sqlite_fail(struct sqlite_store *s, int rc, const char *doing, tenure_error *err);

/* A statement, compiled when it is first asked for: most commands need few of them, and start with
 * what they need.  A result code of SQLite. */
int sqlite_statement(struct sqlite_store *s, enum statement id, sqlite3_stmt **ret);

/* Steps a statement that returns no row (or whose row does not matter) and resets it. */
int sqlite_run(struct sqlite_store *s, enum statement id);

struct instant sqlite_now(const struct sqlite_store *s);

/* A consistent view without the right to write; and adds to *young the young sessions beside it, so
 * that all are known whom a record in the view names.  Ends with sqlite_read_end(). */
int sqlite_read_begin(struct sqlite_store *s, struct sqlite_txn *t, struct sqlite_young *young,
                      tenure_error *err);
void sqlite_read_end(struct sqlite_store *s);

/* The gate and the database are the ones that were opened, in their places, as of now.  0, or
 * TENURE_WENT_BACK, TENURE_UNSAFE_PLACE. */
int sqlite_check_place(const struct sqlite_store *s, tenure_error *err);

/* Enters the gate, and checks that the store is the one that was opened, in its place. */
int sqlite_enter(struct sqlite_store *s, tenure_error *err);

/* Leaves it.  `changed`: others may want to look. */
void sqlite_leave(struct sqlite_store *s, bool changed);

/* Inside the gate: begins a transaction.  Checks that the database is not older than it was, and
 * that a block of tokens is left.  Ends with sqlite_end(), also when that fails, or
 * sqlite_rollback(). */
int sqlite_begin(struct sqlite_store *s, struct sqlite_txn *t, tenure_error *err);
int sqlite_end(struct sqlite_store *s, struct sqlite_txn *t, tenure_error *err);
void sqlite_rollback(struct sqlite_store *s);

/* Both at once: enters and begins.  Ends with sqlite_commit() or sqlite_cancel(), after which we
 * are outside. */
int sqlite_write_begin(struct sqlite_store *s, struct sqlite_txn *t, tenure_error *err);
int sqlite_commit(struct sqlite_store *s, struct sqlite_txn *t, tenure_error *err);
void sqlite_cancel(struct sqlite_store *s);

/* Whether that many tokens are left as one decision may draw. */
bool sqlite_has_tokens(const struct sqlite_txn *t);

/* Copies the log back into the database.  Says whether there was one, and all of it was copied, so
 * that it is written over from its beginning.  Inside the gate, outside of a transaction. */
bool sqlite_copy_back(struct sqlite_store *s);

/* Before the connection is closed: the last one who has the store open writes back what is in the
 * cache, and empties a log that has become long. */
void sqlite_tidy(struct sqlite_store *s);

/* After an operation: whether it found the disk full, and there is room again, in the log that was
 * copied back for it.  Then it counts as not done yet, and is worth a second try. */
bool sqlite_try_again(struct sqlite_store *s, struct store_op *op);

/* ---- sqlite_session.c ----------------------------------------------------------------------- */

void sqlite_session_open(struct store *store, struct store_session_open *op);
void sqlite_session_renew(struct store *store, struct store_session_renew *op);
void sqlite_session_close(struct store *store, struct store_session_close *op);
int sqlite_lifeline(struct store *store);

/* facts.liveness; the oracle is the struct sqlite_oracle of a decision. */
struct sqlite_oracle {
    struct sqlite_store *s;
    struct instant now;
    const struct sqlite_young *young; /* of sqlite_read_begin(); NULL inside the gate, where they
                                       * are as they are */
    int rc; /* of the first failure: the decision does not count then */
    int code; /* of opening the database, with *err: nor does it then */
    tenure_error *err; /* not NULL inside the gate */
};
enum liveness sqlite_liveness(void *oracle, uint64_t session, struct instant *ret_until);

/* How many sessions are not known to have ended: of those that have rows, and of those that have
 * FIFOs only, and had a place in a page that was lost, maybe. */
int sqlite_sessions_alive(struct sqlite_store *s, size_t *ret, tenure_error *err);

/* What the row of a session says; makes or replaces it, within a transaction.  Result codes of
 * SQLite. */
int sqlite_session_row(struct sqlite_store *s, uint64_t session, struct session_row *ret);
int sqlite_session_insert(struct sqlite_store *s, const struct session_row *row);

/* The sessions that were found gone.  Deletes their rows within the transaction, after which they
 * have left the page, too; or takes them from there, if that is where all of them are, or says
 * no.  And removes their FIFOs, outside of the gate. */
int sqlite_forget_gone(struct sqlite_store *s, struct sqlite_txn *t);
void sqlite_gone_left(struct sqlite_store *s);
bool sqlite_forget_young(struct sqlite_store *s);
void sqlite_bury_gone(struct sqlite_store *s);

/* ---- sqlite_young.c ------------------------------------------------------------------------- */

/* A session that has a place in the page.  Inside the gate. */
bool sqlite_young_find(const struct sqlite_store *s, uint64_t session, struct session_row *ret);

/* Adds all of them, for who looks from outside.  It needs a copy before its snapshot of the rows:
 * who leaves the page has a row by then; and one behind, since others may have come in between. */
void sqlite_young_copy(const struct sqlite_store *s, struct sqlite_young *to);

/* All that follows is inside the gate.  Gives a session a place, if there is room. */
bool sqlite_young_has_room(const struct sqlite_store *s);
bool sqlite_young_add(struct sqlite_store *s, uint64_t session, struct span ttl,
                      struct instant expires);

/* Whether none of them can have a row, too. */
bool sqlite_young_are_alone(const struct sqlite_store *s);

/* It expires then, and not before. */
void sqlite_young_extend(struct sqlite_store *s, uint64_t session, struct instant expires);

/* Counts a notice for it, if it has a place. */
bool sqlite_young_notice(struct sqlite_store *s, uint64_t session);

/* Its place is free; all are. */
void sqlite_young_end(struct sqlite_store *s, uint64_t session);
void sqlite_young_clear(struct sqlite_store *s);

/* Within a transaction: makes a row of one, or of all; the result codes are SQLite's.  After the
 * commit: they have left the page. */
int sqlite_young_move(struct sqlite_store *s, struct sqlite_txn *t, const struct session_row *row);
int sqlite_young_move_all(struct sqlite_store *s, struct sqlite_txn *t);
void sqlite_young_moved(struct sqlite_store *s, const struct sqlite_txn *t);

/* At the beginning of a transaction: if somebody has died on the way between commit and page, those
 * who have rows leave the page.  A result code of SQLite. */
int sqlite_young_settle(struct sqlite_store *s);

/* ---- sqlite_seal.c -------------------------------------------------------------------------- */

/* How the database and its log are now. */
struct sqlite_look {
    struct gate_file file[2];
    int64_t ns; /* the time of day */
    bool ours;  /* both are there, and we may write to them */
};
void sqlite_look(const struct sqlite_store *s, struct sqlite_look *ret);

/* All inside the gate.  Remembers how they were when they were looked at: for who has seen since
 * that they are right. */
void sqlite_seal(struct sqlite_store *s, const struct sqlite_look *look);

/* Whether they were as they had been then, as far as the kernel says; and whether that is sure. */
bool sqlite_seal_is_whole(const struct sqlite_store *s, const struct sqlite_look *look);
bool sqlite_seal_holds(const struct sqlite_store *s, const struct sqlite_look *look);

/* ---- sqlite_record.c ------------------------------------------------------------------------ */

/* What the row that q is on holds of a record: column `at` is its size, the next one its bytes,
 * with zeros behind them (sqlite_record_put()). */
void sqlite_record_borrow(sqlite3_stmt *q, int at, struct store_record *ret);

/* Finds the record of ret->key by statement i, which stays open as long as the bytes are borrowed,
 * until sqlite_record_found().  Result codes of SQLite. */
int sqlite_record_find(struct sqlite_store *s, int i, struct store_record *ret);
void sqlite_record_found(struct sqlite_store *s, int i);

/* The number of the write that the record found by statement i comes from. */
uint64_t sqlite_record_sequence(struct sqlite_store *s, int i);

/* Writes or deletes, within a transaction, the record that statement i has looked for; `in` is what
 * it found.  `bytes` has STORE_RECORD_MAX. */
int sqlite_record_put(struct sqlite_store *s, int i, const struct store_record *in, void *bytes,
                      size_t len, uint64_t sequence);
int sqlite_record_delete(struct sqlite_store *s, int i);

/* ---- sqlite_cache.c ------------------------------------------------------------------------- */

/* The line of a key, or -1; and what it says, borrowed until the gate is left.  Inside the gate, or
 * as a hint. */
int sqlite_cache_find(const struct sqlite_store *s, const char *key);
void sqlite_cache_borrow(const struct sqlite_store *s, int at, struct store_record *ret);

/* Whether a write has room in a line.  Writes it to line `at`, or to a free one (-1).  Says whether
 * it could.  Inside the gate. */
bool sqlite_cache_takes(const struct store_write *out);
bool sqlite_cache_put(struct sqlite_store *s, int at, const char *key,
                      const struct store_write *out, struct instant now);

/* Inside the gate, in a transaction of its own: writes back the lines of some keys, and frees them;
 * frees the oldest ones if none is free; writes all of them back, which stay. */
int sqlite_cache_retire(struct sqlite_store *s, const char *const *key, int count,
                        tenure_error *err);
int sqlite_cache_make_room(struct sqlite_store *s, tenure_error *err);
int sqlite_cache_write_all(struct sqlite_store *s, tenure_error *err);

/* Within a transaction: writes the rows of lines that have rested, and notes them in it.  After the
 * commit: they are clean. */
int sqlite_cache_write_rested(struct sqlite_store *s, struct sqlite_txn *t);
void sqlite_cache_kept(struct sqlite_store *s, const struct sqlite_lines *lines);

/* Takes no row for as new as its line: the database may have been another one. */
void sqlite_cache_doubt(struct sqlite_store *s);

/* When nobody else has the store open, and somebody has written to the database by hand: frees the
 * lines whose rows are as new, or were deleted, so that what is there now counts.  A result code of
 * SQLite. */
int sqlite_cache_compare(struct sqlite_store *s);

/* When the machine was down since the last write: writes the rows of all lines that are whole and
 * newer, within a transaction; *sequence grows to their highest number.  The clock's last reading
 * that they know of.  And forgets them all. */
int sqlite_cache_recover(struct sqlite_store *s, uint64_t *sequence);
struct instant sqlite_cache_last(const struct sqlite_store *s);
void sqlite_cache_clear(struct sqlite_store *s);

/* Copies of the lines whose keys have a prefix and are behind `after` (or NULL), in order of their
 * keys; from outside of the gate.  0, TENURE_NO_MEMORY, TENURE_BUSY; ends with
 * sqlite_cache_copied() in any case. */
struct sqlite_copy {
    char key[NAME_BYTES_MAX + 1];
    uint64_t sequence;
    size_t len;
    unsigned char bytes[SQLITE_LINE_RECORD_BYTES];
};
struct sqlite_copies {
    struct sqlite_copy *at;
    size_t count;
};
int sqlite_cache_copy(const struct sqlite_store *s, const char *prefix, const char *after,
                      struct sqlite_copies *ret);
void sqlite_cache_copied(struct sqlite_copies *copies);

/* ---- sqlite_update.c, sqlite_read.c --------------------------------------------------------- */

void sqlite_update(struct store *store, struct store_update *op);
void sqlite_read(struct store *store, struct store_read *op);

/* ---- sqlite_hint.c -------------------------------------------------------------------------- */

int sqlite_hints_open(struct sqlite_store *s, tenure_error *err);
void sqlite_hints_close(struct sqlite_store *s); /* memory and descriptors; also after fork */

/* Our lifeline was made, or is about to be let go of. */
int sqlite_hints_join(struct sqlite_store *s, tenure_error *err);
void sqlite_hints_leave(struct sqlite_store *s);

/* Counts a change of ours for the others.  Inside the gate. */
void sqlite_hints_count(struct sqlite_store *s);

void sqlite_watch_sessions(struct store *store, const char *key, const uint64_t *session,
                           uint32_t count);
int sqlite_watch_all(struct store *store, bool on, tenure_error *err);
bool sqlite_next_hint(struct store *store, struct store_hint *ret);
int sqlite_fd(struct store *store);
void sqlite_process(struct store *store);
struct instant sqlite_due(struct store *store);

/* ---- sqlite_examine.c ----------------------------------------------------------------------- */

void sqlite_examine(struct store *store, void (*fn)(void *arg, bool fine, const char *text),
                    void *arg);

static inline struct sqlite_store *sqlite_of(struct store *store)
{
    return (struct sqlite_store *)(void *)store; /* the first member */
}

/* Ends an operation whose op->error was filled. */
static inline void sqlite_op_failed(struct store_op *op)
{
    op->code = op->error.code;
    op->done = true;
}

#endif
