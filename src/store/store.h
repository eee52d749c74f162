/* store/store.h - the contract between the rules and an engine.
 *
 * A store keeps three things:
 *   records   one per name: a version-controlled blob of at most STORE_RECORD_MAX bytes
 *   sessions  who is alive: an id that is unique for ever, a ttl, and when it was last heard of
 *   a floor   for tokens, which only grows, for ever, whatever is deleted
 *
 * and has one hard job: to apply a pure function to one or a few records *atomically*.  All
 * rules are in core/rules.h; a store never looks into a record.
 *
 * THE CLOCK.  A store has a clock of its own, an instant in milliseconds that never goes back,
 * that no wall-clock step moves, and that the record's instants are measured on.  Only the store
 * reads it.  It may stand still while the store is down: then everything lasts longer, never
 * shorter.  A store that cannot read a clock may show the earliest instant that it can be, and in
 * facts.behind how much later it can be.
 *
 * SESSIONS.  The store decides who is dead, and its word is final: once session_renew() or
 * facts.liveness() has said so about a session, no call says anything else.  A session is dead
 * when ttl has passed since the *receipt* of its last renewal, when it was closed, or as soon as
 * the engine knows that its process has ended.  A commit that depends on a session being alive
 * (decide() asked facts.liveness()) must not take effect when it is not.
 *
 * NOTICE.  When a decision tells a session to stop (effects.notice), its seat ends a ttl after
 * facts.now whatever happens.  So every renewal that the store receives after facts.now must be
 * answered with `noticed` until one such answer has arrived; where the decision and its commit are
 * two instants, the commit must not take effect when that session was renewed in between (P3).
 *
 * OUTCOMES.  Each operation ends with 0 or a tenure_code.  Three must never be mixed up:
 *   0                    it happened, once, and is as durable as the engine promises
 *   an error             it did not happen
 *   TENURE_UNSURE        it may have happened; asking again with the same ticket tells
 * TENURE_UNREACHABLE and TENURE_BUSY count as errors: nothing happened.
 *
 * DURABILITY.  A store that serves other machines is durable for each grant.  A store whose
 * holders all die with the machine may lose the last commits together with it, as long as the
 * token floor is ahead of every token that it gave out before.
 *
 * ASYNCHRONY.  An operation is a struct of the caller's that it keeps alive until it is done.
 * store_update() and its kin *start* it.  An embedded engine finishes at once and `done` is true
 * on return; another one finishes it within store_process().  There are no callbacks: who waits
 * looks at `done`.  An operation in flight is given up with store_abandon(): then it is done,
 * with TENURE_UNSURE, and the engine never touches it again.  It may still be under way: by the
 * time the next update of the same key by this handle is done, it must have taken effect or must
 * never do so (an engine that compares versions writes a new one), or a ticket could enter a record
 * after its owner has seen that it is not there (P2).
 *
 * GRANTS.  A verdict is of a moment between the start of its operation and its end.  There is one
 * exception, for engines that hear of commits: a decision that writes nothing, says `granted`, and
 * relies on no session but the handle's own may rest on an earlier state of its one record.  That
 * state was committed; no later one is known; and it is not older than the last renewal of the
 * session that was answered.  So whoever has told the holder to stop committed that later still,
 * and the next renewal that is answered says so (NOTICE): P3 holds as after any grant.  It is not
 * older, either, than the vigil of now, so that a deletion since then is told.  An engine that
 * cannot tell which state is the older one may rest on any that was committed when the decision
 * says `undisturbed`: since the ticket was drawn the vigil has been the same, and no renewal has
 * been answered with `noticed`; and it was asked for once.  No ticket is drawn twice, so the grant
 * is not older than that.
 *
 * HINTS.  store_next_hint() tells that a name may have changed for this handle's session (it was
 * rung, or a session that it watches has ended), or that its own session has ended.  Hints may
 * be lost, late, or for nothing; who relies on one also looks again after TIMING_NOTICE_MS.
 *
 * THREADS.  One at a time per store handle; the library's handle mutex sees to it.  Operations
 * of an embedded store take the calling thread for at most `patience`.
 *
 * Every engine passes tests/store/contract.c; how to add one: docs/adding-a-store.md.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenure/error.h>

#include "core/rules.h"

#define STORE_RECORD_MAX (640 * 1024)
#define STORE_KEYS_MAX 4

struct store;

/* A record as a decision sees it. */
struct store_record {
    const char *key; /* NUL-terminated, a checked name */
    const void *bytes; /* borrowed; NULL when there is no such record */
    size_t len;
};

