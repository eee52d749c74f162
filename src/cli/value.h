/* cli/value.h - one value of one option or operand: read, or refused with its rule. */
#ifndef CLI_VALUE_H
#define CLI_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/table.h"

struct value;

/* Reads `text` as the value of an option into *ret (text, number, token).  False: the rule that
 * is broken, as a clause, is in `rule`. */
#define VALUE_RULE_BYTES 192
bool value_parse(const struct option *o, const char *text, struct value *ret,
                 char rule[VALUE_RULE_BYTES]);

/* The same for an operand. */
bool value_parse_operand(const struct operand *o, const char *text, char rule[VALUE_RULE_BYTES]);

/* A whole number, digits only; true when it fits. */
bool value_parse_token(const char *text, uint64_t *ret);

/* "TERM" for 15; a number for what has no name. */
#define SIGNAL_NAME_BYTES 16
const char *signal_name(int signo, char buf[SIGNAL_NAME_BYTES]);

#endif
