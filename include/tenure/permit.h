/* tenure/permit.h - whether a permit lets a thing be done: asked where it is done, without a
 * network.
 *
 * WHAT IT IS FOR.  Draining a node, opening a valve, sending mail: no database is written to, so no
 * guard can refuse it, and a leader that was stopped, replaced and woken up goes on.  So whoever
 * acts for the leader - the *effector* - demands a permit: a line of text that says that the holder
 * of `role` under `epoch` may do `operation` to `resource` until `not after`, signed by a key that
 * the effector trusts.  It was granted in the store in one step, only while that epoch stood
 * (tenure/issue.h).  docs/permits.md has the whole story, and whom one has to trust.
 *
 * WHAT IS NOT PROMISED.
 *   - A permit is good until its not-after, whatever becomes of its epoch meanwhile, unless the
 *     effector has seen a higher one.  Keep it short, and act at once.
 *   - Effectors do not know of each other.  What two of them may do is two resources.
 *   - Who can read the signing key can write any permit.
 *
 * WHAT YOU MUST SEE TO, with tenure_permit_judge(), because no pure function can:
 *   - Read the mark, judge and store the mark in one transaction, or under one lock.
 *   - Store the mark before you act, and durably; also after a refusal.
 * tenure_permit_verify() does both, with a file.
 *
 * TIME.  Permits are dated by wall clocks, which is all that machines share without a network.  So
 * both sides state how far theirs may be off, and both errors count against the permit.  A clock of
 * which nobody knows that is no clock: the answer is a refusal.
 *
 * THREADS.  No call keeps anything between calls; keys may be used by any number of threads.
 */
#ifndef TENURE_PERMIT_H
#define TENURE_PERMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenure/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENURE_PERMIT_TEXT_BYTES 1024    /* room for a permit as text, with its end */
#define TENURE_PERMIT_ROLE_MAX 255       /* bytes of each; all are made like names */
#define TENURE_PERMIT_RESOURCE_MAX 190
#define TENURE_PERMIT_OPERATION_MAX 62
#define TENURE_PERMIT_VALID_MAX_MS (3600 * 1000)      /* from issue to not-after */
#define TENURE_PERMIT_CLOCK_ERROR_MAX_MS (600 * 1000) /* what is more is no clock */
#define TENURE_PERMIT_CLOCK_UNKNOWN (-1)              /* in the place of an error */

/* What a permit says.  Times are wall-clock milliseconds since 1970, of who issued it. */
typedef struct tenure_permit {
    char role[TENURE_PERMIT_ROLE_MAX + 1];
    uint64_t epoch;
    char resource[TENURE_PERMIT_RESOURCE_MAX + 1];
    char operation[TENURE_PERMIT_OPERATION_MAX + 1];
    uint64_t serial; /* unique in its store; later ones are higher */
    uint64_t key;    /* which key signed it: tenure_permit_key_id() */
    int64_t issued_ms, not_after_ms;
    int64_t clock_error_ms; /* by which the issuer's clock may have been off */
} tenure_permit;

/* Each refusal has one reason, the first of these that applies. */
typedef enum tenure_permit_verdict {
    TENURE_PERMIT_ADMIT = 1,
    /* not a permit, or not from anybody whom we trust: */
    TENURE_PERMIT_MALFORMED,
    TENURE_PERMIT_UNKNOWN_KEY,
    TENURE_PERMIT_ALTERED, /* the signature is not that of its text */
    /* a permit for something else: */
    TENURE_PERMIT_WRONG_ROLE,
    TENURE_PERMIT_WRONG_RESOURCE,
    TENURE_PERMIT_WRONG_OPERATION,
    /* over: */
    TENURE_PERMIT_STALE, /* a higher epoch was seen here: its holder has been replaced */
    /* clocks that cannot be relied on: */
    TENURE_PERMIT_UNKNOWN_CLOCK, /* how far ours may be off is not known */
    TENURE_PERMIT_EARLY,         /* issued after now: some clock is off by more than was stated */
    /* over, again: */
    TENURE_PERMIT_EXPIRED,
    TENURE_PERMIT_REPLAYED, /* it was admitted before */
} tenure_permit_verdict;

/* "admit", "malformed", "unknown key", ...; "unknown" for anything else.  Static storage. */
const char *tenure_permit_verdict_text(tenure_permit_verdict verdict);

/* ---- the rule ------------------------------------------------------------------------------ */

#define TENURE_PERMIT_SEEN_MAX 16

