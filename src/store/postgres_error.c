/* store/postgres_error.c - from SQLSTATEs to codes.
 *
 * An error result means that the transaction was undone: nothing happened.  But an error that ends
 * the connection may come after the commit, or from a pooler that does not know; so what it was
 * about is lost, see request_lost(). */
#include <stdio.h>

#include "store/postgres_engine.h"

#define SCHEMA_MISSING                                                                             \
    "there is no store in the schema %s of this database: run `tenure store init`"

enum error_kind pg_error(const struct pg_store *s, const PGresult *r, tenure_error *err)
{
    char text[200];
    int code;
    const char *state = pq.PQresultErrorField(r, PG_DIAG_SQLSTATE);
    const char *primary = pq.PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
    enum error_kind kind = postgres_code(state, &code);
    postgres_first_line(primary ? primary : pq.PQresultErrorMessage(r), text, sizeof text);
    if (code == TENURE_FOREIGN)
        fail(err, code, SCHEMA_MISSING, s->schema);
    else if (code == TENURE_WENT_BACK)
        fail(err, code, "%s; stop what uses it, then `tenure store check --raise-to` the highest "
                        "token that a guard or a log has seen (here: %llu)", text,
             (unsigned long long)s->high);
    else
        fail(err, code, "PostgreSQL: %s%s%s%s%s", text[0] ? text : "the connection was lost",
             state ? " (" : "", state ? state : "", state ? ")" : "",
             postgres_is_rights(state) ? "; stores.md says what a role needs" : "");
    return kind;
}
