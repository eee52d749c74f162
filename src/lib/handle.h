/* lib/handle.h - what a handle is made of; shared by the files of src/lib and nobody else.
 *
 * One mutex guards all of it but the atomics.  Functions say which they need: "mutex held" is the
 * rule, and none waits while it holds it except in handle_wait(), which gives it up.
 *
 * A handle works in turns (lib/turn.c): replies are taken, hints are turned into looks, what is
 * due is started, and the timer is set for what comes next.  Blocking calls and the pump are
 * loops of turns; of several threads in one handle one turns and the others sleep, until there is
 * news of what they wait for or nobody turns any more.
 */
#ifndef LIB_HANDLE_H
#define LIB_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <tenure/tenure.h>

#include "core/name.h"
#include "core/phase.h"
#include "core/pulse.h"
#include "lib/decision.h"
#include "os/waiter.h"
#include "store/store.h"

#define EXPORT __attribute__((visibility("default")))

enum session_work {
    SESSION_RESTS,
    SESSION_OPENS,
    SESSION_RENEWS,
    SESSION_CLOSES,
};

/* The handle's session: none, or one that is renewed (lib/session.c). */
struct session {
    struct pulse pulse;
    uint64_t id;          /* 0 without a session */
    uint64_t next_serial; /* of the next ticket */
    enum session_work work;
    struct instant sent;  /* when the work in flight was sent */
    struct instant retry; /* not to be opened before */
    uint64_t notices;     /* renewals that said that somebody was told to stop */
    uint64_t stale;       /* a lost session that the store should be told to forget; 0: none */
    bool stale_held;      /* it held something when it was lost */
    union {
        struct store_session_open open;
        struct store_session_renew renew;
        struct store_session_close close;
    } op;
    tenure_error trouble; /* why the last piece of work failed; code 0 when it did not */
};

/* A walk through the store that tidies up what the dead left behind (lib/sweep.c). */
#define SWEEP_RECORDS 32

enum sweep_work {
    SWEEP_RESTS,
    SWEEP_LOOKS,
    SWEEP_TIDIES,
};

struct sweep {
    enum sweep_work work;
    unsigned renewals;    /* that are to come before it goes on */
    unsigned pause;       /* of that many, when it has found nothing; 0: it has not looked yet */
    struct instant sent;  /* when the work in flight was sent */
    struct store_read look;
    struct store_update tidy;
    struct decision decision;
    char from[NAME_BYTES_MAX + 1];  /* the last name before this look; empty: from the beginning */
    char after[NAME_BYTES_MAX + 1]; /* ... and before the next one */
    unsigned seen, found, tidied;
    char name[SWEEP_RECORDS][NAME_BYTES_MAX + 1]; /* of the untidy ones */
};

/* What a claim has asked the store and not heard yet. */
enum claim_question {
    QUESTION_NONE,
    QUESTION_ASK,
    QUESTION_LOOK,
    QUESTION_LEAVE,
};

struct tenure_claim {
    tenure *handle;
    tenure_claim *next, *previous;
    char name[NAME_BYTES_MAX + 1];
    char ticket_text[48];
    char value[CLAIM_VALUE_BYTES_MAX + 1];
    uint64_t key_hash;
    tenure_kind kind;
    bool shared;
    uint32_t permits;
    int32_t priority;
    bool try_only;

    enum phase phase;
    struct ticket_id id; /* session 0: no ticket drawn yet */
    bool asked;          /* the ticket may be known to the store */
    bool must_leave;     /* lost, or given up: its ticket may still be in the record */
    bool awaited;        /* a call waits for the answer to its leaving, and frees it then */
    bool watches;         /* the store was told whose end it wants to hear of while it waits: */
    uint32_t watch_count; /* lib/watch.c */
    uint64_t watch[STANDING_WATCH_MAX];
    bool refused;        /* a try was answered with no, or the question cannot be right */
    bool hidden;         /* the call that asks for it may still end it: nobody is told of it */
    tenure_error trouble; /* why it was refused or lost, or the last thing that went wrong */

    enum claim_question question;
    struct store_update op;
    struct decision decision;
    struct instant sent;    /* when the question was sent */
    struct instant look_at; /* look again then, on our clock */
    bool look_due;

    tenure_claim *parting_next;     /* in the handle's list, unless it is taken */
    tenure_claim *takes, *taken_by; /* who leaves with the question in flight, and with whose */

