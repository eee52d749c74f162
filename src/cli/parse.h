/* cli/parse.h - argv -> invocation, by the command table and strictly.
 *
 * Letters cluster (-nv) and take their value attached or as the next word (-w5, -w 5); long
 * options take it after "=" or as the next word.  "--" ends the options.  Commands that run
 * another one (lock, lead) also end them at NAME, as env and flock do, so that every word after it
 * belongs to CMD.  Refused, each with a message that names the value and the rule: unknown
 * options, abbreviations, a missing value, a value for a flag, the same option given twice in any
 * spelling, options that exclude each other, operands too many or too few.
 * Nothing is touched before the whole line is right.
 */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/table.h"
#include "core/time.h"

#define OPTION_REPEATS_MAX 64

struct value {
    int count; /* how often it was given */
    const char *text;
    int64_t number; /* of durations (ms), numbers, signals, codes */
    uint64_t token;
};

/* What was asked for.  The texts are borrowed from argv. */
struct invocation {
    const struct command *command;
    struct value value[OPTION_COUNT];
    const char *repeated[OPTION_REPEATS_MAX]; /* of the one option that repeats */
    const char *operand[OPERANDS_MAX];        /* NULL when not given */
    char **argv; /* CMD, ends with NULL; NULL when there is none */
    bool help;   /* --help was asked for: nothing else is valid */
};

/* Reads the words after the command's name (and verb).  False: *error says why. */
#define PARSE_ERROR_BYTES 512
bool parse_invocation(const struct command *command, int argc, char **argv,
                      struct invocation *ret, char error[PARSE_ERROR_BYTES]);

/* Says what is wrong with the use of a command, and where the rules are.  Returns EXIT_USAGE. */
int usage_fail(const struct invocation *inv, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- what was given ------------------------------------------------------------------------ */

static inline bool option_given(const struct invocation *inv, enum option_id id)
{
    return inv->value[id].count > 0;
}

static inline const char *option_text(const struct invocation *inv, enum option_id id,
                                      const char *absent)
{
    return option_given(inv, id) ? inv->value[id].text : absent;
}

static inline int64_t option_number(const struct invocation *inv, enum option_id id,
                                    int64_t absent)
{
    return option_given(inv, id) ? inv->value[id].number : absent;
}

static inline struct span option_span(const struct invocation *inv, enum option_id id,
                                      struct span absent)
{
    return option_given(inv, id) ? SPAN(inv->value[id].number) : absent;
}

#endif
