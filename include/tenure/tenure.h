/* tenure/tenure.h - locks, leases and elections that say when they end.
 *
 * The pages that are named here are in share/doc/tenure, and in docs/ of the sources.
 *
 * WHAT IS NOT PROMISED.  Read this first.
 *
 *  - A tenure is a belief with a deadline.  Between tenure_check() and your next instruction
 *    the process can be stopped for an hour.  Only a guard where the write lands (see
 *    guard-sqlite.md) turns the belief into a fact: give it the token.
 *  - tenure cannot stop your threads.  When a tenure is lost it tells you, no later than the
 *    deadline; `tenure lock` and `tenure lead` (the command line) also end the process tree.
 *  - A background pump renews while your program hangs.  Set max_silence_ms, or a dead worker
 *    keeps its lock.
 *  - Tokens of one name grow strictly; they are not consecutive.
 *  - TENURE_UNSURE is not a no: it may have happened.
 *
 * HOW IT WORKS.  A handle (`tenure`) is one program's connection to a store, with one session
 * that is renewed every ttl/3 whatever it holds.  A claim (`tenure_claim`) is one ticket in
 * that session: asked for, waiting in the queue, held, and in the end released or lost.  The
 * deadline of everything that a session holds is counted on CLOCK_BOOTTIME from the moment at
 * which its last successful renewal was SENT, so no clock step, suspend or late reply extends it.
 *
 * THREE SPEEDS, ONE MACHINE.
 *  - Blocking: tenure_acquire(), work, tenure_release(); call tenure_process() at least every
 *    ttl/6, or let TENURE_PUMP do it in a thread.
 *  - Event loop: poll tenure_fd() for readability and call tenure_process(), then
 *    tenure_next_event() until it returns 0.  The descriptor never changes.  With terms.later and
 *    tenure_leave() nothing waits for a store on the network (examples/jobs.c).
 *  - Background: TENURE_PUMP.  The pump takes what tenure_fd() would tell, so a program with a
 *    pump does not poll it: it asks tenure_check() where it matters, and tenure_next_event() at
 *    its own rhythm.
 *
 * THREADS.  A handle may be used by any number of threads; calls take the handle's own mutex
 * for a short time (never while waiting).  tenure_check() takes none and is wait-free.
 * FORK.  In a child every call on a handle of the parent returns TENURE_FORKED;
 * tenure_close() there frees memory and touches nothing of the parent's.
 * TIME.  Every duration is in milliseconds, in an int64_t whose name ends in _ms.
 * WAITING.  A call that has to ask the store waits for its answer for one attempt (ttl/6 of the
 * handle), tenure_ask() for two, unless it is for later, tenure_look() for a ttl; tenure_wait(),
 * tenure_acquire(), tenure_transfer() and tenure_watch() wait as they are told.  tenure_open() may
 * take some seconds.
 * ERRORS.  A call that can fail in words takes a tenure_error, which may be NULL.  What a call
 * returns through a pointer is untouched when it fails.
 * VERSIONS.  A struct that begins with a size grows at its end only.  Start from its initialiser:
 * then a program goes on with a newer library, and with an older one as long as it leaves at zero
 * what that does not know; else it is told so (TENURE_INVALID).
 * SIGNALS.  The library sets no handler, and no SIGPIPE comes from it.
 *
 * EXAMPLE (compiled and run by the tests: examples/lock.c)
 *
 *     tenure *t;
 *     tenure_claim *c;
 *     tenure_error err;
 *     if (tenure_open(NULL, NULL, &t, &err) < 0) die(err.text);
 *     tenure_terms terms = TENURE_TERMS_INIT;
 *     if (tenure_acquire(t, "billing/invoices", &terms, &c, &err) < 0) die(err.text);
 *     while (work_left() && tenure_process(t) >= 0 && tenure_check(c) > 0)
 *         write_with_token(tenure_claim_token(c)); // a piece of less than ttl/6
 *     tenure_release(c, NULL);
 *     tenure_close(t);
 */
#ifndef TENURE_H
#define TENURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenure/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TENURE_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TENURE_MUST_CHECK
#endif

#define TENURE_FOREVER (-1) /* a wait without limit */

typedef struct tenure tenure;             /* a connection to a store, with at most one session */
typedef struct tenure_claim tenure_claim; /* one ticket: asking, waiting, held, ended */
typedef uint64_t tenure_token;            /* fencing token; 0 is never granted */

/* ---- opening and closing ------------------------------------------------------------------ */

