/* cli/table_look.c - the rows of the commands that only look. */
#include "cli/commands.h"
#include "cli/table_parts.h"

#define OPERANDS_PREFIX {{.metavar = "PREFIX", .kind = VALUE_PREFIX}}

static const struct exit_note look_exits[] = {
    {EXIT_FINE, "It was printed, also when there was nothing to print."},
    EXIT_OF_USAGE,
    EXITS_OF_STORE,
    {0},
};

static const struct option status_options[] = {
    OPTION_STORE,
    OPTION_JSON("Print one JSON object for each name, one in a line; tokens as numbers and as "
                "strings."),
    {.id = OPT_VERBOSE, .kind = VALUE_NONE, .letter = 'v', .name = "verbose",
     .help = "Also list who waits, in the order of service, and published values."},
    {.id = OPT_ALL, .kind = VALUE_NONE, .letter = 'a', .name = "all",
     .help = "Also show names that nobody holds or waits for; they are known for 30 days after "
             "their last use."},
    {0},
};

const struct command command_row_status = {
    .name = "status",
    .summary = "Who holds what, since when, how long still, who waits",
    .about =
        "Prints the holders of all names, of one name, or of all names that start with a "
        "prefix: NAME shows exactly that name when it exists, else it is taken as a prefix; "
        "end it with a slash to see what is below it. Names that are free are counted, and shown "
        "with --all or by their own name.\n\n"
        "LEFT is the time after which the store may give the name to another, if nothing is "
        "heard of the holder. A holder that is dead is shown as dead: its name is free for the "
        "next who asks. The last line says how old the information is at most.",
    .examples = "tenure status\n"
                "tenure status billing/\n"
                "# the token of the present leader\n"
                "tenure status --json billing/scheduler | jq '.holders[0].token'\n",
    .options = status_options,
    .exits = look_exits,
    .operand = {{.metavar = "NAME|PREFIX", .kind = VALUE_PREFIX}},
    .run = command_status,
};

static const struct exit_note watch_exits[] = {
    {EXIT_SIGNAL, "Signal n ended it, which is how it ends."},
    EXIT_OF_USAGE,
    EXITS_OF_STORE,
    {0},
};

static const struct option watch_options[] = {OPTION_STORE, {0}};

const struct command command_row_watch = {
    .name = "watch",
    .summary = "One JSON line for each change, until a signal",
    .about =
        "Prints what is there, one line for each ticket with \"initial\":true, and from then on "
        "one JSON line for each change: asked, granted, serving, ending, published, ended (with "
        "cause, by and reason), left. Each line has the wall-clock time, the name, and the "
        "ticket and token it is about.\n\n"
        "While the store cannot be reached, or nobody has made it yet, watch says so once and goes "
        "on trying; a store that is made meanwhile is reported from its beginning, with nothing "
        "\"initial\".\n\n"
        "Nothing is polled while nothing changes, but for a look each second at whether a hint "
        "was missed. A tenure that began and ended between two looks is still reported, as long "
        "as the history of its name reaches back to it.",
    .examples = "tenure watch billing/ | jq -r 'select(.event == \"ended\") | .cause'\n",
    .options = watch_options,
    .exits = watch_exits,
    .operand = OPERANDS_PREFIX,
    .run = command_watch,
};

static const struct option history_options[] = {
    OPTION_STORE,
    OPTION_JSON("Print one JSON object for each tenure, one in a line."),
    {0},
};

const struct command command_row_history = {
    .name = "history",
    .summary = "The last tenures of a name: who, how long, what ended them",
    .about =
        "Prints the tenures of a name, the newest first: its token, who held it, from when to "
        "when, for how long, how long nobody had held it before (GAP), what ended it, and who "
        "did that for which reason, or in favour of whom. The record keeps the last 16.\n\n"
        "Times of day come from the wall clock of the host that wrote them; lengths do not, and "
        "on etcd, whose clock counts seconds, they may be off by two of them. One that ended "
        "by itself and that nobody has followed yet is shown as dead, without an end.",
    .examples = "tenure history billing/scheduler\n",
    .options = history_options,
    .exits = look_exits,
    .operand = OPERANDS_NAME,
    .run = command_history,
};

static const struct option timing_options[] = {
    {.id = OPT_TTL, .kind = VALUE_DURATION, .name = "ttl", .metavar = "TIME", .noun = "a TTL",
     .least = TIMING_TTL_FLOOR_MS, .most = TIMING_TTL_CEILING_MS, .standard = "10s",
     .help = "The TTL to show the table for."},
    {.id = OPT_GRACE, .kind = VALUE_DURATION, .name = "grace", .metavar = "TIME",
     .noun = "a grace", .least = 0, .most = TIMING_TTL_CEILING_MS, .standard = "ttl/4",
     .help = "How long before its deadline an unrenewed tenure stops its command."},
    OPTION_JSON("Print one JSON object, in milliseconds."),
    {0},
};

static const struct exit_note timing_exits[] = {
    {EXIT_FINE, "The settings are safe; the table is printed."},
    {EXIT_USAGE, "They are not: the inequality that fails is shown with its numbers."},
    {EXIT_INTERNAL, "The output could not be written."},
    {0},
};

const struct command command_row_timing = {
    .name = "timing",
    .summary = "Every time that follows from a TTL, with the worst gap and overlap",
    .about =
        "Prints when an unrenewed tenure becomes doubtful, when its command is asked to stop, "
        "when it is killed, when the tenure ends for its holder and when the store may give it "
        "to another; and what follows: the longest time without a holder and the longest time "
        "with two. Lock and lead refuse the settings that this command refuses.",
    .examples = "tenure timing --ttl 30s --grace 10s\n",
    .options = timing_options,
    .exits = timing_exits,
    .run = command_timing,
};

static const struct option doctor_options[] = {
    OPTION_STORE,
    {.id = OPT_TTL, .kind = VALUE_DURATION, .name = "ttl", .metavar = "TIME", .noun = "a TTL",
     .least = TIMING_TTL_FLOOR_MS, .most = TIMING_TTL_CEILING_MS, .standard = "10s",
     .help = "The TTL to judge by."},
    {0},
};

static const struct exit_note doctor_exits[] = {
    {EXIT_FINE, "Nothing is unsafe."},
    {EXIT_UNSAFE, "At least one line says warn."},
    EXIT_OF_USAGE,
    EXITS_OF_STORE,
    {0},
};

const struct command command_row_doctor = {
    .name = "doctor",
    .summary = "What is unsafe on this host and in this store",
    .about = "Examines the host (what the kernel offers to end a process tree, the clocks) and "
             "the store, one line each: ok or warn, what was found, and what follows from it. "
             "Then comes the table of tenure timing. A store that is not there is not made: the "
             "code is 82, but for one's own that nobody has used yet.",
    .examples = "tenure doctor --store sqlite:/var/lib/app/tenure.db\n",
    .options = doctor_options,
    .exits = doctor_exits,
    .run = command_doctor,
};
