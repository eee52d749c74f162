/* store/etcd_engine.h - what the files of the etcd engine share, and nobody else sees.
 *
 * Below its prefix a store has these keys:
 *     seal               what it says of itself (struct etcd_seal); each Txn demands that it is as
 *                        we know it
 *     name/NAME          a record: its stamp, then its bytes; its version is its mod_revision
 *     session/ID         there exactly as long as the session lives: attached to its etcd lease.
 *                        To put it again (its value stays) is to tell it to stop
 *     session/ID/left    there until the session is closed: so one that expired is told from one
 *                        that was closed
 *     bell/ID            put to ring at the session, with hashes of names, or with one name and
 *                        what its record is since the same commit; attached, too
 *     gone/NN            put with each deletion of a record: who makes one demands that nothing was
 *                        deleted there since it looked
 *     lost/NN            put by each who lost an attempt at a record: so it learns how many others
 *                        have, about, since that was written
 *     serial             put to draw the id of a session
 * ID is 16 hexadecimal digits.
 *
 * A *call* is one gRPC call on its way (etcd_call.c).  A *work* is an operation of the caller's: it
 * is decided on what we remember, sent with all that it relied on as comparisons, and decided again
 * on what the answer says when one of them failed.
 *
 * What must never happen: a verdict from memory alone (but for a grant that was heard of, GRANTS in
 * store/store.h); a grant to a session that is not compared with in the same Txn; a renewal that
 * counts although a quorum may have had another leader (etcd_session.c). */
#ifndef STORE_ETCD_ENGINE_H
#define STORE_ETCD_ENGINE_H

#include "core/name.h"
#include "core/timing.h"
#include "os/clock.h"
#include "os/fail.h"
#include "store/cache.h"
#include "store/etcd_clock.h"
#include "store/etcd_fight.h"
#include "store/etcd_library.h"
#include "store/etcd_message.h"
#include "store/etcd_ping.h"
#include "store/etcd_tls.h"
#include "store/fence_set.h"
#include "store/hint_queue.h"
#include "store/store.h"
#include "wire/etcd_url.h"
#include "wire/etcd_value.h"
#include "wire/grpc.h"

#define ETCD_TOKENS_SHIFT 10     /* 1024 tickets of one record can be granted in one commit */
#define ETCD_RELY_MAX 90         /* sessions that one commit compares with, */
#define ETCD_GRANTS_MAX 80       /* and grants to: with who decides and who is rung besides */
#define ETCD_RINGS_MAX 90        /* bells that one commit rings */
#define ETCD_BATCH_MAX 64        /* decisions that ride together */
#define ETCD_BATCH_BYTES 1000000 /* etcd takes requests of 1.5 MiB */
#define ETCD_PAGE 32             /* records in one answer to a reader */
#define ETCD_BUCKETS 256

struct etcd_store;

/* ---- calls (etcd_call.c) ------------------------------------------------------------------- */

enum etcd_call_end {
    CALL_ANSWERED,
    CALL_REFUSED, /* by the server: status and text say why */
    CALL_LOST,    /* with its connection: it may have happened */
    CALL_UNSENT,  /* it did not happen */
};

struct etcd_call {
    struct etcd_call *next;
    int32_t stream;
    const char *path;
    const ProtobufCMessageDescriptor *answers; /* with what */
    bool streams;                              /* many messages each way, until the end */

    uint8_t *out; /* to be sent */
    size_t out_len, out_at, out_cap;
    struct grpc_inbox in;
    int status; /* of gRPC; -1: none came */
    char text[160];
    bool closed;         /* its stream has ended */
    bool unsent;         /* the server has said that it did not look at it */
    struct instant sent; /* on our clock */
    int64_t after;       /* the highest revision that we knew of when it was sent */

    /* The end; `answer` is NULL but for CALL_ANSWERED.  For one that streams: each message. */
    void (*done)(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                 const ProtobufCMessage *answer);
    void *arg;
};