enum {
    TENURE_PUMP = 1 << 0,     /* renew and process in a background thread of the library */
    TENURE_EXISTING = 1 << 1, /* make no store: one that is not there is TENURE_ABSENT.  (In
                               * PostgreSQL none is made anyway; it is TENURE_FOREIGN without) */
    TENURE_LAZY = 1 << 2,     /* open no more of the store than is needed, and the rest when it is:
                               * on a file that nobody has touched, a few ms saved at the start.
                               * For programs that later neither give up rights nor change their
                               * root, which could not open the rest then.  Servers: no effect */
};

typedef struct tenure_options {
    size_t size;            /* sizeof(tenure_options); set by the initialiser */
    int64_t ttl_ms;         /* 500 ms to 24 h; how long the store waits for a silent session */
    const char *as;         /* who we are, up to 128 bytes of UTF-8; NULL: "host:pid" */
    unsigned flags;         /* TENURE_PUMP, TENURE_EXISTING, TENURE_LAZY, or 0 */
    int64_t max_silence_ms; /* 0: off.  Else, while something is held, renewals stop when
                             * tenure_checkin() is overdue: counted from the grant, with or without
                             * a pump.  Who holds nothing keeps its place however silent it is */
    int64_t open_ms;        /* tenure_open() waits so long for a store that does not answer, 1 ms to
                             * 24 h; 0: 5 s for a server, 3 s or ttl/6 for a file */
} tenure_options;

#define TENURE_OPTIONS_INIT { sizeof(tenure_options), 10000, NULL, 0, 0, 0 }

/* Opens a store.
 *   where  "sqlite:PATH", "postgres://USER@HOST/DATABASE", "etcd://HOST:PORT,.../PREFIX" or
 *          "memory:NAME" (within this process), see stores.md; NULL: $TENURE_STORE, else the
 *          default file of the user.
 *   opt    NULL for the defaults.  Copied.
 *   ret    untouched on failure; the caller closes it with tenure_close().
 * No session is made before something is asked for: to look costs the store nothing.
 * Errors: TENURE_INVALID (a bad URL or option), and every code of the classes denied and
 * unreachable. */
int tenure_open(const char *where, const tenure_options *opt, tenure **ret,
                tenure_error *err) TENURE_MUST_CHECK;

/* Releases every claim, ends the session and frees the handle with all its claims.  NULL is
 * fine.  Returns NULL.  Waits for at most one attempt (ttl/6); what could not be released
 * then ends by the session's expiry. */
tenure *tenure_close(tenure *t);

/* Where the store is, as a URL that tenure_open() takes from any working directory.  Valid as
 * long as the handle. */
const char *tenure_where(const tenure *t);

/* ---- asking and waiting ------------------------------------------------------------------- */

typedef enum tenure_kind {
    TENURE_LOCK = 1,     /* permission for one critical section */
    TENURE_LEASE = 2,    /* see tenure_lease_take(); never asked for with tenure_ask() */
    TENURE_ELECTION = 3, /* a role with an epoch (the token) and a published value */
} tenure_kind;

typedef struct tenure_terms {
    size_t size;      /* sizeof(tenure_terms); set by the initialiser */
    tenure_kind kind; /* TENURE_LOCK or TENURE_ELECTION */
    bool shared;      /* held together with other shared holders; only with permits == 1 */
    unsigned permits; /* 1 to 256: so many may hold at once; all who ask must agree */
    int priority;     /* -1000 to 1000, higher is served first; equal ones in order of asking */
    int64_t wait_ms;  /* TENURE_FOREVER, 0 (try), or a limit; used by tenure_acquire() */
    const char *value; /* published beside the claim, up to 1024 bytes of UTF-8; NULL: empty */
    bool later;       /* tenure_ask() does not wait for the store's first answer; not with a try */
    char unused[7];   /* zero: an older library looks at all that it does not know */
} tenure_terms;

#define TENURE_TERMS_INIT { sizeof(tenure_terms), TENURE_LOCK, false, 1, 0, TENURE_FOREVER, NULL, \
                            false, {0} }

/* Asks for a name; returns with a claim that is asking, waiting or already held.
 *   name   segments of letters, digits and "._-:@+=,~%" joined by "/"; see names.md.
 *          Copied, as the terms are.
 *   terms  NULL for the defaults.
 *   ret    owned by the handle; ended with tenure_release() or tenure_leave(), also when it was
 *          lost or refused.
 * With terms->wait_ms == 0 the claim never enters the queue: it is held or refused.
 * Waits for the store's first answer, for at most two attempts (ttl/3).  With terms->later it does
 * not wait at all: what a networked store says comes as TENURE_EVENT_GRANTED or
 * TENURE_EVENT_REFUSED, and that it cannot be used in tenure_trouble(), while it goes on asking;
 * what is known at once, as on this machine, is returned all the same.
 * Errors: TENURE_INVALID, TENURE_HELD (try), TENURE_CONFLICT (the name is used with another
 * kind or number of permits), TENURE_CROWDED, denied and unreachable ones; after any of them there
 * is no claim.  When the question was sent and its answer did not come there is one that is still
 * asking: the ticket makes sure that it is granted at most once (a try gives TENURE_UNSURE and no
 * claim). */
