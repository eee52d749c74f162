/* cli/table_hold.c - the rows of the commands that hold something. */
#include "cli/commands.h"
#include "cli/table_parts.h"

#define OPTION_AS(text)                                                                            \
    {.id = OPT_AS, .kind = VALUE_TEXT, .name = "as", .metavar = "WHO", .noun = "a name",           \
     .least = 1, .most = CLAIM_AS_BYTES_MAX, .standard = "host:pid", .help = text}

#define OPTIONS_OF_WAITING                                                                         \
    {.id = OPT_NONBLOCK, .kind = VALUE_NONE, .letter = 'n', .name = "nonblock",                    \
     .help = "Do not wait: end with 80 when it is held."},                                         \
        {.id = OPT_WAIT, .kind = VALUE_DURATION, .letter = 'w', .name = "wait",                    \
         .metavar = "TIME", .noun = "a wait", .least = 0, .most = INT64_MAX,                       \
         .standard = "wait for ever",                                                              \
         .help = "Wait so long at most, then end with 80, or with 82 when the store did not "      \
                 "answer. 0 is the same as -n, which waits for a silent store for some seconds."}, \
    {.id = OPT_CONFLICT_CODE, .kind = VALUE_CODE, .letter = 'E', .name = "conflict-exit-code",     \
     .metavar = "CODE", .noun = "an exit code", .least = 0, .most = 255, .standard = "80",         \
     .help = "End with CODE instead of 80 when it was not acquired."}

#define OPTIONS_OF_TIMING                                                                          \
    {.id = OPT_TTL, .kind = VALUE_DURATION, .name = "ttl", .metavar = "TIME",                      \
     .noun = "a TTL", .least = TIMING_TTL_FLOOR_MS, .most = TIMING_TTL_CEILING_MS,                 \
     .standard = "10s",                                                                            \
     .help = "How long the store waits for a silent holder before it lets the next one in. All "   \
             "other times follow from it; see tenure timing."},                                    \
        {.id = OPT_GRACE, .kind = VALUE_DURATION, .name = "grace", .metavar = "TIME",              \
         .noun = "a grace", .least = 0, .most = TIMING_TTL_CEILING_MS, .standard = "ttl/4",        \
         .help = "How long before its deadline an unrenewed tenure stops CMD."}

#define OPTIONS_OF_COMMAND                                                                         \
    {.id = OPT_SIGNAL, .kind = VALUE_SIGNAL, .name = "signal", .metavar = "SIG",                   \
     .standard = "TERM",                                                                           \
     .help = "The signal that asks CMD to stop when the tenure ends; what is left shortly "        \
             "before the deadline gets KILL."},                                                    \
        {.id = OPT_PROBE, .kind = VALUE_WORD, .name = "probe", .metavar = "SHELL-CMD",             \
         .help = "Run this by sh -c each ttl/3. While it fails, or takes longer than ttl/3, the "  \
                 "tenure is not renewed, so that it ends in time by the ordinary course."},        \
    {.id = OPT_GUARD, .kind = VALUE_WORD, .name = "guard", .metavar = "TARGET",                    \
     .help = "Announce the token to the guard in TARGET (see tenure guard) before CMD starts; "    \
             "when that fails CMD is not started. For PostgreSQL, PGOPTIONS presents it, too."}

#define OPTIONS_OF_CLAIM                                                                           \
    {.id = OPT_PRIORITY, .kind = VALUE_NUMBER, .name = "priority", .metavar = "N",                 \
     .noun = "a priority", .least = -CLAIM_PRIORITY_MAX, .most = CLAIM_PRIORITY_MAX,               \
     .standard = "0",                                                                              \
     .help = "Higher is served first; equals in the order in which they asked."},                  \
        {.id = OPT_VALUE, .kind = VALUE_TEXT, .name = "value", .metavar = "TEXT",                  \
         .noun = "a value", .least = 0, .most = CLAIM_VALUE_BYTES_MAX,                             \
         .help = "Text to publish beside the claim, as an address; tenure status shows it."},      \
    OPTION_AS("Who we are, for status, history and transfer.")

