/* core/rules.h - the rules of locks, leases, elections, queues and tokens, each written once.
 *
 * A rule is a pure function: it takes the record of one name (changed in place), the facts that
 * the store knows at the instant of the decision, and the question; it returns a verdict and
 * what has to follow.  The store makes the change and its consequences durable together, or
 * calls the rule again with fresher facts.  Nothing here reads a clock, allocates, or does I/O.
 *
 * Every rule first *settles* the record: it takes out who is dead and serves who is next, so no
 * verdict is ever given about a claim that a dead holder still seems to hold.
 */
#ifndef CORE_RULES_H
#define CORE_RULES_H

#include "core/effects.h"

enum liveness {
    LIVE,         /* its process runs and renews */
    LIVE_EXPIRED, /* it was not heard of for its ttl */
    LIVE_GONE,    /* its process, or its host, has ended */
};

/* What the store knows when it decides. */
struct facts {
    struct instant now; /* the store's clock, which no wall-clock step moves */

    /* The clock may be later than `now`, by at most this: 0 where it can be read.  Whoever is let
     * go is let go by `now`; who counts for itself counts from the latest (P3). */
    struct span behind;

    int64_t wall_ms;    /* for people; decides nothing */

    /* Every token of this name that a deleted record may have given out is at most this.  A
     * rule draws max(token_floor, last_token) + 1 and raises the floor to what it drew; the
     * store makes the floor durable before or with the record. */
    uint64_t token_floor;

    /* Whether a session is alive, answered within the same atomic step.  *ret_until (never
     * NULL) is the instant at which the store would let a silent one go. */
    enum liveness (*liveness)(void *oracle, uint64_t session, struct instant *ret_until);
    void *oracle;

    /* One decision grants no more than so many (0: as many as fit): each commit has to make sure
     * that they all live (P2).  Those who were rung look, and their looks serve the rest. */
    uint32_t grants_max;
    uint32_t grants; /* the rules': so far */

    /* When a session was last heard of is not known: *ret_until is the latest that it can be. */
    bool unheard;
};

/* Draws the next token, or another number that only grows: above `highest` and the floor, which it
 * becomes. */
uint64_t facts_draw(struct facts *f, uint64_t highest);

enum verdict {
    VERDICT_HELD = 1, /* the ticket holds: token, state and deadline are in *ret */
    VERDICT_WAITING,  /* the ticket waits */
    VERDICT_REFUSED,  /* somebody else holds it, and the ticket was not queued */
    VERDICT_GONE,     /* there is no such ticket or token (any more) */
    VERDICT_CONFLICT, /* the name is in use with another kind, or number of permits */
    VERDICT_CROWDED,  /* CLAIM_TICKETS_MAX tickets */
    VERDICT_DEAD,     /* the asking session is dead */
    VERDICT_DONE,     /* it was done, there is nothing to report */
};

#define STANDING_WATCH_MAX 64 /* the end of further holders is noticed by the safety net */

/* What a verdict is about.  Filled as far as the verdict says; the texts are borrowed. */
struct standing {
    tenure_ticket_state state;
    uint64_t token;
    struct instant until;   /* of a lease or an ending seat, else INSTANT_NEVER */
    struct instant look_at; /* while waiting: look again then, if nothing is heard before */
    uint32_t watch_count;   /* while waiting: sessions whose end matters to it */
    uint64_t watch[STANDING_WATCH_MAX];
    enum cause cause;       /* why it ends or ended, CAUSE_NONE when unknown */
    struct text by, reason, as;
    struct ticket_id id;
};

struct ask {
    struct ticket_id id; /* id.session is the asking session */
    struct ticket_id instead; /* a ticket of the same session that leaves first; session 0: none */
    tenure_kind kind;    /* TENURE_LOCK or TENURE_ELECTION */
    bool shared;
    bool try_only; /* do not queue */
    uint32_t permits;
    int32_t priority;
    struct span ttl; /* of the session */
    struct text as, value;
};

