/* cli/table_permit.c - the rows of `tenure permit`. */
#include <tenure/permit.h>

#include "cli/commands.h"
#include "cli/table_parts.h"

#define OPTION_CLOCK_ERROR                                                                         \
    {.id = OPT_CLOCK_ERROR, .kind = VALUE_DURATION, .name = "clock-error", .metavar = "TIME",      \
     .noun = "an error of a clock", .least = 0, .most = TENURE_PERMIT_CLOCK_ERROR_MAX_MS,          \
     .standard = "what the kernel says; refused when it does not know",                            \
     .help = "By how much the wall clock of this machine may be off, at most."}

#define OPERANDS_SCOPE                                                                             \
    {{.metavar = "RESOURCE", .kind = VALUE_NAME, .required = true},                                \
     {.metavar = "OPERATION", .kind = VALUE_NAME, .required = true}}

/* ---- keygen --------------------------------------------------------------------------------- */

static const struct option keygen_options[] = {
    {0},
};

static const struct exit_note keygen_exits[] = {
    {EXIT_FINE, "Both files were written; the id of the key is printed."},
    EXIT_OF_USAGE,
    {EXIT_REFUSED, "One of the files is there already; nothing was written."},
    {EXIT_UNREACHABLE, "The files could not be written."},
    {EXIT_DENIED, "The files could not be written: permission, or space."},
    {EXIT_INTERNAL, "Internal error, or the output could not be written."},
    {0},
};

const struct command command_row_permit_keygen = {
    .name = "permit",
    .verb = "keygen",
    .summary = "Make a pair of keys that sign permits",
    .about = "Writes a new Ed25519 key to FILE, which only its owner can read, and the public half "
             "to FILE.pub: one line for the file of keys of each effector. Prints the id of the "
             "key.\n\n"
             "To change keys, add the new line to the effectors' files, issue with the new key, "
             "and take the old line away when the last permit that it signed is over.",
    .examples = "tenure permit keygen /etc/tenure/permit.key\n",
    .options = keygen_options,
    .exits = keygen_exits,
    .operand = {{.metavar = "FILE", .kind = VALUE_WORD, .required = true}},
    .run = command_permit,
};

/* ---- issue ---------------------------------------------------------------------------------- */

static const struct option issue_options[] = {
    {.id = OPT_KEY, .kind = VALUE_WORD, .name = "key", .metavar = "FILE", .required = true,
     .help = "The private key that signs, from tenure permit keygen."},
    {.id = OPT_ROLE, .kind = VALUE_NAME, .name = "role", .metavar = "NAME",
     .standard = "the name under which this runs (tenure lead, tenure lock)",
     .help = "The election (or lock) whose holder asks."},
    {.id = OPT_EPOCH, .kind = VALUE_TOKEN, .name = "epoch", .metavar = "N",
     .standard = "the one under which this runs",
     .help = "The epoch, or the token of a lock, that must stand."},
    {.id = OPT_FOR, .kind = VALUE_DURATION, .name = "for", .metavar = "TIME", .noun = "a permit",
     .least = 1, .most = TENURE_PERMIT_VALID_MAX_MS,
     .standard = "as long as the tenure is sure to stand",
     .help = "How long it is good. By so much a longer one may outlive its epoch."},
    {.id = OPT_SHARED, .kind = VALUE_NONE, .letter = 's', .name = "shared",
     .help = "Several may be good at once, if all of them are shared."},
    {.id = OPT_WAIT, .kind = VALUE_DURATION, .letter = 'w', .name = "wait", .metavar = "TIME",
     .noun = "a wait", .least = 0, .most = INT64_MAX, .standard = "do not wait",
     .help = "Wait so long for a permit of somebody else to be over, then end with 80."},
    OPTION_CLOCK_ERROR,
    OPTION_BY,
    OPTION_JSON("Print a JSON object with the permit and what it says."),
    OPTION_STORE,
    {0},
};

static const struct exit_note issue_exits[] = {
    {EXIT_FINE, "It was granted; the permit is printed, one line."},
    EXIT_OF_USAGE,
    {EXIT_REFUSED, "Another permit for it is good (it is said for how long); the tenure is too "
                   "near to its end; or the role can be held by several at once."},
    {EXIT_LOST, "The role is not held under that epoch, but as is said."},
    {EXIT_UNREACHABLE, "The store, or the file of the key, could not be reached; nothing "
                       "happened."},
    {EXIT_DENIED, "The store refused; others may read the key; or the clock's error is unknown."},
    {EXIT_INTERNAL, "Internal error, or the output could not be written."},
    EXIT_OF_DOUBT,
    {0},
};

const struct command command_row_permit_issue = {
    .name = "permit",
    .verb = "issue",
    .summary = "Get a signed permit for one operation on one resource",
    .about =
        "Grants a permit, in one atomic step of the store: only while the role is held under its "
        "epoch by a holder who is alive, and only while no other permit for OPERATION on RESOURCE "
        "is good. Then signs it, and prints it: one line of text for whoever does the operation, "
        "who verifies it without the store (tenure permit verify).\n\n"
        "As a rule a permit ends when the store could give the role to somebody else if its holder "
        "fell silent now. With --for it may be longer, an hour at most: then it outlives its epoch "
        "by up to that time, and nobody else is granted the operation until then.",
    .examples = "# under tenure lead\n"
                "permit=$(tenure permit issue node-7 drain --key permit.key) &&\n"
                "    echo \"$permit\" | ssh node-7 drain-this-node\n",
    .options = issue_options,
    .exits = issue_exits,
    .operand = OPERANDS_SCOPE,
    .run = command_permit,
};