/* ---- the connection (etcd_link.c) ----------------------------------------------------------- */

enum etcd_link_state { LINK_DOWN, LINK_CONNECTS, LINK_SHAKES, LINK_UP };

struct addrinfo;

#define ETCD_READ_BYTES 65536

struct etcd_link {
    enum etcd_link_state state;
    int fd;
    uint32_t events;
    int endpoint;               /* which one it goes to, or went */
    int left;                   /* the one before that, because of some trouble; -1: none */
    char host[ENDPOINT_HOST_BYTES_MAX + 1]; /* of that, for TLS */
    struct addrinfo *addresses; /* of that */
    struct addrinfo *address;   /* the one that is tried */
    struct etcd_tls *tls; /* NULL: plain */
    struct nghttp2_session *http;
    uint8_t *out; /* bytes that the socket has not taken */
    size_t out_len, out_at, out_cap;
    struct etcd_call *calls;
    struct instant since; /* when the attempt began */
    struct instant retry; /* not to be tried before */
    struct instant heard; /* when the last bytes came */
    struct instant pinged;
    struct etcd_ping ping; /* of the server's */
    unsigned failures; /* in a row */
    unsigned absent;   /* in a row: nobody listens there, or nothing of ours is there */
    bool leaves;       /* the server has said goodbye */
    bool turned;       /* to the leader, since one was last of use: not again */
    tenure_error trouble; /* why the last attempt failed; code 0: it did not */
    uint8_t in[ETCD_READ_BYTES]; /* not thread-local: each thread of a program would pay for it */
};

/* ---- works ---------------------------------------------------------------------------------- */

enum etcd_work_kind { WORK_UPDATE, WORK_OPEN, WORK_RENEW, WORK_CLOSE, WORK_READ };

struct etcd_work {
    struct etcd_work *next;
    enum etcd_work_kind kind;
    struct store_op *op;    /* the caller's; NULL: given up, the answer is of no interest */
    struct instant give_up; /* while it is not in flight */

    uint64_t session; /* OPEN, RENEW, CLOSE */
    int64_t lease;    /* OPEN; CLOSE: of our own */
    struct span ttl;  /* OPEN */
    int parts;        /* OPEN, RENEW: answers that are still to come */
    tenure_error trouble;   /* OPEN: of one that came, when it is final */
    bool again;             /* OPEN: one did not come: from the beginning */
    uint64_t keepalive;     /* RENEW: the number of its message on the stream */
    uint64_t term_kept, term_seen; /* RENEW: of the two answers */
    bool kept, is_there;    /* RENEW: the lease was renewed; the key is there */
    int64_t told;           /* RENEW: the key's version */
    char *after;                /* READ: the last key that was shown */

    /* UPDATE */
    int count;
    char *key[STORE_KEYS_MAX]; /* our own: a work may outlive its operation */
    uint64_t hash[STORE_KEYS_MAX];
    bool ready; /* decided, and waits until it may write */

    /* UPDATE, of the last decision */
    int verdict;
    bool writes;
    bool census; /* it asked about more sessions than it can compare with, and some are unknown */
    bool granted; /* GRANTS in store/store.h */
    bool apart;   /* it lost an attempt together with others: etcd_batch.c */
    struct etcd_loss loss;
    struct store_write out[STORE_KEYS_MAX]; /* bytes owned, with the stamp in front */
    int64_t version[STORE_KEYS_MAX];        /* that it was decided on */
    struct etcd_stamp stamp[STORE_KEYS_MAX];
    uint64_t *relied; /* sessions that it took for alive */
    size_t relies, relies_cap;
    uint64_t *ring;
    size_t rings, rings_cap;
    uint64_t notice, next_writer;
    size_t bytes; /* of the request, about */
};