/* Asks with a ticket.  The same ticket again changes nothing and reports where it stands: so is
 * a lost reply resolved.  `instead` leaves as with rules_leave(), whatever the verdict.  HELD,
 * WAITING, REFUSED (try_only), CONFLICT, CROWDED, DEAD. */
enum verdict rules_ask(struct claim *c, struct facts *f, const struct ask *ask,
                       struct effects *fx, struct standing *ret);

/* Reports where a ticket stands after settling those who hold and who is in front of it.  `token`
 * (0 when it was never granted) lets a GONE ticket find out why.  HELD, WAITING, GONE. */
enum verdict rules_look(struct claim *c, struct facts *f, struct ticket_id id, uint64_t token,
                        struct effects *fx, struct standing *ret);

/* Takes a ticket out, waiting or holding: release, or giving up.  DONE, GONE. */
enum verdict rules_leave(struct claim *c, struct facts *f, struct ticket_id id,
                         struct effects *fx);

/* The holder says that it serves; or publishes another value (`value` is not NULL).  DONE, GONE
 * (also when it only waits or was told to stop). */
enum verdict rules_serve(struct claim *c, struct facts *f, struct ticket_id id,
                         const struct text *value, struct effects *fx);

/* Takes a lease.  `ask->id.session` is 0, `ask->ttl` its length.  HELD, REFUSED, CONFLICT. */
enum verdict rules_lease_take(struct claim *c, struct facts *f, const struct ask *ask,
                              struct effects *fx, struct standing *ret);

/* Renews a lease by its token, ttl from now.  DONE, GONE. */
enum verdict rules_lease_renew(struct claim *c, struct facts *f, uint64_t token, struct span ttl,
                               struct effects *fx);

/* Drops a lease by its token.  DONE, GONE. */
enum verdict rules_lease_drop(struct claim *c, struct facts *f, uint64_t token,
                              struct effects *fx);

/* Tells exactly this tenure to end.  A holder that is alive is told and keeps its seat for at
 * most its ttl from now; a lease or a dead holder ends at once.  DONE, GONE. */
enum verdict rules_end(struct claim *c, struct facts *f, uint64_t token, enum cause cause,
                       struct text by, struct text reason, struct effects *fx);

/* Tells the leader to hand over to the waiting candidate `to`, its ticket or its `as`.  DONE: *ret
 * is the leader's standing (its token and `as`), with `reason` what `to` says, and `by` the `as` of
 * that candidate.  GONE: no leader, or no such candidate (ret->token tells which: 0 without a
 * leader).  CONFLICT: not an election. */
enum verdict rules_transfer(struct claim *c, struct facts *f, struct text to, struct text by,
                            struct effects *fx, struct standing *ret);

/* Undoes a transfer: `former` is preferred at the next grant, and a holder known as `to` that does
 * not serve is told to end.  DONE: rolled back.  HELD: `to` serves after all, *ret is its
 * standing and nothing was changed. */
enum verdict rules_rollback(struct claim *c, struct facts *f, struct text to, struct text former,
                            struct text by, struct effects *fx, struct standing *ret);

/* Takes the dead out and serves the next, on nobody's behalf.  DONE. */
enum verdict rules_sweep(struct claim *c, struct facts *f, struct effects *fx);

/* Whether the tenure with this token stands: held, and its holder is alive.  Changes nothing. */
bool rules_stands(struct claim *c, const struct facts *f, uint64_t token);

/* How long a tenure that stands is sure to, if its holder is not heard of any more: what a store
 * says of its session, but not more than its ttl.  Where the store does not know when that was
 * heard of, half its ttl: a holder that was not heard of for the other half is in doubt
 * (core/timing.h) and asks for nothing.  The token must stand. */
struct span rules_left(struct claim *c, const struct facts *f, uint64_t token);

/* Whether nobody holds or waits, so that the record is only history. */
bool claim_is_idle(const struct claim *c);

#endif
