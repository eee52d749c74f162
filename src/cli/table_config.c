/* cli/table_config.c - the rows of `tenure config`. */
#include "cli/commands.h"
#include "cli/table_parts.h"

#define OPTIONS_OF_DEMANDS                                                                         \
    {.id = OPT_WHILE, .kind = VALUE_NAME, .name = "while", .metavar = "NAME",                      \
     .help = "Only while NAME is held under the epoch, by a holder who is alive."},                \
        {.id = OPT_EPOCH, .kind = VALUE_TOKEN, .name = "epoch", .metavar = "N",                    \
         .standard = "the one under which this runs (tenure lead, tenure lock)",                   \
         .help = "The epoch, or the token of a lock, that --while means."},                        \
        {.id = OPT_VERSION, .kind = VALUE_NUMBER, .name = "version", .metavar = "V",               \
         .noun = "a version", .least = 0, .most = INT64_MAX,                                       \
         .help = "Only when the entry is at this version; 0: when it is not there."}

#define OPERANDS_KEY(must) {{.metavar = "KEY", .kind = VALUE_NAME, .required = must}}

static const struct exit_note change_exits[] = {
    {EXIT_FINE, "It was changed; the new version is printed."},
    EXIT_OF_USAGE,
    {EXIT_REFUSED, "The entry is at another version, which is said; nothing was changed."},
    {EXIT_LOST, "NAME is not held under that epoch, but as is said; nothing was changed."},
    EXITS_OF_STORE,
    EXIT_OF_DOUBT,
    {0},
};

static const struct exit_note look_exits[] = {
    {EXIT_FINE, "It was printed."},
    EXIT_OF_USAGE,
    {EXIT_REFUSED, "There is no such entry (get)."},
    EXITS_OF_STORE,
    {0},
};

static const struct option get_options[] = {
    OPTION_STORE,
    OPTION_JSON("Print a JSON object with the value, its version, and who changed it when."),
    {0},
};

const struct command command_row_config_get = {
    .name = "config",
    .verb = "get",
    .summary = "Print the value of an entry",
    .about = "Prints the bytes of the value and nothing else. Without KEY: a table of all entries, "
             "without their values.",
    .examples = "tenure config get cluster/release\n"
                "tenure config get\n",
    .options = get_options,
    .exits = look_exits,
    .operand = OPERANDS_KEY(false),
    .run = command_config,
};

static const struct option change_options[] = {
    OPTIONS_OF_DEMANDS,
    OPTION_BY,
    OPTION_STORE,
    {0},
};

const struct command command_row_config_put = {
    .name = "config",
    .verb = "put",
    .summary = "Set an entry, if conditions hold",
    .about =
        "Sets the entry KEY to VALUE, or to what stdin holds (at most 512 KiB), and prints its new "
        "version. What --while and --version demand is asked in the same atomic step: a leader "
        "that was replaced while it slept changes nothing when it wakes up, and of two who read "
        "the same version one comes through.\n\n"
        "Keys are made like names, and have nothing to do with them. Versions are unique in the "
        "store and only grow, also after an entry was deleted.",
    .examples = "# only the present leader, and only if nobody was faster\n"
                "tenure config put cluster/release v17 --while cluster/leader --version 4711\n"
                "# a new entry, from a file\n"
                "tenure config put cluster/rules --version 0 < rules.json\n",
    .options = change_options,
    .exits = change_exits,
    .operand = {{.metavar = "KEY", .kind = VALUE_NAME, .required = true},
                {.metavar = "VALUE", .kind = VALUE_WORD}},
    .run = command_config,
};

const struct command command_row_config_delete = {
    .name = "config",
    .verb = "delete",
    .summary = "Delete an entry, if conditions hold",
    .about = "Deletes the entry KEY, under the same conditions as put, and prints the version "
             "of the deletion. Its history stays for 30 days.",
    .examples = "tenure config delete cluster/drain/node-7 --while cluster/leader --epoch 18\n",
    .options = change_options,
    .exits = change_exits,
    .operand = OPERANDS_KEY(true),
    .run = command_config,
};

static const struct option watch_options[] = {
    OPTION_STORE,
    {0},
};

const struct command command_row_config_watch = {
    .name = "config",
    .verb = "watch",
    .summary = "One JSON line for each change of an entry",
    .about = "Prints what is there (\"initial\": true), then a line for each change of an entry "
             "whose key starts with PREFIX, within a second of the change at the latest. Of "
             "several changes within that time the last one is printed; tenure config history has "
             "the others. A value that is no UTF-8 text is null.",
    .examples = "tenure config watch cluster/\n",
    .options = watch_options,
    .exits = look_exits,
    .operand = {{.metavar = "PREFIX", .kind = VALUE_PREFIX}},
    .run = command_config,
};

static const struct option history_options[] = {
    OPTION_STORE,
    OPTION_JSON("Print one JSON object for each change."),
    {0},
};

const struct command command_row_config_history = {
    .name = "config",
    .verb = "history",
    .summary = "Who changed an entry, when, and under which epoch",
    .about = "Shows the last 16 changes of an entry, the newest first: its version, when, how many "
             "bytes, who, and the tenure that the change demanded (UNDER). Values of before are "
             "not kept.",
    .examples = "tenure config history cluster/release\n",
    .options = history_options,
    .exits = look_exits,
    .operand = OPERANDS_KEY(true),
    .run = command_config,
};