#define OPTIONS_OF_SPEECH                                                                          \
    OPTION_JSON("Without CMD: print one JSON object with token, ticket and name instead of the "   \
                "token alone."),                                                                   \
        {.id = OPT_VERBOSE, .kind = VALUE_NONE, .letter = 'v', .name = "verbose",                  \
         .help = "Also say when it was acquired and released."},                                   \
        {.id = OPT_QUIET, .kind = VALUE_NONE, .letter = 'q', .name = "quiet",                      \
         .help = "Say nothing but errors."}

#define EXITS_OF_RUNNING                                                                           \
    {EXIT_NOTE_COMMAND, "What CMD ended with; 128+n when signal n ended it, or ended the wait."},  \
        EXIT_OF_USAGE,                                                                             \
        {EXIT_REFUSED, "Not acquired: held, or not within the time allowed (-E changes it)."}

#define EXITS_OF_EXEC                                                                              \
    {EXIT_NOT_EXECUTABLE, "CMD could not be executed."}, {EXIT_NOT_FOUND, "CMD was not found."}

static const struct option lock_options[] = {
    OPTIONS_OF_WAITING,
    {.id = OPT_SHARED, .kind = VALUE_NONE, .letter = 's', .name = "shared",
     .help = "Hold it together with other shared holders."},
    {.id = OPT_EXCLUSIVE, .kind = VALUE_NONE, .letter = 'x', .name = "exclusive",
     .help = "Hold it alone; the default."},
    {.id = OPT_PERMITS, .kind = VALUE_NUMBER, .name = "permits", .metavar = "N",
     .noun = "a number of permits", .least = 1, .most = CLAIM_PERMITS_MAX, .standard = "1",
     .help = "So many may hold it at once; all who ask must say the same number."},
    OPTIONS_OF_TIMING,
    OPTIONS_OF_COMMAND,
    OPTIONS_OF_CLAIM,
    OPTION_STORE,
    OPTIONS_OF_SPEECH,
    {0},
};

static const struct exit_note lock_exits[] = {
    EXITS_OF_RUNNING,
    {EXIT_LOST, "The lock ended before CMD did: lost, or ended by an operator. CMD was stopped; "
                "its own code does not count."},
    EXITS_OF_STORE,
    EXIT_OF_DOUBT,
    EXITS_OF_EXEC,
    {0},
};

const struct command command_row_lock = {
    .name = "lock",
    .runs = true,
    .summary = "Run a command while holding a lock",
    .about =
        "Waits for the lock NAME, runs CMD while holding it, and gives it back when CMD and "
        "every process that it started have ended. Waiters are served in order.\n\n"
        "CMD finds TENURE_NAME, TENURE_TOKEN (the fencing token), TENURE_TICKET and TENURE_STORE "
        "in its environment. Where it writes it can show the token, so that a late write of a "
        "former holder is refused there (see tenure guard). stdin, stdout and stderr pass "
        "through; signals are forwarded to CMD. No process of CMD is left alive when the lock may "
        "pass on: if it cannot be renewed, CMD is asked to stop before the deadline and killed "
        "when it does not.\n\n"
        "Processes that CMD leaves behind when it ends are part of it: they get the stop signal, "
        "then KILL, and only then is the lock given back.\n\n"
        "Without CMD the token is printed, and nothing else, and the lock is held until INT, "
        "TERM, HUP or QUIT comes; then it is given back and the code is 0. It is 81 when the "
        "lock was lost before.",
    .examples = "# one import at a time on this machine; skip this run when one is running\n"
                "tenure lock -n billing/import -- ./import.sh\n"
                "# wait for a minute at most\n"
                "tenure lock -w 60 billing/import -- ./import.sh\n"
                "# four builds at once\n"
                "tenure lock --permits 4 build -- make\n",
    .options = lock_options,
    .exits = lock_exits,
    .operand = OPERANDS_NAME,
    .run = command_lock,
};

