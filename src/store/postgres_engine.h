/* store/postgres_engine.h - what the files of the PostgreSQL engine share, and nobody else sees.
 *
 * The statements are in postgres.sql, which explains the schema, and postgres_sessions.sql; this is
 * the client's side.
 *
 * A handle has two connections.  The *line* carries every operation, one request at a time: what
 * is asked meanwhile goes out together with the next one, so that many names cost one commit.
 * The *ear* only listens for bells; it may be missing, and then the line polls.  Neither holds
 * any state that a new one would lack.
 *
 * A *work* is an operation of the caller's on its way.  It is decided on what we remember, sent
 * with what was relied on, and decided again when that had changed.  A request has a time limit
 * (`patience`); then its connection is given up for a fresh one, and works whose writes may have
 * happened end with TENURE_UNSURE.  Works that changed nothing are sent again.
 *
 * What must never happen: a verdict from memory alone.  Each one is confirmed by a write that
 * demanded all that it relied on, or by an answer that said that all of it is still so
 * (`stamp` == the number of that answer).
 */
#ifndef STORE_POSTGRES_ENGINE_H
#define STORE_POSTGRES_ENGINE_H

#include "store/postgres_code.h"
#include "store/postgres_hosts.h"
#include "store/postgres_libpq.h"

#include "core/name.h"
#include "core/timing.h"
#include "os/clock.h"
#include "os/fail.h"
#include "os/mac.h"
#include "store/cache.h"
#include "store/fence_set.h"
#include "store/hint_queue.h"
#include "store/neighbours.h"
#include "store/postgres_bytes.h"
#include "store/store.h"
#include "wire/url.h"

#define PG_SCHEMA_VERSION 3
#define PG_REVISION 2 /* of the calls of that version: postgres_revision.sql */
#define PG_SCHEMA_BYTES 48
#define PG_BATCH_MAX 64    /* decisions in one commit */
#define PG_TOKENS_MAX 128  /* drawn ahead */
#define PG_RINGS_MAX 2048  /* bells to be rung; more are lost, and made up for by looking */
#define PG_CONNECT_MS 1000 /* even when patience is shorter: for a connection, and for the first
                            * request of its kind on it, when the server makes its plans; a renewal
                            * gets so long since its connection began only */
#define PG_SHARE_MS 500    /* of that, for each of several hosts, at least */
#define PG_NAME_AFTER 4    /* answers, before a statement gets a name */
#define PG_HOLD_AFTER 4    /* losses, before a record is waited for */
#define PG_POLL_MS 250     /* between looks when no bell can be heard */

/* ---- connections (postgres_link.c) --------------------------------------------------------- */

enum request {
    REQUEST_NONE,
    REQUEST_HELLO,
    REQUEST_APPLY,
    REQUEST_TOGETHER,
    REQUEST_OPEN,
    REQUEST_RENEW,
    REQUEST_CLOSE,
    REQUEST_SCAN,
    REQUEST_RING,
    REQUEST_POLL,
    REQUEST_BEGIN,
    REQUEST_HOLD,
    REQUEST_COMMIT,
    REQUEST_ROLLBACK,
    REQUESTS
};

enum link_state { LINK_DOWN, LINK_CONNECTS, LINK_UP };

struct link {
    PGconn *conn;
    enum link_state state;
    int fd; /* as it is in the epoll set; -1: none */
    uint32_t events;
    struct instant began; /* when it began to connect */
    struct instant since; /* when the attempt or the request in flight began */
    struct instant retry; /* not to be tried before */
    unsigned failures;    /* in a row */
    int silent;           /* hosts that let it wait, in a row */
    bool goes_on;         /* ... and the next one was not tried yet */
    bool busy;            /* a request is in flight */
    unsigned char answers[REQUESTS]; /* it gave to each request, up to PG_NAME_AFTER */
    unsigned named;       /* 1 << request for those whose statement has a name here */
    bool names;           /* the request in flight is about to get one */
    PGresult *result;     /* of the answer that is coming in */
    tenure_error trouble; /* why the last attempt failed; code 0: it did not */
};

/* ---- works --------------------------------------------------------------------------------- */

enum work_kind { WORK_UPDATE, WORK_OPEN, WORK_RENEW, WORK_CLOSE, WORK_READ };

struct work {
    struct work *next;
    enum work_kind kind;
    struct store_op *op;    /* the caller's; NULL: given up, the answer is of no interest */
    struct instant give_up; /* while it is not in flight */
    uint64_t session;       /* RENEW, CLOSE */
    bool claims_left;       /* CLOSE */
    char *after;            /* READ: the last key that was shown */