    uint64_t vigil_drawn;   /* store_vigil() when the ticket was drawn; 0: it was asked for again */
    uint64_t notices_drawn; /* session.notices then */
    uint64_t vigil_asked; /* store_vigil() when the question in flight was sent, */
    uint64_t vigil;       /* and when the last one was that found it held */
    struct instant counted;  /* what the deadline of a held claim is counted from */
    uint64_t notices_asked;  /* session.notices when the question in flight was sent, */
    uint64_t notices_known;  /* and when the last one was that found it held */
    struct instant ends_at; /* told to stop: our clock; else INSTANT_NEVER */
    bool told;              /* the event was given */

    unsigned pending; /* bit (1 << kind) for each event not fetched yet */
    char reason[240];           /* of the event that was noted last */
    tenure_event_kind reason_of;

    /* What tenure_check() reads. */
    _Atomic int standing; /* TENURE_WAITING, TENURE_STANDING, or a code of class lost; final then */
    _Atomic int64_t deadline_ms;
    _Atomic int64_t doubt_ms;
    _Atomic uint64_t token;
};

struct tenure {
    pthread_mutex_t mutex;
    tenure *next;          /* in the list of all handles, for fork */
    uint64_t generation;   /* of the process that made it */

    struct store *store;
    struct timing timing;
    struct span max_silence;
    char as[CLAIM_AS_BYTES_MAX + 1];

    struct session session;
    tenure_claim *claims;
    tenure_claim *parting;      /* those that have left, until the store has heard of it */
    tenure_claim *following;    /* the next one of the walk of a turn */
    uint64_t questions;         /* that its claims have asked */
    tenure_claim *heard_next;   /* who comes after the one whose event was told last */
    tenure_claim *verified;     /* the held claim that was last looked at without a reason */
    struct claim scratch;       /* for decisions */
    struct sweep sweep;

    struct waiter waiter;
    struct instant due;   /* the next turn */
    struct sleeper *turner; /* a thread that waits in poll() on behalf of all; NULL: none does */
    bool nudged;          /* it was told to get up */
    unsigned awakening;   /* those who were woken and do not have the mutex yet */
    struct sleeper *sleepers; /* the others, for whom it does (lib/turn.c) */
    bool changed;         /* a hint came since the last tenure_watch() */
    bool watching;
    bool unheard;  /* an event was noted since tenure_next_event() had none, */
    bool fetching; /* and the program is to ask for it, */
    bool told;     /* or its event loop was told to */

    bool closing;
    bool pump_runs;
    pthread_t pump;
    _Atomic bool polled; /* the program has asked for tenure_fd() */
    _Atomic bool withheld;
    _Atomic int64_t checkin_ms;
};

/* ---- open.c -------------------------------------------------------------------------------- */

/* Whether the handle is this process's, not its parent's.  Any thread, no mutex. */
bool handle_is_ours(const tenure *t);

