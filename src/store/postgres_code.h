/* store/postgres_code.h - what an error of PostgreSQL means to a caller, once: for the store and
 * for the guard of PostgreSQL databases. */
#ifndef STORE_POSTGRES_CODE_H
#define STORE_POSTGRES_CODE_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <tenure/error.h>

enum error_kind {
    ERROR_REFUSED, /* the server will say so again */
    ERROR_AGAIN,   /* nothing happened: try again */
    ERROR_NAME,    /* nothing happened: a prepared statement is not there, or is already */
    ERROR_BROKEN,  /* the connection is of no more use; whether anything happened is open */
};

/* What an SQLSTATE means; NULL: the connection was lost. */
enum error_kind postgres_code(const char *state, int *ret_code);

/* Whether the role lacks a right that somebody can grant it; NULL: it does not. */
bool postgres_is_rights(const char *state);

/* Why an attempt to connect failed, for *err; conn NULL: no memory. */
void postgres_connect_error(const PGconn *conn, tenure_error *err);

/* The first line of a message of libpq (NULL: none), cut to the buffer. */
void postgres_first_line(const char *text, char *buf, size_t cap);

#endif
