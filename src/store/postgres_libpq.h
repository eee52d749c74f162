/* store/postgres_libpq.h - libpq, loaded when the first store in PostgreSQL is opened.
 *
 * libpq brings TLS, Kerberos and LDAP along.  A program that uses another engine shall neither pay
 * for them at each start nor have them in its memory, so no object of ours is linked to it. */
#ifndef STORE_POSTGRES_LIBPQ_H
#define STORE_POSTGRES_LIBPQ_H

#include <libpq-fe.h>
#include <tenure/error.h>

/* X(name): every call that we use. */
#define PQ_CALLS(X)                                                                                \
    X(PQbackendPID) X(PQclear) X(PQcmdStatus) X(PQconnectPoll) X(PQconnectStartParams) X(PQdb)     \
    X(PQconnectdbParams) X(PQconninfoFree) X(PQconninfoParse) X(PQconsumeInput) X(PQerrorMessage)  \
    X(PQexec) X(PQfinish) X(PQflush) X(PQfreemem) X(PQgetResult) X(PQgetisnull) X(PQgetlength)     \
    X(PQgetvalue) X(PQhost) X(PQisBusy) X(PQnotifies) X(PQntuples) X(PQport)                       \
    X(PQresultErrorField) X(PQresultErrorMessage) X(PQresultStatus) X(PQsendPrepare)               \
    X(PQsendQuery)                                                                                 \
    X(PQsendQueryParams) X(PQsendQueryPrepared) X(PQsetNoticeReceiver) X(PQsetnonblocking)         \
    X(PQsocket) X(PQsslInUse) X(PQstatus) X(PQtransactionStatus)

struct pq {
#define PQ_MEMBER(name) __typeof__(name) *name;
    PQ_CALLS(PQ_MEMBER)
#undef PQ_MEMBER
};

/* The calls; written once, by pq_load(). */
extern struct pq pq;

/* Loads libpq if it is not loaded yet; it stays.  Returns 0, or a code with *err filled.  Any
 * thread. */
int pq_load(tenure_error *err);

#endif
