/* tenure/issue.h - permits for side effects: granted in the store, signed, listed, given back.
 *
 * The other half is tenure/permit.h: what a permit is, and how it is verified.
 *
 * A PERMIT IS GRANTED IN ONE STEP of the store: only while the role is held under the epoch by a
 * holder who is alive, and only while no other permit for that operation on that resource is good.
 * Then it is signed.  So it takes both to issue one: the store, and the key.
 *
 * HOW LONG.  As a rule a permit ends when the store could give the role to somebody else, if its
 * holder fell silent now (in etcd, which cannot tell, after half its TTL): then a successor never
 * meets a permit of a predecessor that fell silent.  A longer one
 * (valid_ms) outlives its epoch by its not-after at most, and until then nobody else is granted
 * that operation on that resource.
 *
 * Threads, fork and ownership as in tenure/tenure.h.
 */
#ifndef TENURE_ISSUE_H
#define TENURE_ISSUE_H

#include <tenure/permit.h>
#include <tenure/tenure.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- keys ---------------------------------------------------------------------------------- */

typedef struct tenure_permit_key tenure_permit_key; /* a private one */

/* Makes a key pair: `path` (mode 0600) and "path.pub", a line for tenure_permit_keys_load().
 * *ret_id (may be NULL): its id.  TENURE_CONFLICT when there is a file already. */
int tenure_permit_key_make(const char *path, uint64_t *ret_id,
                           tenure_error *err) TENURE_MUST_CHECK;

/* Reads a private key.  TENURE_DENIED when others than its owner may read it; TENURE_CORRUPT. */
int tenure_permit_key_load(const char *path, tenure_permit_key **ret,
                           tenure_error *err) TENURE_MUST_CHECK;

/* The first eight bytes of the public key, which are also printed as 16 hexadecimal digits. */
uint64_t tenure_permit_key_id(const tenure_permit_key *key);

/* NULL is fine.  Returns NULL. */
tenure_permit_key *tenure_permit_key_free(tenure_permit_key *key);

/* ---- issuing ------------------------------------------------------------------------------- */

typedef struct tenure_permit_terms {
    size_t size;            /* sizeof(tenure_permit_terms); set by the initialiser */
    const char *role;       /* the name that is held, */
    tenure_token epoch;     /* and its token */
    const char *resource;
    const char *operation;
    int64_t valid_ms;       /* 0: as long as the tenure is sure to stand; at most VALID_MAX_MS */
    int64_t clock_error_ms; /* CLOCK_UNKNOWN: as tenure_permit_clock() says */
    bool shared;            /* several may be good at once, if all of them are shared */
    const char *by;         /* who asks, up to 128 bytes of UTF-8; NULL: the handle's `as` */
} tenure_permit_terms;

#define TENURE_PERMIT_TERMS_INIT                                                                   \
    { sizeof(tenure_permit_terms), NULL, 0, NULL, NULL, 0, TENURE_PERMIT_CLOCK_UNKNOWN, false,     \
      NULL }

/* Grants and signs a permit.  *ret (may be NULL): what it says.
 * Errors: TENURE_NOT_OWNED when the role is not held under that epoch (the text says who holds it);
 * TENURE_CONFLICT when it can be held by several at once, whose epochs would replace each other;
 * TENURE_HELD when another permit is good (the text says for how long); TENURE_CROWDED when too
 * many shared ones are; TENURE_TIMED_OUT when the tenure is too near to its end; TENURE_DENIED when
 * the error of the clock is not known; TENURE_INVALID, denied, unreachable and unsure ones.  After
 * an unsure one a permit may be on record that nobody has: it is over by itself. */
int tenure_permit_issue(tenure *t, const tenure_permit_key *key, const tenure_permit_terms *terms,
                        char ret_text[TENURE_PERMIT_TEXT_BYTES], tenure_permit *ret,
                        tenure_error *err) TENURE_MUST_CHECK;

/* Takes a permit off the record before it is over, so that another one may be granted.  Effectors
 * do not hear of it: only who knows that it will not be shown any more may do this.
 * TENURE_NOT_OWNED when no such permit is good. */
int tenure_permit_revoke(tenure *t, const char *resource, const char *operation, uint64_t serial,
                         const char *by, tenure_error *err) TENURE_MUST_CHECK;

typedef enum tenure_permit_state {
    TENURE_PERMIT_LIVE = 1, /* good, as far as the store knows */
    TENURE_PERMIT_OVER,
    TENURE_PERMIT_REVOKED,
} tenure_permit_state;

typedef struct tenure_permit_info {
    const char *resource, *operation;
    tenure_permit_state state;
    uint64_t serial;
    const char *role;
    tenure_token epoch;
    const char *by;         /* who asked */
    const char *revoked_by; /* "" unless it was revoked */
    bool shared;
    int64_t issued_ms, not_after_ms; /* wall clock of who issued it */
    int64_t left_ms; /* until another one may be granted; 0 unless it is live */
} tenure_permit_info;

/* Calls fn for each permit whose resource starts with prefix ("" for all) and that is good, or was
 * among the last 32 for its operation: by resource and operation, the newest first.  What fn is
 * given is borrowed; it must not call on the handle; it returns false to stop.  Costs no write. */
typedef bool tenure_permit_fn(void *arg, const tenure_permit_info *info);
int tenure_permit_look(tenure *t, const char *prefix, tenure_permit_fn *fn, void *arg,
                       tenure_error *err) TENURE_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