/* How large a Txn gets, about: etcd limits the length of its lists. */
struct etcd_size {
    size_t conditions, writes; /* of its own, */
    size_t deepest;            /* and in it: the longest list of a Txn, and of one in that */
    size_t bytes;
};

/* Works that ride in one Txn. */
struct etcd_batch {
    size_t count;
    struct etcd_work *work[ETCD_BATCH_MAX];
    bool nested[ETCD_BATCH_MAX]; /* in a Txn of its own in it, */
    size_t at[ETCD_BATCH_MAX];   /* which is its nth operation */
    struct span took;            /* until it was answered */
    struct etcd_size size;
};

/* ---- what we remember (etcd_memory.c) -------------------------------------------------------- */

struct etcd_record {
    struct cached head;  /* its bytes: behind the stamp */
    int64_t version; /* mod_revision; 0: there is no such record */
    int64_t as_of;   /* the revision at which that was so */
    struct etcd_stamp stamp;
    struct instant seen; /* when we first saw this version */
    bool foreign;        /* there is something that we did not write */
    int64_t rung;        /* the version that a bell told of, 0: none; */
    struct instant heard; /* and when */
    int64_t told;        /* the version that quiet news told of */
    int64_t written;     /* so often since it was made, as far as we have heard */
    bool hot;            /* others write it when we do: etcd_fight.h */
    bool crowded;        /* more than one queued when we did */
};

enum etcd_session_state { SESSION_ALIVE, SESSION_EXPIRED, SESSION_GONE };

struct etcd_known_session {
    struct cached head;
    enum etcd_session_state state; /* the last two are final */
    struct span ttl;
    int64_t as_of;
    struct instant ended; /* when we first knew, on our clock */
};

/* ---- a store --------------------------------------------------------------------------------- */

struct etcd_watch {
    uint64_t key_hash, session;
};

/* A watched session, once, however many names wait for it. */
struct etcd_watcher {
    uint64_t session;
    int64_t id;  /* on the stream; 0: not asked for yet */
    bool unsure; /* whether it lived when the watch began: then its names are looked at */
};

struct etcd_own_session {
    uint64_t id; /* 0: none */
    int64_t lease;
    struct span ttl;
    int64_t told;     /* the version of its key that was reported */
    int64_t revision; /* at which it was opened */
    int64_t acted;    /* the first decision of ours since then was done there; 0: none was */
    int64_t heard;    /* its bell has been heard of since then; 0: it is not yet */
    bool certain;     /* all of this is known: nothing was lost or given up on its way */
};

struct etcd_store {
    struct store store;
    char *url, *spec; /* as it was given, and a copy that `place` borrows from */
    struct etcd_url place;
    char prefix[ETCD_PREFIX_BYTES_MAX + 2]; /* with a slash */
    char *ca, *cert, *key, *server_name, *user, *password_file; /* NULL: not given */
    char *token; /* that the cluster gave us for user and password; NULL: none */
    bool create, forked, raising;
    struct span patience;
    int epoll;
    struct etcd_link link;
    struct etcd_arena arena;

    bool greeted; /* this connection's cluster is the one we know */
    bool sealing; /* the greeting is under way */
    struct etcd_seal seal;
    int64_t seal_version;
    int64_t cluster_distance;
    int looks; /* at a distance that is too short */
    char version[24];  /* of the member that we talk to */
    char alarms[120];
    int64_t db_bytes;
    uint64_t leader;   /* as the member said that greeted us */
    uint64_t cluster;  /* that this connection leads to */
    int64_t revision;  /* the highest that we have seen */
    uint64_t raise_above;
    struct etcd_clock clock;
    bool clock_asked;
    struct instant clock_asked_at;

