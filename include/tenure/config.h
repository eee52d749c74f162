/* tenure/config.h - a small configuration area in the store, written by whoever leads.
 *
 * WHAT IT IS FOR.  The few values that a control plane changes: which node is drained, which
 * version is rolled out.  A change can demand, in the same atomic step, that a name is held under
 * a token ("only while I lead") and that the entry is at the version that its writer has seen
 * ("nothing came in between").  A leader that was replaced while it slept changes nothing when it
 * wakes up.
 *
 * WHAT IT IS NOT.  No database: values are replaced as a whole, each costs a commit, and the old
 * ones are not kept (who changed what and when is).
 *
 * KEYS are made like names (docs/names.md), of at most 254 bytes, and have nothing to do with
 * them: the entry "billing" and the lock "billing" are two things.  A VERSION is a number drawn
 * from the same sequence as the tokens: unique in the store, and higher with every change, also
 * after the entry was deleted.  Threads, fork and ownership as in tenure/tenure.h.
 */
#ifndef TENURE_CONFIG_H
#define TENURE_CONFIG_H

#include <tenure/tenure.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENURE_CONFIG_VALUE_MAX (512 * 1024) /* bytes of a value, any bytes */
#define TENURE_CONFIG_ANY_VERSION UINT64_MAX

/* What a change demands. */
typedef struct tenure_config_terms {
    size_t size;         /* sizeof(tenure_config_terms); set by the initialiser */
    uint64_t version;    /* the entry is at this one; 0: it is not there; or ANY_VERSION */
    const char *name;    /* held under `epoch`, by a holder who is alive; NULL: no demand */
    tenure_token epoch;  /* its token */
    const char *by;      /* who does it, up to 128 bytes of UTF-8; NULL: the handle's `as` */
} tenure_config_terms;

#define TENURE_CONFIG_TERMS_INIT                                                                   \
    { sizeof(tenure_config_terms), TENURE_CONFIG_ANY_VERSION, NULL, 0, NULL }

/* Sets an entry.
 *   value, len   up to TENURE_CONFIG_VALUE_MAX bytes; NULL only with len 0
 *   terms        NULL: no demands
 *   ret_version  may be NULL; the version that the entry has now
 * Errors: TENURE_NOT_OWNED when terms->name is not held under that epoch (the text says who holds
 * it), TENURE_CHANGED when the entry is at another version (the text says which), TENURE_INVALID,
 * and denied, unreachable and unsure ones.  After any but TENURE_UNSURE nothing was changed;
 * whether an unsure one was made tells tenure_config_get(): its version is higher than the one that
 * you saw. */
int tenure_config_put(tenure *t, const char *key, const void *value, size_t len,
                      const tenure_config_terms *terms, uint64_t *ret_version,
                      tenure_error *err) TENURE_MUST_CHECK;

/* Deletes an entry; its history stays for 30 days.  Errors as above; TENURE_CHANGED also when
 * there is none.  ret_version: the version of the deletion. */
int tenure_config_delete(tenure *t, const char *key, const tenure_config_terms *terms,
                         uint64_t *ret_version, tenure_error *err) TENURE_MUST_CHECK;

typedef struct tenure_config_change {
    uint64_t version;
    bool deleted;
    size_t bytes;       /* of the value */
    const char *by;     /* who did it */
    const char *name;   /* the name whose tenure it demanded, "" for none, */
    tenure_token epoch; /* and its token */
    int64_t wall_ms;    /* when, in milliseconds since 1970; for people */
} tenure_config_change;

typedef struct tenure_config_entry {
    const char *key;
    bool exists;       /* false: it was deleted */
    uint64_t version;  /* 0 when it does not exist: what a put that expects nothing demands */
    const void *value; /* borrowed; len bytes */
    size_t len;
    const tenure_config_change *changes; /* the newest first, at most 16 */
    size_t change_count;
} tenure_config_entry;

/* Calls fn for the entry, if there is one or was one lately.  What fn is given is borrowed for the
 * call; it must not call on the handle.  0, whether there is one or not; or denied and unreachable
 * ones, and TENURE_INVALID. */
typedef bool tenure_config_fn(void *arg, const tenure_config_entry *entry);
int tenure_config_get(tenure *t, const char *key, tenure_config_fn *fn, void *arg,
                      tenure_error *err) TENURE_MUST_CHECK;

/* The same for every entry whose key starts with prefix ("" for all), in order; fn returns false to
 * stop.  tenure_watch() tells when to look again. */
int tenure_config_look(tenure *t, const char *prefix, tenure_config_fn *fn, void *arg,
                       tenure_error *err) TENURE_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
