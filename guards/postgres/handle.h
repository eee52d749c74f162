/* postgres/handle.h - the connection below the guard: statements, transactions, errors.  Private to
 * guards/postgres. */
#ifndef POSTGRES_HANDLE_H
#define POSTGRES_HANDLE_H

#include <libpq-fe.h>

#include "os/fail.h"
#include "target/target.h"

struct postgres_guard {
    struct target target;
    PGconn *pq;
    int64_t patience_ms;
    char *database;         /* its name, for messages: a URL may hold a password */
    bool may_have_happened; /* what is asked for may stand although the answer is lost */
};

/* Connects, within g->patience_ms.  The caller disconnects, also on failure. */
int postgres_connect(struct postgres_guard *g, const char *url, tenure_error *err);
void postgres_disconnect(struct postgres_guard *g);

/* Runs a statement with `count` texts for $1, $2, ...; *ret (may be NULL) is freed with
 * pq.PQclear().  `doing` completes "cannot ...". */
int postgres_ask(struct postgres_guard *g, const char *sql, const char *const *text, int count,
                 PGresult **ret, const char *doing, tenure_error *err);

/* Runs a script without parameters. */
int postgres_run(struct postgres_guard *g, const char *script, const char *doing,
                 tenure_error *err);

/* A transaction that waits for no lock longer than the patience. */
int postgres_begin(struct postgres_guard *g, tenure_error *err);

/* Commits when code is 0 or above, else rolls back.  Returns code, or why the commit failed. */
int postgres_end(struct postgres_guard *g, int code, tenure_error *err);

#endif