    struct etcd_work *queue, **queue_end; /* to be sent */
    struct etcd_work *flight;             /* on their way, in no order */
    struct instant held_back;             /* until then somebody else may write first */
    struct span commit;                   /* about how long one of ours takes */
    struct etcd_call *writing;            /* the batch that is being written */
    int apart;      /* so many batches yet in which each stands apart: etcd_batch.c */
    bool gathering; /* several were just answered: what is asked until process() goes together */
    uint64_t answer;                      /* the number of the last answer */
    uint64_t census;                      /* of the last one that told of all sessions */
    struct cache records, sessions;
    struct fence_set fences; /* raised for updates that were given up while they were written */
    void *buffer[STORE_KEYS_MAX];
    struct effects fx;

    struct etcd_own_session own;
    struct etcd_call *keepalives; /* the stream */
    uint64_t keepalives_sent, keepalives_heard;

    struct etcd_call *ears; /* the stream of watches */
    int64_t next_watch;
    bool all;         /* every change is to be told */
    int64_t all_watch; /* its number on the stream; 0: not asked for yet */
    int64_t names_watch; /* deletions of records */
    char *followed;      /* the one record that is, since we lose attempts at it; NULL: none */
    int64_t followed_watch;
    uint64_t vigil, vigils; /* store_vigil(), and how many there were */
    int64_t bell_watch;
    uint64_t bell_session; /* whose bell that is */
    int64_t grants_since;  /* a grant that stood at this revision or later needs no look */
    struct hint_queue hints;
    uint64_t ended; /* our session, when etcd has let it end; 0: nothing to tell */
    struct etcd_watch *watch;
    size_t watches, watches_cap;
    struct etcd_watcher *watcher;
    size_t watchers, watchers_cap;
};

/* ---- etcd_call.c ----------------------------------------------------------------------------- */

typedef void etcd_done_fn(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                          const ProtobufCMessage *answer);

/* Sends a message and waits for one.  NULL without memory or without a connection: then nothing
 * was sent, and `done` is not called. */
struct etcd_call *etcd_call_start(struct etcd_store *s, const char *path,
                                  const ProtobufCMessage *message,
                                  const ProtobufCMessageDescriptor *answers, etcd_done_fn *done,
                                  void *arg);

/* Begins a stream, and adds messages to it; false without memory. */
struct etcd_call *etcd_stream_start(struct etcd_store *s, const char *path,
                                    const ProtobufCMessageDescriptor *answers,
                                    etcd_done_fn *done);
bool etcd_stream_send(struct etcd_store *s, struct etcd_call *c, const ProtobufCMessage *message);

/* Hands out what has come for the calls, and ends those that have ended. */
void etcd_calls_dispatch(struct etcd_store *s);

/* All of them are lost with the connection. */
void etcd_calls_lost(struct etcd_store *s);

/* HTTP/2 on a fresh connection; false without memory. */
bool etcd_http_start(struct etcd_store *s);

#define ETCD_KV_TXN "/etcdserverpb.KV/Txn"
#define ETCD_KV_RANGE "/etcdserverpb.KV/Range"
#define ETCD_LEASE_GRANT "/etcdserverpb.Lease/LeaseGrant"
#define ETCD_LEASE_REVOKE "/etcdserverpb.Lease/LeaseRevoke"
#define ETCD_LEASE_KEEP_ALIVE "/etcdserverpb.Lease/LeaseKeepAlive"
#define ETCD_LEASE_TIME_TO_LIVE "/etcdserverpb.Lease/LeaseTimeToLive"
#define ETCD_WATCH "/etcdserverpb.Watch/Watch"
#define ETCD_AUTHENTICATE "/etcdserverpb.Auth/Authenticate"
#define ETCD_STATUS "/etcdserverpb.Maintenance/Status"
#define ETCD_MEMBER_LIST "/etcdserverpb.Cluster/MemberList"

/* ---- etcd_link.c ----------------------------------------------------------------------------- */

void etcd_link_start(struct etcd_store *s); /* if there is none and it is time */
void etcd_link_step(struct etcd_store *s);
void etcd_link_flush(struct etcd_store *s);