    /* UPDATE */
    int count;
    char *key[STORE_KEYS_MAX]; /* our own: a work may outlive its operation */
    int order[STORE_KEYS_MAX]; /* its keys, sorted: order[i] is an index into key */

    /* UPDATE, of the last decision */
    int verdict;
    bool granted; /* and GRANTS in store/store.h lets it rest on an earlier state */
    bool writes;
    uint64_t version[STORE_KEYS_MAX]; /* what is written; 0: kept, UINT64_MAX: deleted */
    struct bytes data[STORE_KEYS_MAX];
    uint64_t floor;                   /* after it */
    uint32_t ring_count;
    uint64_t *ring;
    bool queued;   /* it queues behind the one that it rings */
    bool done;     /* answered: it happened */
    unsigned lost; /* how often somebody else was faster */
    bool looked;   /* and what the answer said was not enough to decide on */
};

/* ---- what we remember (postgres_memory.c, postgres_life.c) ---------------------------------- */

struct known_record {
    struct cached head;
    uint64_t version; /* 0: there is no such record */
    uint64_t floor;
    bool told; /* a doorbell was told so, and no answer has been since */
};

enum known_state { KNOWN_ALIVE, KNOWN_DEAD, KNOWN_GONE };

struct known_session {
    struct cached head;
    enum known_state state;
    int64_t ttl_ms;
    uint64_t beat;
    struct instant expires;    /* the server's clock; GONE: when it ended, 0: not known */
    struct instant first_seen; /* our clock: when we first saw this beat */
    bool trusted;              /* the server's clock may be believed about this beat */
    bool suspect;              /* silent for so long that everybody may declare it dead */
};

/* What a decision asked about sessions. */
enum rely_mode { RELY_ALIVE, RELY_DECLARE, RELY_ASK, RELY_UNRENEWED, RELY_SEEN };

struct reliance {
    uint64_t session;
    enum rely_mode mode;
    uint64_t beat;
};

struct reliances {
    struct reliance *at;
    size_t count, cap;
    bool all_fresh; /* each answer was given by the last answer of the server, or is final */
    bool failed;    /* without memory */
};

/* The server's clock as we know it. */
struct server_clock {
    bool known;
    struct instant at;             /* what it said last */
    struct instant sent, received; /* on our clock, around that */
    struct instant since;          /* in step with ours since it said this */
    int64_t round_ms;              /* how long the last round trip took */
};

struct watch {
    uint64_t key_hash, session;
};

struct pg_store {
    struct store store;
    char *url, *conninfo, *end_channel;
    struct pg_hosts hosts; /* of the conninfo */
    char schema[PG_SCHEMA_BYTES];
    enum { LISTEN_WHERE_HEARD, LISTEN_ON, LISTEN_OFF } listen;
    bool existing; /* nobody asked for one to be made */
    bool pooled; /* another process of the server answers than was connected to */
    bool nameless; /* a name was lost or taken: something does stand in between */
    uint64_t vigil, vigils; /* store_vigil(), and how many there were */
    uint64_t deletion;      /* the last one that a renewal told of */
    bool forked;
    struct span patience;
    int epoll;
    struct link line, ear;

    struct work *queue, **queue_end; /* to be sent */
    struct work *flight;             /* in the request that is in flight */
    enum request request;
    bool holding; /* within a transaction that holds the records of `flight` */
    bool greeted; /* the line's connection knows us */
    struct pg_params params;

    uint64_t stamp; /* the number of the last answer */
    struct cache records, sessions;
    struct reliances relied;
    struct server_clock clock;
    uint64_t floor; /* of deleted names */
    uint64_t high;  /* highest token that the sequence gave */
    struct fence_set fences; /* raised for updates that were given up while they were written */
    uint64_t token[PG_TOKENS_MAX];
    size_t tokens;
    size_t tokens_used; /* since the last draw */
    uint64_t random[64];
    size_t randoms;
    void *buffer[STORE_KEYS_MAX];
    struct effects fx;

    uint64_t session;    /* our own, 0: none */
    struct instant session_since;
    uint64_t heard_beat; /* the last one whose answer reached us */
    uint64_t heard;   /* the session whose bell the ear hears */
    bool waits; /* it has watched another one: it needs the ear at once */
    bool ear_proven; /* it has heard something, so nothing swallows bells on the way */
    bool ear_asked;  /* a bell was rung to prove it */
    bool all;
    bool echo; /* changes were seen: look once more, for commits that were on their way */
    uint64_t changes;
    struct instant polled;
    struct hint_queue hints;
    struct neighbours neighbours;
    uint64_t place; /* of the store, for them; 0: not known yet */
    bool has_bell_key;
    uint8_t bell_key[MAC_KEY_BYTES]; /* news among them are sealed with it */
    struct watch *watch;
    size_t watches, watches_cap;
    uint64_t ring_session[PG_RINGS_MAX], ring_name[PG_RINGS_MAX];
    size_t rings;
};

