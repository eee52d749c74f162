/* core/docket.h - the permits for one operation on one resource: who was granted what, until when.
 *
 * A permit is granted here, in the step that also sees that the role is held under its epoch, and
 * that no other permit for the operation is good; it is signed afterwards (lib/issue.c).  The
 * store's own clock decides when one is over for the docket, never the wall clock that the permit
 * is dated by (P11): it counts from the commit, which is after the dating, so an effector whose
 * clock keeps to its bounds refuses a permit before the docket makes room for the next.
 *
 * Pure data and pure rules, like core/entry.h; the texts are borrowed.
 *
 * Invariants, checked by docket_check(): the newest grant is first, and serials fall.
 */
#ifndef CORE_DOCKET_H
#define CORE_DOCKET_H

#include "core/permit.h"
#include "core/rules.h"

#define DOCKET_GRANTS_MAX 32

struct grant {
    uint64_t serial; /* from the tokens' sequence: unique in the store, and it only grows */
    uint64_t ticket; /* drawn by who asked: a lost reply is resolved by it */
    struct text role;
    uint64_t epoch;
    struct text by;         /* who asked */
    struct text revoked_by; /* empty: it was not */
    bool shared;
    struct instant until;            /* the store's clock */
    int64_t issued_ms, not_after_ms; /* wall clock of who issued it; what the permit says */
};

struct docket {
    struct instant touched; /* store's clock */
    uint32_t count;         /* 0: there never was one */
    struct grant grant[DOCKET_GRANTS_MAX];
};

/* What is asked for. */
struct docket_terms {
    uint64_t ticket;
    struct text role;
    uint64_t epoch;
    struct text by;
    bool shared;
    struct span valid;    /* 0: as long as the tenure is sure to stand */
    struct span least;    /* what is shorter is of no use */
    int64_t wall_ms;      /* read before the question was sent */
};

enum docket_verdict {
    DOCKET_GRANTED = 1,
    DOCKET_NOT_HELD, /* nobody holds the role under that epoch */
    DOCKET_NOT_ALONE, /* it can be held by several at once: their tokens say nothing */
    DOCKET_TAKEN,    /* another permit is good: grant[*ret_at] */
    DOCKET_CROWDED,  /* DOCKET_GRANTS_MAX shared ones are good */
    DOCKET_TOO_LATE, /* the tenure may end before `least` is over */
    DOCKET_NONE,     /* there is no such permit, or it is over */
};

bool docket_check(const struct docket *d);

/* Whether a grant keeps others from being granted. */
bool grant_is_live(const struct grant *g, struct instant now);

/* Whether there is nothing that anybody could want to know any more: no grant is live, and the last
 * change was `history` ago. */
bool docket_is_forgotten(const struct docket *d, struct instant now, struct span history);

/* Grants a permit: GRANTED, and *ret_at is where it is; the docket is to be written if *ret_new.
 * The same ticket again finds what it was granted, whatever has happened since.  `held` is the
 * record of the role, which is not changed, and `of_role` the facts by its clock; `f` is by the
 * docket's, which stands at f->now when the grant is written, and may have been later before. */
enum docket_verdict docket_grant(struct docket *d, struct claim *held,
                                 const struct facts *of_role, struct facts *f,
                                 const struct docket_terms *terms, uint32_t *ret_at,
                                 bool *ret_new);

/* Takes one off the record before it is over: GRANTED, also when `by` has done so before, which
 * resolves a lost reply; NONE.  The docket is to be written if *ret_new. */
enum docket_verdict docket_revoke(struct docket *d, const struct facts *f, uint64_t serial,
                                  struct text by, bool *ret_new);

#endif