/* Lets the connection go; the next one is tried elsewhere, at once or after a pause. */
void etcd_link_drop(struct etcd_store *s, int code, const char *why);

/* Lets it go in the middle of the greeting, for this endpoint; nothing is wrong with it. */
void etcd_link_turn_to(struct etcd_store *s, int endpoint);
void etcd_link_close(struct etcd_store *s);
struct instant etcd_link_due(const struct etcd_store *s);

/* ---- etcd_error.c ---------------------------------------------------------------------------- */

enum etcd_error_kind {
    ETCD_ERROR_REFUSED, /* it did not happen, and will not */
    ETCD_ERROR_AGAIN,   /* it did not happen: try again, elsewhere */
    ETCD_ERROR_UNSURE,  /* it may have happened */
};

/* What the end of a call means that was not answered; fills *err. */
enum etcd_error_kind etcd_error(const struct etcd_store *s, const struct etcd_call *c,
                                enum etcd_call_end end, tenure_error *err);

/* ---- etcd_hello.c ---------------------------------------------------------------------------- */

/* Finds out whether the cluster behind a new connection is the one we know. */
void etcd_hello(struct etcd_store *s);

/* The seal is not as we knew it: once more, when that has not begun already. */
void etcd_hello_again(struct etcd_store *s);

/* Goes on with the greeting of a member that is the right one to ask. */
void etcd_hello_stay(struct etcd_store *s);

/* A connection could not be greeted, or a question of the greeting could not be asked: it is let
 * go. */
void etcd_hello_failed(struct etcd_store *s, const struct etcd_call *c, enum etcd_call_end end);
void etcd_hello_not_asked(struct etcd_store *s);

/* Takes note of an answer that a quorum confirmed.  False when the store went back in time: then
 * nothing of the answer may be used. */
bool etcd_answer_note(struct etcd_store *s, const struct etcd_call *c,
                      const Etcd__ResponseHeader *header);

/* Asks what the leader counts, when that is due. */
void etcd_clock_ask(struct etcd_store *s);

/* What tokens of a name are above, when nothing of it was left at `revision`. */
uint64_t etcd_floor_at(const struct etcd_store *s, int64_t revision);

/* ---- etcd_leader.c --------------------------------------------------------------------------- */

/* Turns to the member that leads, when it is another one and an endpoint of ours; else goes on with
 * the greeting. */
void etcd_leader_seek(struct etcd_store *s, const Etcd__StatusResponse *r);

/* ---- etcd_memory.c --------------------------------------------------------------------------- */

struct etcd_record *etcd_record_known(struct etcd_store *s, const char *key); /* NULL: it is not */

/* Notes what a record is; takes a copy.  `bytes` with the stamp in front, or NULL when the version
 * is the one that is known; version 0: there is none. */
void etcd_record_note(struct etcd_store *s, const char *key, int64_t version, int64_t as_of,
                      const uint8_t *bytes, size_t len);
struct etcd_known_session *etcd_session_known(struct etcd_store *s, uint64_t id);
void etcd_session_note(struct etcd_store *s, uint64_t id, enum etcd_session_state state,
                       const struct span *ttl, int64_t as_of);
void etcd_memory_forget(struct etcd_store *s);

/* The record's clock now (not later than it is), and by how much it may be later. */
struct instant etcd_record_now(const struct etcd_store *s, const struct etcd_record *r,
                               struct instant now, struct span *ret_behind);

/* ---- etcd_work.c ----------------------------------------------------------------------------- */

struct etcd_work *etcd_work_new(struct etcd_store *s, enum etcd_work_kind kind,
                                struct store_op *op);
void etcd_work_queue(struct etcd_store *s, struct etcd_work *w); /* behind the others */
void etcd_work_fly(struct etcd_store *s, struct etcd_work *w);   /* from the queue */
void etcd_work_land(struct etcd_store *s, struct etcd_work *w);  /* it is on no list afterwards */
void etcd_work_finish(struct etcd_work *w, int code);            /* and free it */
void etcd_work_fail(struct etcd_work *w, const tenure_error *err);
void etcd_work_free(struct etcd_work *w);