int tenure_ask(tenure *t, const char *name, const tenure_terms *terms, tenure_claim **ret,
               tenure_error *err) TENURE_MUST_CHECK;

/* Waits until the claim is held (0).  TENURE_TIMED_OUT after wait_ms: the claim still waits, so
 * wait again or release it.  Outages of the store are waited out (tenure_trouble() tells): when
 * the session dies meanwhile the claim stands in line again, with a new ticket, at the end.
 * TENURE_LOST or TENURE_EVICTED when it was held and is over; TENURE_CONFLICT or TENURE_CROWDED
 * when the store's first answer came late, and was that it cannot be asked for so. */
int tenure_wait(tenure_claim *c, int64_t wait_ms, tenure_error *err) TENURE_MUST_CHECK;

/* tenure_ask() and tenure_wait(terms->wait_ms); when that fails nothing is left behind: no
 * claim, no place in the queue, and a grant that came too late is given back. */
int tenure_acquire(tenure *t, const char *name, const tenure_terms *terms, tenure_claim **ret,
                   tenure_error *err) TENURE_MUST_CHECK;

/* Gives up whatever the claim is, a place in the queue or the tenure, and frees it: do not use
 * it again.  0 when it was released by us; TENURE_LOST when it had ended before; TENURE_UNSURE or
 * an unreachable code when the store did not say: then the handle goes on trying until the
 * session has expired.  In a forked child it is TENURE_FORKED, and nothing is freed (tenure_close()
 * does that).  NULL is fine. */
int tenure_release(tenure_claim *c, tenure_error *err);

/* The same without waiting for the store: for loops that ask for the same name again, and for
 * event loops.  Without a pump, and with no next question at hand, use tenure_release(): what has
 * left would stay held until the next turn.  The ticket leaves with the next tenure_ask() or
 * tenure_acquire() of this handle for its name, in one request with it, and alone after 2 ms when
 * none comes, in the next turn (the pump's, tenure_process(), or any call that may ask the
 * store); until then it is held for all others.  Of several that left a name each question takes
 * one.  Whoever waits is served before who asks with it.  0, also when it was never granted;
 * TENURE_LOST or TENURE_EVICTED when it is known to have ended before; TENURE_FORKED as above.
 * What the store says to it is not told: the handle goes on trying until the session has
 * expired. */
int tenure_leave(tenure_claim *c, tenure_error *err);

/* Why the store could not be used when it was last tried: its code, with *ret (may be NULL)
 * filled, or 0 when all is well. */
int tenure_trouble(tenure *t, tenure_error *ret);

/* ---- while it is held --------------------------------------------------------------------- */

typedef enum tenure_standing {
    TENURE_STANDING = 1, /* held */
    TENURE_DOUBTFUL = 2, /* held, but no renewal succeeded since ttl/2: prepare to stop */
    TENURE_WAITING = 3,  /* asked for, not granted yet */
} tenure_standing;

/* Any thread, wait-free, no system call: TENURE_STANDING, TENURE_DOUBTFUL, TENURE_WAITING,
 * TENURE_LOST, TENURE_EVICTED or TENURE_FORKED; TENURE_CONFLICT or TENURE_CROWDED for one that was
 * refused later.  Once it said lost or refused it never says anything else. */
int tenure_check(const tenure_claim *c);

/* Any thread: 0 before it is granted. */
tenure_token tenure_claim_token(const tenure_claim *c);

/* Valid as long as the claim. */
const char *tenure_claim_name(const tenure_claim *c);

/* "session.serial", unique for ever.  Valid as long as the claim; a claim that has to stand in line
 * again gets another one, so read it once it is granted. */
const char *tenure_claim_ticket(const tenure_claim *c);

/* Any thread: milliseconds from now until the deadline; 0 when it has passed or nothing is held. */
int64_t tenure_claim_left(const tenure_claim *c);

/* Any thread: when what is held must be let go of, in milliseconds of CLOCK_BOOTTIME (as
 * tenure_now() is); 0 when nothing is held. */
int64_t tenure_claim_deadline(const tenure_claim *c);
int64_t tenure_now(void);

