/* core/claim.h - the record of one name: who holds it, who waits, what ended before.
 *
 * A claim is plain data with borrowed texts: it is decoded from a record, changed by exactly one
 * rule (core/rules.h) and encoded again.  Nothing here owns memory.
 *
 * Invariants, checked by claim_check() before and after every rule, and by
 * claim_check_ids() when a record is read:
 *   - holders (held, serving, ending) come first, then those who wait, in order of service;
 *   - a ticket has a token exactly when it holds, and no two are equal;
 *   - every token is at most last_token;
 *   - no more than `permits` hold, and an exclusive holder holds alone (permits == 1);
 *   - ticket ids are unique.
 */
#ifndef CORE_CLAIM_H
#define CORE_CLAIM_H

#include <stdint.h>
#include <tenure/tenure.h>

#include "core/text.h"
#include "core/time.h"

#define CLAIM_TICKETS_MAX 1024
#define CLAIM_PAST_MAX 16
#define CLAIM_PERMITS_MAX 256
#define CLAIM_PRIORITY_MAX 1000
#define CLAIM_AS_BYTES_MAX 128
#define CLAIM_VALUE_BYTES_MAX 1024
#define CLAIM_REASON_BYTES_MAX 200

/* One attempt, unique for ever: a session and a number within it, or session 0 and a random
 * serial for a lease, which has no session. */
struct ticket_id {
    uint64_t session;
    uint64_t serial;
};

enum cause {
    CAUSE_NONE = 0,
    CAUSE_RELEASED = 1,    /* by its holder */
    CAUSE_DIED = 2,        /* its process ended */
    CAUSE_EXPIRED = 3,     /* nothing was heard for its ttl */
    CAUSE_EVICTED = 4,     /* by an operator */
    CAUSE_RESIGNED = 5,    /* by its leader, on request */
    CAUSE_TRANSFERRED = 6, /* handed over to a named candidate */
    CAUSE_ROLLED_BACK = 7, /* was given the role by a transfer and did not serve in time */
};
#define CAUSE_LAST CAUSE_ROLLED_BACK

struct ticket {
    struct ticket_id id;
    tenure_ticket_state state;
    bool shared;
    int32_t priority;
    uint64_t token;        /* 0 while waiting */
    struct span ttl;       /* of its session, or of the lease */
    struct instant asked;  /* store's clock */
    struct instant granted;
    int64_t wall_ms;       /* when it was asked, then when it was granted; for people only */
    struct span vacant;    /* how long nobody held before the grant; -1 unknown */
    struct instant until;  /* when the seat ends whatever happens: a lease, or one who was told
                              to stop; else INSTANT_NEVER */
    struct text as, value; /* who it is; what it publishes */
    enum cause end_cause;  /* why it was told to stop; CAUSE_NONE else */
    struct text end_by, end_reason;
};

/* A tenure that ended. */
struct past {
    uint64_t token;
    struct text as;
    enum cause cause;
    struct text by, reason;
    struct span held, vacant; /* vacant: before it; -1 unknown */
    int64_t granted_wall_ms, ended_wall_ms;
};

struct claim {
    tenure_kind kind; /* 0 in a record that was never used */
    uint32_t permits;
    uint64_t last_token; /* highest ever granted here */
    uint64_t grants;
    struct instant vacant_since; /* since when nobody holds; INSTANT_NEVER: held or unknown */
    struct instant touched;      /* when the record was last changed */
    struct text prefer;          /* who is served first at the next grant, by ticket or `as` */
    uint32_t ticket_count;
    uint32_t past_count;
    struct ticket ticket[CLAIM_TICKETS_MAX];
    struct past past[CLAIM_PAST_MAX]; /* newest first */
};

/* Makes it a record that was never used.  Does not clear the unused tickets. */
void claim_clear(struct claim *c);

/* Whether the invariants above hold; of the ids of those who wait it does not ask. */
bool claim_check(const struct claim *c);

/* claim_check(), and all ids are unique: for records that come from outside. */
bool claim_check_ids(const struct claim *c);

static inline bool ticket_id_equal(struct ticket_id a, struct ticket_id b)
{
    return a.session == b.session && a.serial == b.serial;
}

static inline bool ticket_holds(const struct ticket *t)
{
    return t->state != TENURE_TICKET_WAITING;
}

/* How many tickets hold: the index of the first that waits. */
uint32_t claim_holders(const struct claim *c);

/* The ticket with this id, or NULL. */
struct ticket *claim_find(struct claim *c, struct ticket_id id);

/* The holder with this token, or NULL; token 0 finds nothing. */
struct ticket *claim_find_token(struct claim *c, uint64_t token);

/* Whether `name` is the ticket's own: "session.serial" in digits. */
bool ticket_is_named(const struct ticket *t, struct text name);

/* Whether `who` is this ticket's name or its `as`. */
bool ticket_is_meant(const struct ticket *t, struct text who);

/* Who waits under this ticket, else the first who waits and is known as `who`; ticket_count if
 * nobody.  The ticket goes first: candidates can share an `as`, and exactly one is meant (P5). */
uint32_t claim_find_waiting(const struct claim *c, struct text who);

/* Puts a waiting ticket into the queue: behind all of the same or a higher priority.  The claim
 * has room (ticket_count < CLAIM_TICKETS_MAX).  Pointers to tickets become invalid. */
void claim_enqueue(struct claim *c, const struct ticket *t);

/* Takes out ticket `at`.  Pointers to tickets become invalid. */
void claim_remove(struct claim *c, uint32_t at);

/* Moves waiting ticket `at` up behind the last holder.  Returns where it is then. */
struct ticket *claim_promote(struct claim *c, uint32_t at);

/* Notes an ended tenure; the oldest of more than CLAIM_PAST_MAX is forgotten. */
void claim_remember(struct claim *c, const struct past *p);

/* The reason of a tenure that came of a transfer and ended before it served. */
#define CLAIM_UNSERVED "did not serve"

/* Under which token `to` served after a transfer that ended the tenure *former_token, although that
 * may be over by now; 0: it did not yet.  `as` is what `to` is known as, which is all that the
 * history knows of it.  *former_token is moved on past a tenure that is seen to be another's. */
uint64_t claim_succeeded(const struct claim *c, struct text to, struct text as,
                         uint64_t *former_token);

/* "released", "died", ...; static storage. */
const char *cause_text(enum cause cause);

/* Whether the reason that is noted with this cause is somebody: who was to be next. */
static inline bool cause_names_successor(enum cause cause)
{
    return cause == CAUSE_TRANSFERRED || cause == CAUSE_ROLLED_BACK;
}

/* Ticket states: the only legal moves are in one table (docs/states.md is generated from it).
 * ticket_move() asserts that its move is legal. */
bool ticket_move_is_legal(tenure_ticket_state from, tenure_ticket_state to);
void ticket_move(struct ticket *t, tenure_ticket_state to);
const char *ticket_state_text(tenure_ticket_state state);

#endif
