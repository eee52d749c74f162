/* os/signature.h - Ed25519 by GnuTLS, which is loaded when the first key is made or read
 * (os/library.h). */
#ifndef OS_SIGNATURE_H
#define OS_SIGNATURE_H

#include <stddef.h>
#include <tenure/error.h>

#define SIGNATURE_BYTES 64
#define SIGNATURE_KEY_BYTES 32 /* of a seed, and of a public key */

struct signer;   /* a private key */
struct verifier; /* a public key; any number of threads may use it */

/* Makes a key pair.  0, or TENURE_INVALID without GnuTLS, or TENURE_INTERNAL. */
int signature_make_keys(unsigned char ret_seed[SIGNATURE_KEY_BYTES],
                        unsigned char ret_public[SIGNATURE_KEY_BYTES], tenure_error *err);

/* 0, or TENURE_INVALID without GnuTLS, TENURE_CORRUPT when it is no key (of a pair: when they do
 * not belong together), TENURE_NO_MEMORY. */
int signer_open(const unsigned char seed[SIGNATURE_KEY_BYTES],
                const unsigned char public[SIGNATURE_KEY_BYTES], struct signer **ret,
                tenure_error *err);
struct signer *signer_close(struct signer *s); /* NULL */

int verifier_open(const unsigned char public[SIGNATURE_KEY_BYTES], struct verifier **ret,
                  tenure_error *err);
struct verifier *verifier_close(struct verifier *v); /* NULL */

/* 0, or TENURE_INTERNAL. */
int signer_sign(const struct signer *s, const void *bytes, size_t len,
                unsigned char ret[SIGNATURE_BYTES], tenure_error *err);

/* 1 when the signature is that key's of these bytes, 0 when it is not; TENURE_NO_MEMORY or
 * TENURE_INTERNAL when it could not be looked at. */
int verifier_verify(const struct verifier *v, const void *bytes, size_t len,
                    const unsigned char signature[SIGNATURE_BYTES]);

#endif