/* What becomes of a record. */
struct store_write {
    enum { STORE_KEEP = 0, STORE_PUT, STORE_DELETE } what;
    void *bytes; /* the engine's buffer, STORE_RECORD_MAX bytes: fill it for STORE_PUT */
    size_t len;
};

/* A decision in the making. */
struct store_view {
    struct facts facts; /* facts.token_floor is written back with a put or delete */
    int count;
    struct store_record in[STORE_KEYS_MAX];
    struct store_write out[STORE_KEYS_MAX];
    struct effects *fx; /* whom to ring, who must take notice; cleared before each call */
    bool granted; /* out: the verdict is a grant that was not known before; GRANTS above */
    bool undisturbed; /* out: nothing happened since its ticket was drawn that could undo it */

    /* Where each record has a clock of its own, facts.now is the latest of them; who compares
     * instants of several records takes store_facts_of(). */
    bool own_clocks;
    struct {
        struct instant now;
        struct span behind;
    } clock[STORE_KEYS_MAX];
};

/* The facts by the clock of record i.  A token that is drawn must be given back to view->facts. */
static inline struct facts store_facts_of(const struct store_view *view, int i)
{
    struct facts f = view->facts;
    if (view->own_clocks) {
        f.now = view->clock[i].now;
        f.behind = view->clock[i].behind;
    }
    return f;
}

/* Decides; called once or again with fresher facts, so it must depend on nothing else.  Returns a
 * value >= 0 that becomes op->verdict, or a negative tenure_code that ends the operation with
 * nothing written. */
typedef int store_decide_fn(void *arg, struct store_view *view);

/* The head of every operation. */
struct store_op {
    bool done;
    int code; /* 0 or a tenure_code; valid when done */
    tenure_error error; /* valid when code < 0 */
    struct store_op *next; /* the engine's, while in flight */
};

struct store_update {
    struct store_op op;
    /* the caller's */
    int count;
    const char *key[STORE_KEYS_MAX];
    store_decide_fn *decide;
    void *arg;
    bool look_first; /* most likely nothing changes: try without the right to write first */
    bool ephemeral;  /* what it changes belongs to sessions: an engine may lose it when all of them
                        have ended */
    /* the engine's */
    int verdict;
};

struct store_session_open {
    struct store_op op;
    struct span ttl;
    uint64_t session; /* out: unique for ever, never 0 */
};

struct store_session_renew {
    struct store_op op; /* TENURE_LOST: the store says that the session is dead */
    uint64_t session;
    bool noticed; /* out: somebody was told to stop since the last answered renewal: NOTICE above */
};

struct store_session_close {
    struct store_op op; /* 0 also when it was dead before */
    uint64_t session;
    bool claims_left; /* records still name it: an engine that can remembers when it ended */
};

/* Reads all records whose key starts with prefix, in order of their keys, each as of one moment
 * between start and end; fn returns false to stop.  fn may call facts->liveness and change its
 * copy of the record; nothing is written. */
typedef bool store_read_fn(void *arg, const struct store_record *record, struct facts *facts);
struct store_read {
    struct store_op op;
    const char *prefix;
    const char *after; /* NULL, or only keys behind this one: a cursor */
    store_read_fn *fn;
    void *arg;
};

/* A hint; see HINTS above. */
struct store_hint {
    bool all;          /* look at everything: which name it was is not known */
    uint64_t key_hash; /* store_key_hash() of the name, when not all */
    uint64_t ended;    /* this session of the handle's has ended, and will not come back; 0: none */
};

struct store_ops {
    const char *scheme; /* "sqlite" */
    void (*close)(struct store *s);
    void (*update)(struct store *s, struct store_update *op);
    void (*session_open)(struct store *s, struct store_session_open *op);
    void (*session_renew)(struct store *s, struct store_session_renew *op);
    void (*session_close)(struct store *s, struct store_session_close *op);
    void (*read)(struct store *s, struct store_read *op);

    /* Gives up an operation in flight. */
    void (*abandon)(struct store *s, struct store_op *op);

    /* Hints for this session: a hint as soon as one of `count` sessions ends, until called again
     * for the same key (count 0: no more). */
    void (*watch_sessions)(struct store *s, const char *key, const uint64_t *session,
                           uint32_t count);

    /* Turns hints about every change in the store on or off (observers). */
    int (*watch_all)(struct store *s, bool on, tenure_error *err);