/* What an effector remembers for each pair of a role and a resource: plain data, all zero at first,
 * and never to be lowered.  Of more than SEEN_MAX serials the lowest are forgotten, and every
 * serial up to `floor` then counts as seen. */
typedef struct tenure_permit_mark {
    uint64_t epoch; /* the highest that was shown */
    uint64_t floor;
    uint32_t seen_count;
    uint64_t seen[TENURE_PERMIT_SEEN_MAX]; /* serials that were admitted under it, rising */
} tenure_permit_mark;

/* What a permit is held to. */
typedef struct tenure_permit_demand {
    size_t size; /* sizeof(tenure_permit_demand); set by the initialiser */
    const char *role, *resource, *operation;
    int64_t now_ms;         /* wall clock, milliseconds since 1970, */
    int64_t clock_error_ms; /* and by how much it may be off: tenure_permit_clock() */
    bool retries; /* the operation may be done twice: a permit that was admitted still counts */
} tenure_permit_demand;

#define TENURE_PERMIT_DEMAND_INIT                                                                  \
    { sizeof(tenure_permit_demand), NULL, NULL, NULL, 0, TENURE_PERMIT_CLOCK_UNKNOWN, false }

/* What becomes of an authentic permit.  *mark is brought up to date, also by a refusal (a permit
 * that has expired still tells of its epoch): store it if it has changed.  Pure. */
tenure_permit_verdict tenure_permit_judge(const tenure_permit *permit,
                                          const tenure_permit_demand *demand,
                                          tenure_permit_mark *mark);

/* ---- keys ---------------------------------------------------------------------------------- */

/* Public keys that are trusted, all at the same time: to change keys, add the new one everywhere,
 * issue with it, and take the old one away when its last permit is over. */
typedef struct tenure_permit_keys tenure_permit_keys;

/* Reads a file of public keys, a line each: "ed25519 KEY [REMARK]"; empty lines and those that
 * start with "#" are left out.  TENURE_DENIED when others than its owner may write it, or its owner
 * is neither we nor root; TENURE_CORRUPT when a line cannot be read or there is no key at all;
 * TENURE_INVALID without GnuTLS on this machine. */
int tenure_permit_keys_load(const char *path, tenure_permit_keys **ret, tenure_error *err);

/* The same from memory, whatever the rights.  `name` is for messages. */
int tenure_permit_keys_read(const char *name, const char *text, size_t len,
                            tenure_permit_keys **ret, tenure_error *err);

/* NULL is fine.  Returns NULL. */
tenure_permit_keys *tenure_permit_keys_free(tenure_permit_keys *keys);

/* ---- verifying ----------------------------------------------------------------------------- */

/* Reads a permit and checks its signature: ADMIT when it is authentic, MALFORMED, UNKNOWN_KEY,
 * ALTERED; or TENURE_NO_MEMORY, TENURE_INTERNAL.  After MALFORMED *ret is untouched; after the
 * other refusals it is what somebody claims.  Costs one verification of Ed25519. */
int tenure_permit_read(const tenure_permit_keys *keys, const char *text, size_t len,
                       tenure_permit *ret);

/* The wall clock, and by how much it may be off, as far as the kernel knows (adjtimex(2)):
 * TENURE_PERMIT_CLOCK_UNKNOWN when nothing keeps it synchronised, or what does gives no error. */
void tenure_permit_clock(int64_t *ret_now_ms, int64_t *ret_error_ms);

/* All of it: reads, judges, and keeps the marks in the file `state`, which is made when it is not
 * there and replaced as a whole, synced, under a lock on "STATE.lock", before the answer.  A now_ms
 * of 0 is the time at which the lock was got, and an unknown error is then what the kernel says.
 * Of the text, one newline at its end is left out.
 * Returns the verdict, or a code.  Unless it is ADMIT, *err (may be NULL) says why, with `code` 0
 * for a verdict.  *ret (may be NULL) is filled when the permit is authentic.
 * Codes: TENURE_INVALID (the demand), TENURE_DENIED (somebody else may write the state, or it is a
 * symbolic link: each path to it would have a lock of its own),
 * TENURE_CORRUPT (the state cannot be read: refused, and not begun anew), TENURE_READ_ONLY,
 * TENURE_NO_SPACE, TENURE_UNREACHABLE. */
int tenure_permit_verify(const tenure_permit_keys *keys, const char *state, const char *text,
                         size_t len, const tenure_permit_demand *demand, tenure_permit *ret,
                         tenure_error *err);

#ifdef __cplusplus
}
#endif

#endif
