/* wire/key.h - keys that sign and verify permits, as lines of text.
 *
 *     ed25519 PUBLIC [REMARK]             in a file of public keys, a line for each
 *     tenure-signing-key-1 SEED PUBLIC    in the file of a private key, the one line
 *
 * PUBLIC and SEED are base64url of 32 bytes.  Empty lines and those that start with "#" count for
 * nothing. */
#ifndef WIRE_KEY_H
#define WIRE_KEY_H

#include <stdint.h>

#include "core/text.h"

#define KEY_BYTES_EACH 32
#define KEY_LINE_BYTES 128 /* room for either kind of line, with newline and NUL */

struct key_pair {
    unsigned char seed[KEY_BYTES_EACH], public[KEY_BYTES_EACH];
};

/* Which key it is, for those who have several: its first eight bytes. */
uint64_t key_id(const unsigned char public[KEY_BYTES_EACH]);

/* Takes the next line that counts from *text, with its number in *line (0 before the first); false
 * when there is none. */
bool key_line_next(struct text *text, struct text *ret_line, unsigned *line);

bool key_parse_public(struct text line, unsigned char ret[KEY_BYTES_EACH]);
bool key_parse_private(struct text line, struct key_pair *ret);

/* Both write a line with its newline. */
void key_format_public(const unsigned char public[KEY_BYTES_EACH], char ret[KEY_LINE_BYTES]);
void key_format_private(const struct key_pair *pair, char ret[KEY_LINE_BYTES]);

#endif
