/* cli/nearest.h - what somebody who mistyped a word most likely meant. */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

struct command;

/* The option, or command, within two edits of the word, or what other programs call by this word;
 * NULL when none is. */
const char *nearest_option(const struct command *c, const char *word, size_t len);
const char *nearest_command(const char *word);

#endif
