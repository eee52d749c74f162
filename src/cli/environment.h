/* cli/environment.h - what a command finds of its tenure in its environment.
 *
 *   TENURE_NAME    the name that is held
 *   TENURE_TOKEN   its fencing token, decimal
 *   TENURE_EPOCH   under lead only: the epoch, which is the token
 *   TENURE_TICKET  the ticket
 *   TENURE_STORE   the store's URL
 *
 * In a nested call the values of the outer tenure are not lost: each level down puts one OUTER_
 * behind TENURE_, so the next outer name is TENURE_OUTER_NAME, the one outside of that is
 * TENURE_OUTER_OUTER_NAME, and so on.  A value that the inner level does not have (TENURE_EPOCH
 * under lock) is unset, so that nothing of an outer tenure is taken for the inner one's.
 *
 * Where a guard asks for it (docs/guard-postgres.md), PGOPTIONS presents the tokens of all levels
 * to every connection that a program opens by libpq; what is in PGOPTIONS already stays.
 */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <tenure/tenure.h>

struct environment_level {
    const char *name, *token, *store; /* store: NULL when not set */
};

/* Finds the innermost tenure of this name, or the innermost at all when name is NULL. */
bool environment_find(const char *name, struct environment_level *ret);

struct environment {
    char **entry; /* NULL-terminated, for execve() */
    size_t owned; /* so many of the first entries are ours to free; the others are environ's */
};

/* Makes the environment for a command that runs under `claim`; with `pgoptions` it presents the
 * tokens in PGOPTIONS.  False: no memory, and *ret is untouched. */
bool environment_make(const tenure *t, const tenure_claim *claim, tenure_kind kind, bool pgoptions,
                      struct environment *ret);
void environment_free(struct environment *e);

#endif
