/* postgres/guard.h - the guard of a PostgreSQL database: schema.sql is its essay. */
#ifndef POSTGRES_GUARD_H
#define POSTGRES_GUARD_H

#include "target/target.h"

/* Connects to the database of a postgres:// or postgresql:// URL.  *ret is closed by the caller.
 * Connecting takes at most the patience, and so does each call, but for the resolver of host names
 * (libpq asks it itself) and half a second for the server's answer.  Besides the codes of every
 * target: TENURE_INVALID for a URL that libpq cannot read, or without libpq on this machine. */
int postgres_guard_open(const char *url, int64_t patience_ms, struct target **ret,
                        tenure_error *err);

#endif
