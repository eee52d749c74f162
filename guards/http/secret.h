/* http/secret.h - what whoever announces must show: "Authorization: Bearer ...".
 *
 * It lies in a file, so that no list of processes and no history of a shell shows it. */
#ifndef HTTP_SECRET_H
#define HTTP_SECRET_H

#include <stdbool.h>
#include <tenure/error.h>

#include "core/text.h"

#define SECRET_BYTES_MIN 16
#define SECRET_BYTES_MAX 256

struct secret {
    char bytes[SECRET_BYTES_MAX + 1];
};

/* Reads the first line of the file, which must be ours or root's, for its owner to write and its
 * group at most to read (os/sheet.h).  0, or TENURE_DENIED, INVALID (it is no secret), UNREACHABLE
 * (no such file). */
int secret_read(const char *path, struct secret *ret, tenure_error *err);

/* Whether the value of an Authorization header shows it; takes as long for a near miss as for any
 * other. */
bool secret_is_shown(const struct secret *secret, struct text authorization);

#endif