    /* Takes a hint: true, and *ret is filled. */
    bool (*next_hint)(struct store *s, struct store_hint *ret);

    /* For an engine that gives a hint about each record that somebody deletes: a number, another
     * one whenever such a hint may have been missed; 0: it does not hear of them now.  What was
     * seen to be there under the number of now needs no look to know that it still is.  NULL: this
     * engine tells of no deletions. */
    uint64_t (*vigil)(struct store *s);

    /* Readable when process() or next_hint() has work; the same number for the handle's life. */
    int (*fd)(struct store *s);

    /* Finishes what has finished; called when fd is readable and at least each `due`. */
    void (*process)(struct store *s);

    /* When process() wants to be called at the latest, on the holder's clock (os/clock.h).
     * INSTANT(0): as soon as the caller has nothing more to ask; what it asks before goes along. */
    struct instant (*due)(struct store *s);

    /* In the child after fork(): closes descriptors, so that the child keeps nothing of the
     * parent's alive, and touches no file.  Only close() may follow. */
    void (*forked)(struct store *s);

    /* A new descriptor (close-on-exec, the caller's to close) that keeps the session's process
     * "running" for the store as long as any process has it open: for the guardian of a
     * supervisor, which outlives it.  Renewals are needed all the same.  -1 when there is no
     * session.  NULL: this engine's sessions do not hang on a process. */
    int (*lifeline)(struct store *s);

    /* Tells the person who asks what is unsafe here (doctor): one call of fn per finding. */
    void (*examine)(struct store *s, void (*fn)(void *arg, bool fine, const char *text), void *arg);

    /* Where it is, as a URL that tenure_open() takes. */
    const char *(*url)(struct store *s);
};

struct store {
    const struct store_ops *ops;
};

/* To open a server may take longer than to renew: nothing can expire meanwhile. */
#define STORE_OPENING_MS 5000

/* Options of opening. */
struct store_options {
    struct span patience; /* an embedded engine may block a call for so long: ttl/6 */
    struct span opening;  /* how long to wait for a store that does not answer; 0: as it sees fit */
    bool create;          /* make it when it does not exist (where that takes no store_init()) */
    bool lazy;            /* open its files and libraries when they are needed: TENURE_LAZY */
};

static inline struct span store_opening(const struct store_options *opt)
{
    return opt->opening.ms > 0 ? opt->opening : SPAN(STORE_OPENING_MS);
}

/* Opens the store that the URL names (src/store/open.c has the table of engines).  Returns 0 or a
 * tenure_code with *err filled. */
int store_open(const char *url, const struct store_options *opt, struct store **ret,
               tenure_error *err);

/* Makes the store's schema, or brings it up to our version, where an engine wants that to be done
 * by somebody with the right to; else, and when it is there, nothing happens.  May wait. */
int store_init(const char *url, tenure_error *err);

/* The way out of TENURE_WENT_BACK: accepts the store as it is, and lifts its tokens above `above`
 * and above all that it can know of.  TENURE_BUSY while sessions of it run, TENURE_INVALID for an
 * engine that keeps its own history, and what store_open() fails with. */
int store_raise(const char *url, uint64_t above, tenure_error *err);

/* FNV-1a, 64 bits; of a key: what a hint carries. */
uint64_t store_hash(const void *bytes, size_t len);
uint64_t store_key_hash(const char *key);

/* Ends an operation: done, with a code and, for an error, a text (printf-like). */
void store_op_finish(struct store_op *op, int code);
void store_op_fail(struct store_op *op, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- calls through the table --------------------------------------------------------------- */

static inline int store_lifeline(struct store *s)
{
    return s->ops->lifeline ? s->ops->lifeline(s) : -1;
}

static inline uint64_t store_vigil(struct store *s)
{
    return s->ops->vigil ? s->ops->vigil(s) : 0;
}

static inline void store_update(struct store *s, struct store_update *op)
{
    op->op.done = false;
    s->ops->update(s, op);
}

static inline void store_session_open(struct store *s, struct store_session_open *op)
{
    op->op.done = false;
    s->ops->session_open(s, op);
}

static inline void store_session_renew(struct store *s, struct store_session_renew *op)
{
    op->op.done = false;
    op->noticed = false;
    s->ops->session_renew(s, op);
}

static inline void store_session_close(struct store *s, struct store_session_close *op)
{
    op->op.done = false;
    s->ops->session_close(s, op);
}

static inline void store_read(struct store *s, struct store_read *op)
{
    op->op.done = false;
    s->ops->read(s, op);
}

#endif