static const struct option lead_options[] = {
    OPTIONS_OF_WAITING,
    {.id = OPT_ONCE, .kind = VALUE_NONE, .name = "once",
     .help = "Lead for one term: end when it ends, instead of standing again."},
    OPTIONS_OF_TIMING,
    OPTIONS_OF_COMMAND,
    OPTIONS_OF_CLAIM,
    OPTION_STORE,
    OPTIONS_OF_SPEECH,
    {0},
};

static const struct exit_note lead_exits[] = {
    EXITS_OF_RUNNING,
    {EXIT_LOST, "With --once, or without CMD: the term ended before CMD did; it was lost, "
                "resigned, transferred or evicted."},
    EXITS_OF_STORE,
    EXIT_OF_DOUBT,
    EXITS_OF_EXEC,
    {0},
};

const struct command command_row_lead = {
    .name = "lead",
    .runs = true,
    .summary = "Stand for election and run a command for each term",
    .about =
        "Stands for election under NAME. Whenever it is elected it runs CMD, with the epoch of "
        "the term in TENURE_EPOCH; when the term ends before CMD does - it was lost, or an "
        "operator had it resign or transferred it - CMD is stopped, the role is given back once "
        "all its processes are gone, and tenure lead stands again.\n\n"
        "When CMD ends by itself the work is over: the role is given back and tenure lead ends "
        "with CMD's code, so that a service manager sees it and can restart it by its own "
        "rules. A program that is to lead for ever must not end.\n\n"
        "A term that a failing --probe has ended is followed by a pause, so that others can lead: "
        "half a TTL to one, and twice as long after each further term in which the probe never "
        "succeeded, up to a minute.\n\n"
        "Standing by costs nothing while nothing changes. While the store cannot be reached, from "
        "the start or later, lead says so once and goes on trying (but for -n, and for as long as "
        "-w says); when the store refuses to serve (83) it ends.\n\n"
        "Without CMD the epoch is printed when it is elected, and the role held until a signal "
        "comes (code 0) or the term ends (81).",
    .examples = "# three of these, on as many terminals: one of them runs the scheduler\n"
                "tenure lead billing/scheduler -- ./scheduler\n"
                "# a name for status and transfer, and an address for who looks for the leader\n"
                "tenure lead --as node-a --value 10.0.0.7:8080 scheduler -- ./scheduler\n"
                "# fence the ledger before the new leader writes its first row\n"
                "tenure lead --guard sqlite:ledger.db invoices -- ./invoices.py\n",
    .options = lead_options,
    .exits = lead_exits,
    .operand = OPERANDS_NAME,
    .run = command_lead,
};

static const struct option check_options[] = {OPTION_STORE, {0}};

static const struct exit_note check_exits[] = {
    {EXIT_FINE, "The tenure stands, and was not asked to end."},
    {EXIT_USAGE, "There is no tenure in the environment, or none of that NAME."},
    {EXIT_LOST, "It does not stand any more."},
    EXITS_OF_STORE,
    {0},
};

const struct command command_row_check = {
    .name = "check",
    .summary = "In a script under lock or lead: does the tenure still stand?",
    .about =
        "Ends with 0 only while exactly the tenure that this process runs under still holds: "
        "the name and the token come from the environment that tenure lock or lead made "
        "(TENURE_NAME, TENURE_TOKEN, TENURE_STORE). With NAME, an outer tenure of a nested call "
        "can be checked too.\n\n"
        "A check is true when it was made. What is written after it can still be late; show the "
        "token where the write lands (see tenure guard).",
    .examples = "# between two steps of a long job\n"
                "tenure check || exit 1\n",
    .options = check_options,
    .exits = check_exits,
    .operand = {{.metavar = "NAME", .kind = VALUE_NAME}},
    .run = command_check,
};

