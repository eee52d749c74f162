#include "store/postgres_code.h"

#include <string.h>

#include "os/fail.h"
#include "store/postgres_libpq.h"

static const struct {
    const char *state; /* a class when it has two characters */
    int code;
    enum error_kind kind;
} table[] = {
    {"TN001", TENURE_WENT_BACK, ERROR_REFUSED},  {"42501", TENURE_DENIED, ERROR_REFUSED},
    {"28", TENURE_DENIED, ERROR_REFUSED},        {"53100", TENURE_NO_SPACE, ERROR_REFUSED},
    {"53200", TENURE_BUSY, ERROR_AGAIN},         {"53", TENURE_BUSY, ERROR_BROKEN},
    {"25006", TENURE_READ_ONLY, ERROR_REFUSED},  {"3F000", TENURE_FOREIGN, ERROR_REFUSED},
    {"42P01", TENURE_FOREIGN, ERROR_REFUSED},    {"42883", TENURE_FOREIGN, ERROR_REFUSED},
    {"3D000", TENURE_DENIED, ERROR_REFUSED},     {"40", TENURE_BUSY, ERROR_AGAIN},
    {"55P03", TENURE_BUSY, ERROR_AGAIN},         {"57014", TENURE_UNREACHABLE, ERROR_AGAIN},
    {"57", TENURE_UNREACHABLE, ERROR_BROKEN},    {"08", TENURE_UNREACHABLE, ERROR_BROKEN},
    {"25P03", TENURE_UNREACHABLE, ERROR_BROKEN}, {"58", TENURE_UNREACHABLE, ERROR_BROKEN},
    {"XX001", TENURE_CORRUPT, ERROR_REFUSED},    {"XX002", TENURE_CORRUPT, ERROR_REFUSED},
    {"22023", TENURE_INVALID, ERROR_REFUSED},    {"26000", TENURE_BUSY, ERROR_NAME},
    {"42P05", TENURE_BUSY, ERROR_NAME},         {"0A000", TENURE_INTERNAL, ERROR_BROKEN},
};

/* One line of it, without what libpq puts around. */
void postgres_first_line(const char *text, char *buf, size_t cap)
{
    size_t n = strcspn(text ? text : "", "\n");
    if (n >= cap)
        n = cap - 1;
    if (n > 0)
        memcpy(buf, text, n);
    buf[n] = '\0';
}

enum error_kind postgres_code(const char *state, int *ret_code)
{
    for (size_t i = 0; state && i < sizeof table / sizeof table[0]; i++) {
        if (strncmp(state, table[i].state, strlen(table[i].state)) == 0) {
            *ret_code = table[i].code;
            return table[i].kind;
        }
    }
    *ret_code = state ? TENURE_INTERNAL : TENURE_UNREACHABLE;
    return state ? ERROR_REFUSED : ERROR_BROKEN;
}

bool postgres_is_rights(const char *state)
{
    return state && strcmp(state, "42501") == 0;
}

/* libpq keeps no SQLSTATE of an attempt that failed; only its words tell. */
static const struct {
    const char *words;
    int code;
} refusals[] = {
    {"password authentication failed", TENURE_DENIED},
    {"no password supplied", TENURE_DENIED},
    {"no pg_hba.conf entry", TENURE_DENIED},
    {"does not exist", TENURE_DENIED},
    {"permission denied for database", TENURE_DENIED},
    {"certificate", TENURE_DENIED},
    {"session is read-only", TENURE_READ_ONLY},
    {"invalid port number", TENURE_INVALID},
};

void postgres_connect_error(const PGconn *conn, tenure_error *err)
{
    char text[220];
    int code = conn ? TENURE_UNREACHABLE : TENURE_NO_MEMORY;
    const char *message = conn ? pq.PQerrorMessage(conn) : "out of memory";
    postgres_first_line(message, text, sizeof text);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (strstr(message, refusals[i].words))
            code = refusals[i].code;
    }
    fail(err, code, "PostgreSQL: %s", text[0] ? text : "no connection");
}
