/* os/mac.h - a message authentication code: HMAC-SHA-256 (RFC 2104, RFC 4231), cut to 16 bytes.
 *
 * Only who knows the key can give it to a message.  By GnuTLS, which is loaded when it is first
 * needed; libpq brings it along.  Any thread.
 */
#ifndef OS_MAC_H
#define OS_MAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAC_BYTES 16
#define MAC_KEY_BYTES 16

/* Fills ret with the code of a message.  False when there is no GnuTLS: then nobody has codes. */
bool mac_make(const uint8_t key[MAC_KEY_BYTES], const void *message, size_t len,
              uint8_t ret[MAC_BYTES]);

/* Whether it is the code of that message; takes as long for any that is not. */
bool mac_is(const uint8_t key[MAC_KEY_BYTES], const void *message, size_t len,
            const uint8_t code[MAC_BYTES]);

#endif