/* A call of the work ended without an answer: it fails, or is queued again.  `writes`: it may have
 * changed something. */
void etcd_work_missed(struct etcd_store *s, struct etcd_work *w, const struct etcd_call *c,
                      enum etcd_call_end end, bool writes);
void etcd_works_expire(struct etcd_store *s);

/* Starts what can be started. */
void etcd_works_start(struct etcd_store *s);

/* ---- etcd_decide.c --------------------------------------------------------------------------- */

/* Decides on what is known.  Returns false when nothing is known of a record; then it is to be
 * asked for.  *ret_confirmed: all of it was said by the last answer. */
bool etcd_decide(struct etcd_store *s, struct etcd_work *w, bool *ret_confirmed);

/* Whether it took this session for alive. */
bool etcd_relies_on(const struct etcd_work *w, uint64_t session);

struct etcd_oracle {
    struct etcd_store *s;
    struct etcd_work *w; /* NULL: for a reader */
    struct instant now;
    bool all_fresh, failed;
};
enum liveness etcd_liveness(void *oracle, uint64_t session, struct instant *ret_until);

/* ---- etcd_bell.c ----------------------------------------------------------------------------- */

bool etcd_rings_at(const struct etcd_work *w, uint64_t session);

/* Adds what work n of the batch rings: to its own Txn, or to the one around all of them. */
void etcd_bells_add(struct etcd_store *s, struct etcd_txn *outer, struct etcd_txn *sub,
                    const struct etcd_batch *b, size_t n);

/* How long the request gets by what they tell, about, but for keys. */
size_t etcd_bells_bytes(const struct etcd_work *w);

/* The bells that did not fit into the commit, when many were granted at once. */
void etcd_bells_ring_rest(struct etcd_store *s, struct etcd_work *w);

/* ---- etcd_commit.c --------------------------------------------------------------------------- */

etcd_key etcd_name_key(struct etcd_store *s, const char *name);
etcd_key etcd_session_key(struct etcd_store *s, uint64_t id);
unsigned etcd_bucket(const char *name); /* the NN of gone/NN and lost/NN */
etcd_key etcd_bucket_key(struct etcd_store *s, const char *what, const char *name);

/* A Txn that demands that the seal is as we know it. */
struct etcd_txn *etcd_txn_sealed(struct etcd_store *s);

/* That all is as it was when w was decided; without this session, which is compared with already
 * (0: none is). */
void etcd_commit_if(struct etcd_store *s, struct etcd_txn *t, const struct etcd_work *w,
                    uint64_t compared);

/* Else: what it is. */
void etcd_commit_else(struct etcd_store *s, struct etcd_txn *t, const struct etcd_work *w);

/* What it writes, but for bells. */
void etcd_commit_writes(struct etcd_store *s, struct etcd_txn *t, const struct etcd_work *w);

/* It happened: what was written is what is there. */
void etcd_commit_done(struct etcd_store *s, const struct etcd_work *w, int64_t revision);

/* It did not: notes what etcd_commit_else() has found; `nested` NULL: in the answer itself. */
void etcd_commit_failed(struct etcd_store *s, const struct etcd_work *w,
                        const Etcd__TxnResponse *answer, const Etcd__SubTxnResponse *nested,
                        int64_t as_of);

/* Notes what a Range of a name has found; NULL: nothing was said. */
void etcd_record_take(struct etcd_store *s, const char *name, const Etcd__RangeResponse *r,
                      int64_t as_of);

/* Notes what a record is, as one of our watches or Ranges has found it. */
void etcd_record_hear(struct etcd_store *s, const char *name, const Etcd__KeyValue *kv,
                      int64_t as_of);