/* An elected leader says that it now does its work: who waits for a transfer is told.  0, or
 * TENURE_LOST, TENURE_STATE, unreachable and unsure ones. */
int tenure_serving(tenure_claim *c, tenure_error *err) TENURE_MUST_CHECK;

/* Replaces the published value of a claim that is held; same limits as terms->value. */
int tenure_publish(tenure_claim *c, const char *value, tenure_error *err) TENURE_MUST_CHECK;

/* A new descriptor, close-on-exec and the caller's to close, that keeps the session's process
 * "running" for the store as long as any process has it open: for a second process that must end
 * before others may take over, like the guardian of `tenure lock`.  Renewals are needed all the
 * same.  -1 when there is no session yet, or when the store's sessions do not hang on a process:
 * then the second process calls tenure_end_session() instead. */
int tenure_lifeline(tenure *t);

/* The id of the session that holds all claims of the handle; 0 while there is none. */
uint64_t tenure_session(tenure *t);

/* Ends a session of this store from outside, and with it all that it holds: for who knows that its
 * process has ended, and that nothing of it goes on.  Also 0 when it had ended before.  Waits for
 * at most ttl/3 of the handle `t`. */
int tenure_end_session(tenure *t, uint64_t session, tenure_error *err) TENURE_MUST_CHECK;

/* Says that the program is alive (max_silence_ms).  Any thread. */
void tenure_checkin(tenure *t);

/* While on, the session is not renewed: what it holds becomes doubtful and ends by the clock.
 * For health gates.  Any thread. */
void tenure_withhold(tenure *t, bool on);

/* ---- events ------------------------------------------------------------------------------- */

typedef enum tenure_event_kind {
    TENURE_EVENT_GRANTED = 1, /* it is held now; also when it was at once */
    TENURE_EVENT_DOUBTFUL,    /* no renewal since ttl/2 */
    TENURE_EVENT_SAFE,        /* doubt is over */
    TENURE_EVENT_ASKED_TO_STOP, /* an operator evicts, resigns or transfers it: stop, release */
    TENURE_EVENT_LOST,        /* final; `reason` says why */
    TENURE_EVENT_REFUSED,     /* it cannot be asked for so; final; `reason` says why */
} tenure_event_kind;

typedef struct tenure_event {
    tenure_event_kind kind;
    tenure_claim *claim; /* borrowed; never one that was released */
    int code;            /* for LOST: TENURE_LOST or TENURE_EVICTED; for REFUSED: TENURE_CONFLICT or
                          * TENURE_CROWDED; else 0 */
    char reason[240];    /* for people, complete: "evicted by anna: it hangs" */
} tenure_event;

/* Readable when tenure_process() has work, or another call has brought about an event (without
 * TENURE_PUMP).  Valid until tenure_close(); never read from it. */
int tenure_fd(const tenure *t);

/* Does whatever is due: renewals, replies, wake-ups.  Never blocks for longer than one attempt
 * (ttl/6) of an embedded store.  0, or TENURE_FORKED. */
int tenure_process(tenure *t);

/* Takes the next event: 1 and *ret is filled, 0, or TENURE_FORKED.  Those of one claim come in the
 * order of the list above, and all claims are heard in turn; a kind that happened twice since the
 * last call is told once. */
int tenure_next_event(tenure *t, tenure_event *ret);

/* ---- leases: ownership that outlives the process ------------------------------------------- */

/* Takes a lease for `owner`, for ttl_ms from now (500 ms to 366 d).  TENURE_HELD when another
 * lease stands, whoever owns it. */
int tenure_lease_take(tenure *t, const char *name, const char *owner, int64_t ttl_ms,
                      tenure_token *ret, tenure_error *err) TENURE_MUST_CHECK;

/* Extends the lease with this token to ttl_ms from now.  TENURE_NOT_OWNED when that token does
 * not stand any more, also when nobody else was in between: an expired lease never revives. */
int tenure_lease_renew(tenure *t, const char *name, tenure_token token, int64_t ttl_ms,
                       tenure_error *err) TENURE_MUST_CHECK;

/* Ends the lease with this token.  TENURE_NOT_OWNED as above. */
int tenure_lease_drop(tenure *t, const char *name, tenure_token token,
                      tenure_error *err) TENURE_MUST_CHECK;

/* ---- operators ---------------------------------------------------------------------------- */

/* Ends exactly the tenure with this token.  A dead holder's ends at once; a live one is told to
 * stop and keeps its seat until it has, at the latest its ttl from now.  `by` and `reason` (up
 * to 200 bytes of UTF-8) go into the history.  TENURE_NOT_OWNED when the token does not stand. */