/* ---- postgres_link.c ------------------------------------------------------------------------ */

/* For what a server has to note: a library does not write to the standard error of its host. */
void pg_no_notice(void *arg, const PGresult *r);

/* Starts a connection if there is none and it is time. */
void link_start(struct pg_store *s, struct link *l);

/* It let us wait for too long: drops it, and begins with the next host from now on. */
void link_time_out(struct pg_store *s, struct link *l, const char *why);

/* Goes on connecting, reads and writes what it can.  LINK_UP afterwards means: usable. */
void link_step(struct pg_store *s, struct link *l);

/* Lets the connection go; the next one is tried after a pause.  What was in flight on the line is
 * settled by request_lost(). */
void link_drop(struct pg_store *s, struct link *l, int code, const char *why);

/* Ends it for good, without a word to the server when `forked`. */
void link_close(struct pg_store *s, struct link *l);

/* Sends s->request on the line, with the parameters of s->params; or the connection is dropped. */
void link_send(struct pg_store *s);

/* When what is in flight must have been answered; then the connection is let go for a fresh one. */
struct instant link_limit(const struct pg_store *s, const struct link *l);

/* When it wants to be looked at. */
struct instant link_due(const struct pg_store *s, const struct link *l);

/* ---- postgres_error.c ----------------------------------------------------------------------- */

/* What an error result means; fills *err. */
enum error_kind pg_error(const struct pg_store *s, const PGresult *r, tenure_error *err);

/* ---- postgres_memory.c ---------------------------------------------------------------------- */

struct known_record *known_record(struct pg_store *s, const char *key); /* NULL: not known */

/* Notes what a record is; takes a copy.  `bytes` NULL with version 0: there is none. */
void known_record_set(struct pg_store *s, const char *key, uint64_t version, uint64_t floor,
                      const void *bytes, size_t len);

/* ---- postgres_life.c ------------------------------------------------------------------------ */

struct known_session *known_session(struct pg_store *s, uint64_t id); /* NULL: not known */
void known_session_set(struct pg_store *s, const struct known_session *seen);

/* The server said that its clock is `at`, in the answer to what was sent at `sent`. */
void clock_heard(struct pg_store *s, struct instant at, struct instant sent);

/* Not later than the server's clock is now. */
struct instant clock_guess(const struct pg_store *s);

/* Whether we may declare a session dead. */
bool life_is_over(const struct pg_store *s, const struct known_session *k);

/* facts.liveness: notes in s->relied what was asked. */
struct pg_oracle {
    struct pg_store *s;
    struct instant now;
    bool looks; /* for a reader, who declares nobody dead */
};
enum liveness pg_liveness(void *oracle, uint64_t session, struct instant *ret_until);

/* ---- postgres_request.c --------------------------------------------------------------------- */

/* The statement of a request, in `cap` bytes at buf. */
void request_text(const struct pg_store *s, enum request request, char *buf, size_t cap);

/* Sends what is next, if the line is free. */
void request_next(struct pg_store *s);

/* Sends a request with the parameters of s->params on behalf of the works in `flight`. */
void request_send(struct pg_store *s, enum request request, struct work *flight);

/* The line has an answer, or has lost it. */
void request_answered(struct pg_store *s, PGresult *r);
void request_lost(struct pg_store *s);

/* ---- postgres_update.c ---------------------------------------------------------------------- */

void pg_update(struct store *store, struct store_update *op);

/* Decides on what is known.  Returns false when nothing is known of a record; then it is to be
 * asked for.  *ret_confirmed: all of it was confirmed by the last answer. */
bool update_decide(struct pg_store *s, struct work *w, bool *ret_confirmed);

/* Puts the decisions of a batch into parameters. */
void update_batch(struct pg_store *s, struct work *batch);

/* Takes what an answer says of the records of a batch. */
void update_take(struct pg_store *s, struct work *batch, const PGresult *r);

/* Ends a work that was answered, or sends it back to the queue. */
void update_settle(struct pg_store *s, struct work *w);

/* Both, for all of a batch. */
void update_answered(struct pg_store *s, struct work *batch, const PGresult *r);