/* Notes what a Range of session/ID and what is below it has found. */
void etcd_session_take(struct etcd_store *s, uint64_t id, const Etcd__RangeResponse *r,
                       int64_t as_of);

/* ---- etcd_batch.c ---------------------------------------------------------------------------- */

struct etcd_batch *etcd_batch_new(void); /* NULL without memory */

/* Takes a work that was decided, and writes; false: not together with those in it. */
bool etcd_batch_add(struct etcd_store *s, struct etcd_batch *b, struct etcd_work *w);

/* Sends it, and frees it when all is answered; at once when it is empty. */
void etcd_batch_start(struct etcd_store *s, struct etcd_batch *b);

/* Sends a work that writes nothing: whether what it was decided on is so. */
void etcd_batch_confirm(struct etcd_store *s, struct etcd_work *w);

/* ---- etcd_update.c --------------------------------------------------------------------------- */

void etcd_update(struct store *store, struct store_update *op);
void etcd_updates_start(struct etcd_store *s);

/* Ends a work that was answered, or sends it back to the queue. */
void etcd_update_settle(struct etcd_store *s, struct etcd_work *w, bool done);

/* Sends one back to the queue that nothing is known of. */
void etcd_update_again(struct etcd_store *s, struct etcd_work *w);

/* Notes what a Range of all sessions, keys only, has found: in the order of ids. */
void etcd_census_take(struct etcd_store *s, const Etcd__RangeResponse *r, int64_t as_of);

/* ---- etcd_session.c -------------------------------------------------------------------------- */

void etcd_session_open(struct store *store, struct store_session_open *op);
void etcd_session_renew(struct store *store, struct store_session_renew *op);
void etcd_session_close(struct store *store, struct store_session_close *op);
void etcd_session_start(struct etcd_store *s, struct etcd_work *w);

/* Nothing hangs on it any more.  No matter if it gets lost: a lease runs out by itself. */
void etcd_lease_revoke(struct etcd_store *s, int64_t lease);

/* Takes away what sessions left that expired long ago (session/ID/left), as far as a census has
 * shown them; they are called closed from then on. */
void etcd_sessions_tidy(struct etcd_store *s);
void etcd_keepalives_lost(struct etcd_store *s);

/* ---- etcd_read.c ----------------------------------------------------------------------------- */

void etcd_read(struct store *store, struct store_read *op);
void etcd_read_start(struct etcd_store *s, struct etcd_work *w);

/* ---- etcd_hint.c ----------------------------------------------------------------------------- */

void etcd_watch_sessions(struct store *store, const char *key, const uint64_t *session,
                         uint32_t count);
int etcd_watch_all(struct store *store, bool on, tenure_error *err);
bool etcd_next_hint(struct store *store, struct store_hint *ret);
uint64_t etcd_vigil(struct store *store);
void etcd_ears_step(struct etcd_store *s); /* asks for what is to be heard */

/* A decision was done: whoever rings for what it changed rings later than that. */
void etcd_bell_acted(struct etcd_store *s, int64_t revision);

/* From here on a grant needs no look only when it stood at this revision or later. */
void etcd_grants_since(struct etcd_store *s, int64_t revision);
void etcd_ears_lost(struct etcd_store *s);
void etcd_hint_ended(struct etcd_store *s, uint64_t session);
struct instant etcd_hint_due(const struct etcd_store *s);

/* ---- etcd_examine.c -------------------------------------------------------------------------- */

void etcd_examine(struct store *store, void (*fn)(void *arg, bool fine, const char *text),
                  void *arg);

/* ---- etcd.c ---------------------------------------------------------------------------------- */

void etcd_process(struct store *store);

/* Turns until `done` says so, or the limit has come. */
bool etcd_turn_until(struct etcd_store *s, bool (*done)(const struct etcd_store *s),
                     struct instant limit);

static inline struct etcd_store *etcd_of(struct store *store)
{
    return (struct etcd_store *)(void *)store; /* the first member */
}

#endif