/* Fills *err (may be NULL) and returns code. */
int error_set(tenure_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int error_copy(tenure_error *err, const tenure_error *from);

/* ---- ask.c --------------------------------------------------------------------------------- */

int name_accept(const char *name, tenure_error *err);
int text_accept(const char *what, const char *s, size_t max, tenure_error *err);

/* ---- leave.c ------------------------------------------------------------------------------- */

/* Gives it up and frees it; see tenure_release().  Waits until `give_up`.  Mutex held. */
int claim_release(tenure_claim *c, struct instant give_up, tenure_error *err);

/* It has left, which the store is told with the next question of the handle about its name, or when
 * it is `at`.  Mutex held. */
void leave_later(tenure_claim *c, struct instant at);

/* When one of those wants to go alone, of which no answer is awaited.  Mutex held. */
struct instant leave_due(const tenure *t);

/* Claim c is about to ask: takes along one of the handle that has left the same name.  Returns its
 * ticket, of session 0 when there is none.  Mutex held. */
struct ticket_id leave_with(tenure_claim *c);

/* The question of claim c was answered or given up: the one that it took along is freed when that
 * is `done`, else goes alone.  Mutex held. */
void leave_answered(tenure_claim *c, bool done);

/* It is about to be freed.  Mutex held. */
void leave_forget(tenure_claim *c);

/* ---- watch.c ------------------------------------------------------------------------------- */

/* Claim c waits, and wants to hear of the end of these sessions, at most STANDING_WATCH_MAX; not of
 * those any more that it watched before.  Mutex held. */
void watch_begin(tenure_claim *c, const uint64_t *session, uint32_t count);

/* It is about to look anew: of whom it watched somebody may be dead, whom the store would tell of
 * again and again.  Mutex held. */
void watch_hinted(tenure_claim *c);

/* It waits no longer.  Mutex held. */
void watch_end(tenure_claim *c);

/* ---- turn.c -------------------------------------------------------------------------------- */

/* Takes the mutex and catches up with what is overdue; returns false for a forked handle. */
bool handle_enter(tenure *t);
void handle_leave(tenure *t);

/* Everything that is due now.  Mutex held. */
void handle_turn(tenure *t);

/* Makes sure that the next turn comes at `next` at the latest.  Mutex held. */
void handle_arm(tenure *t, struct instant next);

/* When the store wants its turn; what it wants at once, but for nothing that is overdue, the loop
 * or who waits is told of, and no other call catches up for it.  Mutex held. */
struct instant handle_store_due(tenure *t);

/* Gives up the mutex until a turn was made, at the latest at `until`.  Mutex held before, after. */
void handle_wait(tenure *t, struct instant until);

/* The same, for who waits for something about that claim: its phase, its question, its trouble or
 * that of the session, or its standing.  Other turns may pass unseen. */
void claim_wait(tenure_claim *c, struct instant until);

/* ---- decide.c ------------------------------------------------------------------------------ */

/* One update, to its end or to the end of one attempt, which gives TENURE_UNSURE.  Returns the
 * verdict, or a code with *err filled.  Mutex held. */
int handle_update(tenure *t, struct store_update *op, tenure_error *err);

/* The same with one rule and one record; CORRUPT and FOREIGN name it. */
int handle_decide(tenure *t, const char *name, struct decision *d, tenure_error *err);

/* One read, to its end or to the end of a ttl.  0, or a code with *err filled.  Mutex held. */
int handle_read(tenure *t, struct store_read *op, tenure_error *err);

/* Entries of the configuration and permits lie beside the names, under keys that begin with a mark
 * that no name has: first the entries, then the permits behind PERMITS_AFTER, then all names behind
 * NAMES_AFTER. */
#define CONFIG_MARK "!"
#define PERMITS_AFTER "\""
#define PERMIT_MARK "#"
#define NAMES_AFTER "$"

/* ---- session.c ----------------------------------------------------------------------------- */

/* Whether there is a session that may be asked with. */
bool session_is_ready(const tenure *t);

/* Whether a claim of it is held.  Mutex held. */
bool session_holds(const tenure *t);

/* Takes replies, opens a session when a claim needs one, renews, forgets a lost one.  Returns when
 * it wants to be called again.  Mutex held. */
struct instant session_turn(tenure *t, struct instant now);

/* Closes the session within `limit`; claims end with it.  Mutex held. */
void session_end(tenure *t, struct instant limit);

/* The store says that this session has ended; another one than the present is no news. */
void session_ended(tenure *t, uint64_t id);

/* ---- sweep.c ------------------------------------------------------------------------------- */

/* A renewal succeeded: goes on with the walk when it is time to.  Mutex held. */
void sweep_renewed(tenure *t, struct instant now);

/* Takes the answer of the work in flight.  Returns when it wants to be called again.  Mutex
 * held. */
struct instant sweep_turn(tenure *t, struct instant now);

/* Gives up what is in flight.  Mutex held. */
void sweep_stop(tenure *t);

/* ---- claim.c ------------------------------------------------------------------------------- */

struct instant claim_turn(tenure_claim *c, struct instant now);

/* Takes its answer, and what the clock has done to it, and asks nothing.  Mutex held. */
void claim_catch_up(tenure_claim *c, struct instant now);

/* A renewal said that somebody was told to stop: before it counts, each claim has to look.  Mutex
 * held. */
void claims_noticed(tenure *t);

/* The session was renewed, is in doubt, or is lost: what its claims are told.  Mutex held. */
void claims_renewed(tenure *t);
void claims_doubtful(tenure *t, bool on);
void claims_lost(tenure *t, const char *why);

/* The question that claim c has asked is done: takes the answer.  Mutex held. */
void claim_answered(tenure_claim *c, struct instant now);

/* Why the last question failed, by the claim's name.  Mutex held. */
int claim_op_error(const tenure_claim *c, tenure_error *err);

/* Asks about it now, if nothing is in flight.  Mutex held. */
void claim_send(tenure_claim *c, enum claim_question question, struct instant now);

/* Frees it and takes it off the handle; returns NULL.  Mutex held. */
tenure_claim *claim_free(tenure_claim *c);

/* Notes an event for tenure_next_event(). */
void claim_note(tenure_claim *c, tenure_event_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
