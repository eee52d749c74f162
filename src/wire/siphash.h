/* wire/siphash.h - SipHash-2-4: a number that only who knows the key can give to some bytes.
 *
 * It seals short messages between programs that share a key of 16 bytes (Aumasson and Bernstein,
 * 2012).  It is no hash for anything that must stand without a key.
 */
#ifndef WIRE_SIPHASH_H
#define WIRE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

#define SIPHASH_KEY_BYTES 16

uint64_t siphash(const uint8_t key[SIPHASH_KEY_BYTES], const void *bytes, size_t len);

#endif
