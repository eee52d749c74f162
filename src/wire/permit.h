/* wire/permit.h - a permit as one line of text: "permit1.BODY.SIGNATURE".
 *
 * BODY is base64url of the fields (docs/permits.md), SIGNATURE that of 64 bytes which sign all of
 * the text in front of the last dot, version included.  Every permit has exactly one spelling. */
#ifndef WIRE_PERMIT_H
#define WIRE_PERMIT_H

#include "core/permit.h"

#define PERMIT_SIGNATURE_BYTES 64

/* Writes what is to be signed, with a NUL; returns its length; 0: a field is out of range. */
size_t permit_encode(const tenure_permit *p, char ret[TENURE_PERMIT_TEXT_BYTES]);

/* Appends the signature to what permit_encode() wrote. */
void permit_append_signature(char text[TENURE_PERMIT_TEXT_BYTES],
                             const unsigned char signature[PERMIT_SIGNATURE_BYTES]);

/* Takes a permit apart: what it says, what is signed (borrowed from t), and the signature, which is
 * not verified.  False when it is none; the outputs are undefined then. */
bool permit_decode(struct text t, tenure_permit *ret, struct text *ret_signed,
                   unsigned char ret_signature[PERMIT_SIGNATURE_BYTES]);

#endif