#define OPTION_LEASE_TOKEN OPTION_TOKEN("The token that lease take printed.")

#define OPTION_LEASE_TTL(text)                                                                     \
    {.id = OPT_TTL, .kind = VALUE_DURATION, .name = "ttl", .metavar = "TIME", .required = true,    \
     .noun = "the length of a lease", .least = TIMING_TTL_FLOOR_MS,                                \
     .most = TIMING_LEASE_CEILING_MS, .help = text}

static const struct option lease_take_options[] = {
    OPTION_LEASE_TTL("How long it stands without a renewal."),
    {.id = OPT_WAIT, .kind = VALUE_DURATION, .letter = 'w', .name = "wait", .metavar = "TIME",
     .noun = "a wait", .least = 0, .most = INT64_MAX, .standard = "do not wait",
     .help = "Try for so long when another lease stands, then end with 80."},
    {.id = OPT_AS, .kind = VALUE_TEXT, .name = "as", .metavar = "OWNER", .noun = "an owner",
     .least = 1, .most = CLAIM_AS_BYTES_MAX, .standard = "user@host",
     .help = "Who owns it, for status and history."},
    OPTION_STORE,
    OPTION_JSON("Print one JSON object with token, name and owner instead of the token alone."),
    {0},
};

static const struct exit_note lease_take_exits[] = {
    {EXIT_FINE, "Taken; the token is printed."},
    EXIT_OF_USAGE,
    {EXIT_REFUSED, "Another lease stands, whoever owns it; or NAME is in use as a lock or an "
                   "election."},
    EXITS_OF_STORE,
    EXIT_OF_DOUBT,
    {0},
};

const struct command command_row_lease_take = {
    .name = "lease",
    .verb = "take",
    .summary = "Take a lease and print its token",
    .about = "Takes a lease: ownership of NAME for a stated time, which does not hang on any "
             "process. Who shows its token can renew or drop it, from anywhere that reaches the "
             "store. A lease that has expired never revives.",
    .examples = "token=$(tenure lease take --ttl 24h --as ops/anna maintenance/db1) || exit\n",
    .options = lease_take_options,
    .exits = lease_take_exits,
    .operand = OPERANDS_NAME,
    .run = command_lease,
};

static const struct option lease_renew_options[] = {
    OPTION_LEASE_TOKEN,
    OPTION_LEASE_TTL("How long it stands from now on."),
    OPTION_STORE,
    {0},
};

static const struct exit_note lease_keep_exits[] = {
    {EXIT_FINE, "It was done."},
    EXIT_OF_USAGE,
    {EXIT_LOST, "This token does not stand any more: dropped, expired or evicted, also when "
                "nobody else was in between."},
    EXITS_OF_STORE,
    EXIT_OF_DOUBT,
    {0},
};

const struct command command_row_lease_renew = {
    .name = "lease",
    .verb = "renew",
    .summary = "Extend a lease by its token",
    .about = "Extends exactly the lease with this token to TIME from now.",
    .examples = "tenure lease renew --token \"$token\" --ttl 24h maintenance/db1\n",
    .options = lease_renew_options,
    .exits = lease_keep_exits,
    .operand = OPERANDS_NAME,
    .run = command_lease,
};

static const struct option lease_drop_options[] = {
    OPTION_LEASE_TOKEN,
    OPTION_STORE,
    {0},
};

const struct command command_row_lease_drop = {
    .name = "lease",
    .verb = "drop",
    .summary = "End a lease by its token",
    .about = "Ends exactly the lease with this token, before its time.",
    .examples = "tenure lease drop --token \"$token\" maintenance/db1\n",
    .options = lease_drop_options,
    .exits = lease_keep_exits,
    .operand = OPERANDS_NAME,
    .run = command_lease,
};