int tenure_evict(tenure *t, const char *name, tenure_token token, const char *by,
                 const char *reason, tenure_error *err) TENURE_MUST_CHECK;

/* Asks the leader of an election to resign; the next candidate takes over.  *ret_token: the
 * epoch that was asked to end. */
int tenure_resign(tenure *t, const char *name, const char *by, tenure_token *ret_token,
                  tenure_error *err) TENURE_MUST_CHECK;

/* Hands an election over to the waiting candidate known as `to` (its `as`, or its ticket) and
 * waits up to wait_ms until it serves.  When it does not, the former leader is preferred again.
 * 0: it serves, or has and ended already; *ret_token is its epoch.  TENURE_NOT_OWNED: no such
 * candidate or no leader.  TENURE_TIMED_OUT: rolled back. */
int tenure_transfer(tenure *t, const char *name, const char *to, const char *by, int64_t wait_ms,
                    tenure_token *ret_token, tenure_error *err) TENURE_MUST_CHECK;

/* Makes a store, or brings it up to this version, where that is an operator's affair: a schema in
 * a database server.  Others are made when they are first opened, and for them, and where there is
 * nothing to do, this does nothing.  `where` as in tenure_open().  May wait for ten seconds. */
int tenure_init(const char *where, tenure_error *err) TENURE_MUST_CHECK;

/* Accepts a store that went back in time (TENURE_WENT_BACK): from now on it gives out only tokens
 * above `above`, which must be the highest that any guard or log has seen, and above all that the
 * store knows of, which may be more.  `where` as in tenure_open().  TENURE_INVALID for a number
 * above those of tokens, or a store that keeps its own history. */
int tenure_raise(const char *where, tenure_token above, tenure_error *err) TENURE_MUST_CHECK;

/* ---- looking ------------------------------------------------------------------------------ */

typedef enum tenure_ticket_state {
    TENURE_TICKET_WAITING = 1,
    TENURE_TICKET_HELD = 2,    /* holds */
    TENURE_TICKET_SERVING = 3, /* holds, and said that it works */
    TENURE_TICKET_ENDING = 4,  /* holds, and was told to stop */
} tenure_ticket_state;

typedef struct tenure_ticket_info {
    tenure_ticket_state state;
    tenure_token token; /* 0 while waiting */
    const char *ticket, *as, *value;
    bool shared;
    int priority;
    int64_t ttl_ms;
    int64_t since_ms;      /* age of the grant, or of the question while waiting */
    int64_t since_wall_ms; /* the same as milliseconds since 1970, for people */
    int64_t left_ms;       /* until the store may give it to another, if nothing is heard */
    bool alive;            /* false: its holder is dead and it is free for the next who asks */
} tenure_ticket_info;

typedef struct tenure_past_info {
    tenure_token token;
    const char *as;
    const char *cause;     /* "released", "died", "expired", "evicted", "resigned", "transferred",
                              "rolled back" */
    const char *by;        /* who ended it, when that was an operator */
    const char *reason;    /* which he gave */
    const char *successor; /* whom it was transferred to, or rolled back to */
    int64_t granted_wall_ms, ended_wall_ms;
    int64_t held_ms;
    int64_t vacant_ms; /* how long nobody held it before this tenure began; -1: unknown */
} tenure_past_info;

typedef struct tenure_name_info {
    const char *name;
    tenure_kind kind;
    unsigned permits;
    uint64_t grants; /* since the record was made */
    int64_t vacant_ms; /* how long nobody has held it; -1 while held */
    const tenure_ticket_info *tickets; /* holders first, then the queue in order */
    size_t ticket_count;
    const tenure_past_info *past; /* newest first, at most 16 */
    size_t past_count;
} tenure_name_info;

/* Calls fn for every name that starts with prefix ("" for all), in order of names.  What fn is
 * given is borrowed for the call.  fn returns false to stop; it must not call on the handle, which
 * is locked meanwhile.  Costs no write. */
typedef bool tenure_look_fn(void *arg, const tenure_name_info *info);
int tenure_look(tenure *t, const char *prefix, tenure_look_fn *fn, void *arg,
                tenure_error *err) TENURE_MUST_CHECK;

/* Calls fn for each finding about the store: fine, or what is unsafe there.  The text is one
 * line, borrowed for the call. */
typedef void tenure_examine_fn(void *arg, bool fine, const char *text);
int tenure_examine(tenure *t, tenure_examine_fn *fn, void *arg, tenure_error *err);

/* Waits until something in the store may have changed since the last call (1), or wait_ms is
 * over (0).  A hint: it can come without a change, and look again each second all the same. */
int tenure_watch(tenure *t, int64_t wait_ms, tenure_error *err) TENURE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
