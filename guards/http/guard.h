/* http/guard.h - the guard of HTTP requests, as a target: asks a checker (server.h) by libcurl.
 *
 * It guards requests, not tables.  When an announcement returns, every check of a lower token that
 * begins later is refused; a request that was admitted before may still be under way in the service
 * (docs/guard-http.md says what to do about that). */
#ifndef HTTP_GUARD_H
#define HTTP_GUARD_H

#include "target/target.h"

/* Reads the secret, and connects with the first call.  *ret is closed by the caller.  Besides the
 * codes of every target: TENURE_INVALID for what is no such URL, TENURE_FOREIGN when something else
 * answers there, TENURE_DENIED without the secret. */
int http_guard_open(const char *target, int64_t patience_ms, struct target **ret,
                    tenure_error *err);

#endif
