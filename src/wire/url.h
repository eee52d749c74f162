/* wire/url.h - where a store is, as people write it: SCHEME:BODY[?KEY=VALUE[&KEY=VALUE]...].
 *
 * The body means what the engine says.  Nothing is decoded or unescaped, so a path is its own
 * spelling, and there is exactly one for each store.  Pure. */
#ifndef WIRE_URL_H
#define WIRE_URL_H

#include <stdbool.h>

#include "core/text.h"

struct url {
    struct text scheme; /* "sqlite": lower-case letters and digits, a letter first */
    struct text body;   /* up to the first "?"; may be empty */
    struct text query;  /* behind it; empty when there is none */
};

enum url_flaw {
    URL_FINE = 0,
    URL_EMPTY,
    URL_NO_COLON,   /* "sqlite" alone */
    URL_BAD_SCHEME, /* the part before the colon is not a scheme */
    URL_BAD_BYTE,   /* a control character */
};

/* Takes the text apart; *ret borrows from it and is untouched on a flaw. */
enum url_flaw url_parse(struct text t, struct url *ret);

/* The rule that was broken, as a clause: "there is no scheme in front of a colon". */
const char *url_flaw_text(enum url_flaw flaw);

/* Takes the next "key=value" from the front of *query; false when it is empty.  Without "=" the
 * value is empty. */
bool url_option_next(struct text *query, struct text *ret_key, struct text *ret_value);

/* What may be shown of a URL: "***" in the place of a password, be it in front of an "@" or the
 * value of an option whose name ends so.  Cut off where `cap` bytes with the NUL are too few. */
void url_show(struct text url, char *ret, size_t cap);

#endif
