/* cli/table.h - every command, once.
 *
 * What a command is called, which options it takes, what it says about itself and with which
 * codes it ends is written in one place and read by all: the parser (parse.h), `--help`
 * (help.c), the man pages (man.c) and the shells' completion (completion.c).  So they can never
 * disagree; tests/e2e/test_cli_usage.py checks that each option is in each of them.
 *
 * A command with verbs (`lease take`) has one row for each.  Texts are plain: paragraphs are
 * separated by an empty line, and nothing is marked up.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct invocation;

enum option_id {
    OPT_HELP = 0,
    OPT_STORE,
    OPT_JSON,
    OPT_VERBOSE,
    OPT_ALL,
    OPT_QUIET,
    OPT_AS,
    OPT_NONBLOCK,
    OPT_WAIT,
    OPT_SHARED,
    OPT_EXCLUSIVE,
    OPT_CONFLICT_CODE,
    OPT_TTL,
    OPT_GRACE,
    OPT_SIGNAL,
    OPT_PERMITS,
    OPT_PRIORITY,
    OPT_VALUE,
    OPT_PROBE,
    OPT_GUARD,
    OPT_ONCE,
    OPT_TOKEN,
    OPT_REASON,
    OPT_TO,
    OPT_RAISE_TO,
    OPT_NAME,
    OPT_GROUP,
    OPT_TABLE,
    OPT_STRICT,
    OPT_MARKS,
    OPT_SECRET,
    OPT_WHILE,
    OPT_EPOCH,
    OPT_VERSION,
    OPT_ROLE,
    OPT_KEY,
    OPT_KEYS,
    OPT_STATE,
    OPT_FOR,
    OPT_CLOCK_ERROR,
    OPT_RETRIES,
    OPT_SERIAL,
    OPTION_COUNT,
};

/* What a value may be; value.h says how each is read and refused. */
enum value_kind {
    VALUE_NONE = 0, /* a flag */
    VALUE_TEXT,     /* clean UTF-8 of `least` to `most` bytes */
    VALUE_WORD,     /* any bytes but none at all: a URL, a path, a command */
    VALUE_NAME,     /* a whole name (core/name.h) */
    VALUE_PREFIX,   /* the start of a name */
    VALUE_DURATION, /* `least` to `most` milliseconds */
    VALUE_NUMBER,   /* a whole number, `least` to `most` */
    VALUE_TOKEN,    /* a fencing token: 1 to 2^64-1 */
    VALUE_SIGNAL,   /* TERM, SIGTERM or 15: one that asks a process to end */
    VALUE_CODE,     /* an exit code that has no other meaning */
    VALUE_CHOICE,   /* one of the words in `choices` */
};

struct option {
    enum option_id id;
    enum value_kind kind;
    char letter;          /* 0: it has none */
    bool required;
    bool repeats;         /* may be given more than once */
    const char *name;     /* without dashes; NULL ends the list */
    const char *metavar;  /* NULL for a flag */
    const char *noun;     /* what the value is, for messages: "a TTL" */
    int64_t least, most;
    const char *standard; /* what holds without it; NULL: nothing to say */
    const char *help;
};

struct operand {
    const char *metavar; /* NULL ends the list */
    enum value_kind kind;
    bool required;
    const char *choices; /* for VALUE_CHOICE, words between spaces */
};

struct exit_note {
    int code; /* EXIT_NOTE_COMMAND: whatever the command ended with */
    const char *text; /* NULL ends the list */
};

#define EXIT_NOTE_COMMAND (-1)
#define OPERANDS_MAX 2

struct command {
    const char *name;
    const char *verb; /* NULL, or the second word */
    bool runs;        /* takes [-- CMD...] after its operand; options stop there */
    const char *summary; /* one line, no full stop */
    const char *about;
    const char *examples; /* lines; one that starts with "#" is a remark on the next */
    const struct option *options;
    const struct exit_note *exits;
    struct operand operand[OPERANDS_MAX + 1];
    int (*run)(struct invocation *inv); /* returns the exit code */
};

/* All commands in the order of `tenure help`; a name with verbs is in neighbouring rows.  Ends
 * with a row whose name is NULL. */
extern const struct command *const command_table[];

/* The options that every command takes. */
extern const struct option option_help;

/* One line about a command with verbs, for `tenure help`; NULL for one without. */
const char *command_group_summary(const char *name);

/* The exact row, or NULL.  `verb` may be NULL. */
const struct command *command_find(const char *name, const char *verb);

/* The first row of that name, or NULL. */
const struct command *command_find_group(const char *name);

#endif