/* ---- postgres_hold.c ------------------------------------------------------------------------ */

/* Begins to wait for the records of a work; hold_answered() goes on from step to step. */
void hold_begin(struct pg_store *s, struct work *w);
void hold_answered(struct pg_store *s, enum request request, struct work *w, const PGresult *r);

/* ---- postgres_answer.c ---------------------------------------------------------------------- */

uint64_t answer_u64(const PGresult *r, int row, int column);
int64_t answer_i64(const PGresult *r, int row, int column);
int32_t answer_i32(const PGresult *r, int row, int column);

/* Takes what an answer says of the clock, tokens and sessions. */
void answer_take(struct pg_store *s, const PGresult *r);

/* ---- postgres_work.c ------------------------------------------------------------------------ */

struct work *work_new(struct pg_store *s, enum work_kind kind, struct store_op *op);
struct store_update *update_of(const struct work *w); /* its operation; not NULL */
void work_queue(struct pg_store *s, struct work *w);
void work_finish(struct pg_store *s, struct work *w, int code);
void work_fail(struct pg_store *s, struct work *w, const tenure_error *err);
void work_free(struct work *w);
void works_expire(struct pg_store *s);

/* ---- postgres_session.c --------------------------------------------------------------------- */

void pg_session_open(struct store *store, struct store_session_open *op);

/* A number for as long as one server says that no record was deleted: `deletion` is the last one
 * that it knows of.  Behind a pooler it may be another server each time. */
void pg_keep_vigil(struct pg_store *s, uint64_t deletion);
uint64_t pg_vigil(struct store *store);
void pg_session_renew(struct store *store, struct store_session_renew *op);
void pg_session_close(struct store *store, struct store_session_close *op);
void session_request(struct pg_store *s, struct work *w);
void session_answered(struct pg_store *s, struct work *w, const PGresult *r);

/* ---- postgres_read.c ------------------------------------------------------------------------ */

void pg_read(struct store *store, struct store_read *op);
void read_request(struct pg_store *s, struct work *w);
void read_answered(struct pg_store *s, struct work *w, const PGresult *r);

/* ---- postgres_hint.c ------------------------------------------------------------------------ */

void pg_watch_sessions(struct store *store, const char *key, const uint64_t *session,
                       uint32_t count);
int pg_watch_all(struct store *store, bool on, tenure_error *err);
bool pg_next_hint(struct store *store, struct store_hint *ret);

/* Rings at a session about a name that was written by w. */
void hint_ring(struct pg_store *s, const struct work *w, uint64_t session, uint64_t key_hash);
void hint_ended(struct pg_store *s, uint64_t session); /* those who watch it are told */
void doorbell_place(struct pg_store *s); /* the line has been greeted: where that is */
void doorbell_step(struct pg_store *s);
void ear_step(struct pg_store *s);
struct instant ear_due(const struct pg_store *s);
bool hints_are_polled(const struct pg_store *s); /* nothing else would tell of them */
struct instant poll_due(const struct pg_store *s);
void poll_request(struct pg_store *s);
void poll_answered(struct pg_store *s, const PGresult *r);
void ring_request(struct pg_store *s);

/* ---- postgres_news.c ------------------------------------------------------------------------ */

/* What a session is told of a work that is done; 0: nothing. */
size_t news_write(struct pg_store *s, const struct work *w, uint64_t session,
                  char buf[NEIGHBOURS_NEWS_MAX]);

/* A neighbours_news_fn for the store. */
void news_take(void *arg, const void *news, size_t len);

/* Decides; true when that was on news, and they tell of a grant that is to be believed. */
bool news_tell_grant(struct pg_store *s, struct work *w);

/* ---- postgres_schema.c ---------------------------------------------------------------------- */

/* Takes a URL apart: what libpq gets, and what is ours. */
int pg_parse(const struct url *url, struct pg_store *s, tenure_error *err);

/* Frees what that made. */
void pg_parsed_free(struct pg_store *s);

/* A query for the revision of the store's calls, which everybody may ask. */
void pg_revision_text(const struct pg_store *s, char *buf, size_t cap);

/* What a schema of another version than ours means; returns the code. */
int pg_version_error(const struct pg_store *s, int64_t version, tenure_error *err);

/* ---- postgres_examine.c --------------------------------------------------------------------- */

void pg_examine(struct store *store, void (*fn)(void *arg, bool fine, const char *text),
                void *arg);

static inline struct pg_store *pg_of(struct store *store)
{
    return (struct pg_store *)(void *)store; /* the first member */
}

#endif
