/* wire/base64url.h - bytes as text that is safe in URLs, shells and file names (RFC 4648, 5):
 * without padding, and with exactly one spelling for each run of bytes. */
#ifndef WIRE_BASE64URL_H
#define WIRE_BASE64URL_H

#include <stdbool.h>

#include "core/text.h"

/* How many characters `len` bytes take. */
#define BASE64URL_LEN(len) (((len) * 8 + 5) / 6)

/* Writes BASE64URL_LEN(len) characters, without a NUL. */
void base64url_encode(const void *bytes, size_t len, char *ret);

/* How many bytes were written to ret.  False, with ret undefined, when it is no such text or does
 * not fit into cap. */
bool base64url_decode(struct text t, void *ret, size_t cap, size_t *ret_len);

#endif