/* ---- verify --------------------------------------------------------------------------------- */

static const struct option verify_options[] = {
    {.id = OPT_ROLE, .kind = VALUE_NAME, .name = "role", .metavar = "NAME", .required = true,
     .help = "Whose permits count: the election (or lock) that decides about RESOURCE."},
    {.id = OPT_KEYS, .kind = VALUE_WORD, .name = "keys", .metavar = "FILE", .required = true,
     .help = "The public keys that are trusted, a line each."},
    {.id = OPT_STATE, .kind = VALUE_WORD, .name = "state", .metavar = "FILE", .required = true,
     .help = "Where to remember the highest epoch and the permits that were shown; made when it "
             "is not there."},
    {.id = OPT_RETRIES, .kind = VALUE_NONE, .name = "retries",
     .help = "The operation may be done twice: a permit that was shown before still counts."},
    OPTION_CLOCK_ERROR,
    OPTION_JSON("Print a JSON object with the verdict and what the permit says."),
    {0},
};

static const struct exit_note verify_exits[] = {
    {EXIT_FINE, "Admitted: do it now."},
    EXIT_OF_USAGE,
    {EXIT_REFUSED, "Not a permit for this: malformed, signed by an unknown key, altered, or for "
                   "another role, resource or operation."},
    {EXIT_LOST, "Over: stale (a higher epoch was seen here), expired, or replayed."},
    {EXIT_UNREACHABLE, "The files could not be read or written."},
    {EXIT_DENIED, "No answer can be relied on: the clock's error is unknown, or some clock is off "
                  "by more than was stated; a file may be written by others, or is damaged."},
    {EXIT_INTERNAL, "Internal error, or the output could not be written."},
    {0},
};

const struct command command_row_permit_verify = {
    .name = "permit",
    .verb = "verify",
    .summary = "Say whether a permit lets an operation be done here and now",
    .about =
        "Reads one permit from stdin and verifies it, without the store and without a network: its "
        "signature, that it is for OPERATION on RESOURCE by the holder of the role, that no higher "
        "epoch of the role was ever shown for RESOURCE, that it is not over by any clock that "
        "keeps to its error, and that it was not shown before. What was shown is on disk before "
        "the answer is given. Says why it is refused; says nothing when it is admitted.\n\n"
        "All effectors of one RESOURCE share one state. Who loses it forgets the epochs: permits "
        "that are not over yet would be admitted again.",
    .examples = "tenure permit verify node-7 drain --role cluster/maintenance \\\n"
                "    --keys /etc/tenure/permit.keys --state /var/lib/drain/permits &&\n"
                "    kubectl drain node-7\n",
    .options = verify_options,
    .exits = verify_exits,
    .operand = OPERANDS_SCOPE,
    .run = command_permit,
};

/* ---- list, revoke --------------------------------------------------------------------------- */

static const struct option list_options[] = {
    {.id = OPT_ALL, .kind = VALUE_NONE, .letter = 'a', .name = "all",
     .help = "Also those that are over; the last 32 of each operation are known."},
    OPTION_JSON("Print one JSON object for each permit."),
    OPTION_STORE,
    {0},
};

static const struct exit_note list_exits[] = {
    {EXIT_FINE, "They were printed, if there are any."},
    EXIT_OF_USAGE,
    EXITS_OF_STORE,
    {0},
};

const struct command command_row_permit_list = {
    .name = "permit",
    .verb = "list",
    .summary = "Which permits are good, and who has them",
    .about = "Shows what the store knows of the permits for resources whose names start with "
             "PREFIX: who asked for it under which epoch, and how long nobody else is granted "
             "one. Whether a permit was used, only its effector knows.",
    .examples = "tenure permit list node-\n",
    .options = list_options,
    .exits = list_exits,
    .operand = {{.metavar = "PREFIX", .kind = VALUE_PREFIX}},
    .run = command_permit,
};

static const struct option revoke_options[] = {
    {.id = OPT_SERIAL, .kind = VALUE_TOKEN, .name = "serial", .metavar = "N", .required = true,
     .help = "Which one: tenure permit list shows it."},
    OPTION_BY,
    OPTION_STORE,
    {0},
};

static const struct exit_note revoke_exits[] = {
    {EXIT_FINE, "It is off the record; another one may be granted."},
    EXIT_OF_USAGE,
    {EXIT_LOST, "No such permit is good."},
    EXITS_OF_STORE,
    EXIT_OF_DOUBT,
    {0},
};

const struct command command_row_permit_revoke = {
    .name = "permit",
    .verb = "revoke",
    .summary = "Make room for another permit before one is over",
    .about = "Takes a permit off the record, so that another one may be granted. It does not reach "
             "the effectors: what was handed out stays good until it is over, unless they see a "
             "higher epoch. So this is for who has used a permit up, or knows that nobody will "
             "show it.",
    .examples = "tenure permit revoke node-7 drain --serial 4711\n",
    .options = revoke_options,
    .exits = revoke_exits,
    .operand = OPERANDS_SCOPE,
    .run = command_permit,
};
