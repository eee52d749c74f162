/* http/place.h - where an HTTP checker is: http://HOST[:PORT][/PREFIX][?secret=FILE], or https.
 *
 * The secret is a file's path, never the secret itself, which a URL would show to everybody. */
#ifndef HTTP_PLACE_H
#define HTTP_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <tenure/error.h>

#include "wire/endpoint.h"

#define HTTP_PORT 7420 /* of the checker, when the URL names none */
#define HTTP_BASE_BYTES_MAX 1000

struct http_place {
    char base[HTTP_BASE_BYTES_MAX + 1]; /* with the port, without a slash at the end */
    char host[ENDPOINT_HOST_BYTES_MAX + 1]; /* without brackets */
    uint16_t port;
    bool tls;
    bool prefix;            /* there is a path behind the port */
    const char *secret_file; /* of the text that was parsed; NULL: none given */
};

/* 0, or TENURE_INVALID with *err filled.  *ret borrows from `target`. */
int http_place_parse(const char *target, struct http_place *ret, tenure_error *err);

#endif
