/* wire/token_header.h - the header with which an HTTP request shows its token.
 *
 *     Tenure-Token: billing/invoices 42
 *
 * A name, one space, a whole number from 1 to 2^63-1 in its only spelling: no sign, no leading
 * zero.  So two requests show the same token exactly when their headers are the same bytes.  What
 * comes here is what strangers sent.  Pure; fuzzed by tests/fuzz/fuzz_token_header.c. */
#ifndef WIRE_TOKEN_HEADER_H
#define WIRE_TOKEN_HEADER_H

#include <stdint.h>

#include "core/text.h"

#define TOKEN_HEADER "Tenure-Token"
#define TOKEN_HEADER_TOKEN_MAX INT64_MAX /* as in the databases, which have nothing larger */

enum token_header_flaw {
    TOKEN_HEADER_FINE = 0,
    TOKEN_HEADER_EMPTY,
    TOKEN_HEADER_NO_TOKEN,  /* one word */
    TOKEN_HEADER_BAD_NAME,  /* the first word is no name (core/name.h) */
    TOKEN_HEADER_BAD_TOKEN, /* what follows the space is no token */
};

/* Takes the value of the header apart.  Blanks around it do not count, as in every header.  The
 * outputs borrow from it, and are untouched on a flaw. */
enum token_header_flaw token_header_parse(struct text value, struct text *ret_name,
                                          uint64_t *ret_token);

/* The rule that was broken, as a clause. */
const char *token_header_flaw_text(enum token_header_flaw flaw);

#endif
