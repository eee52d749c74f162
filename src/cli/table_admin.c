/* cli/table_admin.c - the rows of the operators' commands. */
#include "cli/commands.h"
#include "cli/guard.h"
#include "cli/table_parts.h"

static const struct exit_note end_exits[] = {
    {EXIT_FINE, "It was done."},
    EXIT_OF_USAGE,
    {EXIT_LOST, "That tenure does not stand any more; nothing was touched."},
    EXITS_OF_STORE,
    EXIT_OF_DOUBT,
    {0},
};

static const struct option evict_options[] = {
    OPTION_TOKEN("The tenure to end, as tenure status shows it; a newer one is never touched."),
    OPTION_REASON(true),
    OPTION_BY,
    OPTION_STORE,
    {0},
};

const struct command command_row_evict = {
    .name = "evict",
    .summary = "End exactly one tenure, by its token",
    .about =
        "Ends the tenure of NAME that has this token, and no other: when the holder has changed "
        "since you looked, nothing happens (81). A dead holder's tenure ends at once, and so "
        "does a lease. A holder that is alive is told to stop, keeps its seat until it has, at "
        "the latest for its TTL from now, and then the next one is served.",
    .examples = "tenure status billing/import\n"
                "tenure evict billing/import --token 4711 --reason 'hangs since 3 am'\n",
    .options = evict_options,
    .exits = end_exits,
    .operand = OPERANDS_NAME,
    .run = command_evict,
};

static const struct option transfer_options[] = {
    {.id = OPT_TO, .kind = VALUE_TEXT, .name = "to", .metavar = "CANDIDATE", .required = true,
     .noun = "a candidate", .least = 1, .most = CLAIM_AS_BYTES_MAX,
     .help = "The waiting candidate: its --as, or its ticket."},
    {.id = OPT_WAIT, .kind = VALUE_DURATION, .letter = 'w', .name = "wait", .metavar = "TIME",
     .noun = "a wait", .least = 1, .most = INT64_MAX, .standard = "30s",
     .help = "How long the candidate may take to serve before it is rolled back."},
    OPTION_BY,
    OPTION_STORE,
    {0},
};

static const struct exit_note transfer_exits[] = {
    {EXIT_FINE, "The candidate serves, or has and ended already; its epoch is printed."},
    EXIT_OF_USAGE,
    {EXIT_REFUSED, "It did not serve in time, and the former leader is preferred again; or NAME is "
                   "in use as a lock or a lease."},
    {EXIT_LOST, "There is no leader, or no such candidate waits; nothing was touched."},
    EXITS_OF_STORE,
    EXIT_OF_DOUBT,
    {0},
};

const struct command command_row_transfer = {
    .name = "transfer",
    .summary = "Hand an election over to a named candidate",
    .about = "Asks the leader of NAME to stop, has the named candidate elected next, and waits "
             "until it serves. When the candidate does not serve in time, it is told to stop, and "
             "the former leader is preferred at the next election.",
    .examples = "tenure transfer billing/scheduler --to node-b\n",
    .options = transfer_options,
    .exits = transfer_exits,
    .operand = OPERANDS_NAME,
    .run = command_transfer,
};

static const struct option resign_options[] = {OPTION_BY, OPTION_STORE, {0}};

static const struct exit_note resign_exits[] = {
    {EXIT_FINE, "The leader was asked to resign; its epoch is printed."},
    EXIT_OF_USAGE,
    {EXIT_REFUSED, "NAME is in use as a lock or a lease."},
    {EXIT_LOST, "Nobody leads."},
    EXITS_OF_STORE,
    EXIT_OF_DOUBT,
    {0},
};

const struct command command_row_resign = {
    .name = "resign",
    .summary = "Have the leader of an election step down",
    .about = "Asks the present leader of NAME to stop its work and step down; the next candidate "
             "takes over once it has, for which this command does not wait. The former leader "
             "stands again behind the others.",
    .examples = "tenure resign billing/scheduler\n",
    .options = resign_options,
    .exits = resign_exits,
    .operand = OPERANDS_NAME,
    .run = command_resign,
};

#define OPTION_GUARD_NAME                                                                          \
    {.id = OPT_NAME, .kind = VALUE_NAME, .name = "name", .metavar = "NAME", .required = true,      \
     .help = "The name of the lock or election whose tokens the guard checks."}

#define OPERANDS_TARGET {{.metavar = "TARGET", .kind = VALUE_WORD, .required = true}}

static const struct exit_note guard_exits[] = {
    {EXIT_FINE, "It was done."},
    EXIT_OF_USAGE,
    {EXIT_REFUSED, "Refused: the token is stale, or something is in the way; nothing changed."},
    EXITS_OF_STORE,
    {0},
};

static const struct option guard_install_options[] = {
    OPTION_GUARD_NAME,
    {.id = OPT_TABLE, .kind = VALUE_WORD, .name = "table", .metavar = "TABLE", .repeats = true,
     .help = "A table of the database to guard; may be given more than once. A checker of HTTP "
             "requests has none."},
    {.id = OPT_STRICT, .kind = VALUE_NONE, .name = "strict",
     .help = "Also refuse a token that is newer than the last one announced."},
    {0},
};

const struct command command_row_guard_install = {
    .name = "guard",
    .verb = "install",
    .summary = "Guard what is written to by the tokens of a name",
    .about = "Adds a guard to the database TARGET (sqlite:PATH or postgres://HOST/DATABASE), in "
             "one transaction: from then on each write to the tables must show a token of NAME, "
             "and one that is older than the newest that the guard has seen is refused in the "
             "same transaction as the write, whatever program or language it comes from."
             "\n\nOr to the checker of HTTP requests at TARGET (http://HOST:PORT?secret=FILE; see "
             "tenure guard serve): then a request must show one, in the header Tenure-Token.",
    .examples = "tenure guard install sqlite:ledger.db --name invoices --table invoice\n"
                "tenure guard install postgres://db.example/app --name invoices --table bill\n"
                "tenure guard install 'http://127.0.0.1:7420?secret=FILE' --name invoices\n",
    .options = guard_install_options,
    .exits = guard_exits,
    .operand = OPERANDS_TARGET,
    .run = command_guard,
};

static const struct option guard_announce_options[] = {
    OPTION_GUARD_NAME,
    OPTION_TOKEN("The token that stands now."),
    {0},
};

const struct command command_row_guard_announce = {
    .name = "guard",
    .verb = "announce",
    .summary = "Tell a guard of a new token before its holder writes",
    .about = "Moves the mark of the guard in TARGET up to the token, so that "
             "every older one is refused from now on, also before the new holder's first write. "
             "The mark never moves down. tenure lock and lead do this by themselves with --guard.",
    .examples = "tenure guard announce sqlite:ledger.db --name invoices "
                "--token \"$TENURE_TOKEN\"\n",
    .options = guard_announce_options,
    .exits = guard_exits,
    .operand = OPERANDS_TARGET,
    .run = command_guard,
};

static const struct option guard_check_options[] = {
    {.id = OPT_NAME, .kind = VALUE_NAME, .name = "name", .metavar = "NAME",
     .help = "Only the guard of this name; it is an error when it is not there."},
    OPTION_STORE,
    OPTION_JSON("Print one JSON object for each guard, one in a line."),
    {0},
};

static const struct exit_note guard_check_exits[] = {
    {EXIT_FINE, "The guards are intact."},
    {EXIT_UNSAFE, "A guard is not intact, or its mark is ahead of the store."},
    EXIT_OF_USAGE,
    EXITS_OF_STORE,
    {0},
};

const struct command command_row_guard_check = {
    .name = "guard",
    .verb = "check",
    .summary = "Show the guards of a target and whether they are intact",
    .about = "Prints each guard of TARGET with its tables and its mark, and whether its triggers "
             "are as they were installed; but for SQLite also what it refused last. "
             "With --store it also says when a mark is higher than any token that the store has "
             "given out.",
    .examples = "tenure guard check sqlite:ledger.db\n"
                "tenure guard check postgres://db.example/app --json\n",
    .options = guard_check_options,
    .exits = guard_check_exits,
    .operand = OPERANDS_TARGET,
    .run = command_guard,
};

static const struct option guard_remove_options[] = {OPTION_GUARD_NAME, {0}};

const struct command command_row_guard_remove = {
    .name = "guard",
    .verb = "remove",
    .summary = "Take a guard out of a target",
    .about = "Removes the guard of NAME from TARGET, with its triggers and its mark, in one "
             "transaction.",
    .examples = "tenure guard remove sqlite:ledger.db --name invoices\n",
    .options = guard_remove_options,
    .exits = guard_exits,
    .operand = OPERANDS_TARGET,
    .run = command_guard,
};

static const struct option guard_serve_options[] = {
    {.id = OPT_MARKS, .kind = VALUE_WORD, .name = "marks", .metavar = "FILE", .required = true,
     .help = "Where the guards and their marks are kept; made when it is not there. One checker "
             "uses it at a time."},
    {.id = OPT_SECRET, .kind = VALUE_WORD, .name = "secret", .metavar = "FILE", .required = true,
     .help = "What install, announce and remove must show: the first line of FILE, which others "
             "must not be able to read."},
    {0},
};

static const struct exit_note guard_serve_exits[] = {
    {EXIT_FINE, "It was ended by SIGTERM or SIGINT."},
    EXIT_OF_USAGE,
    {EXIT_UNREACHABLE, "The address or the marks file is in use, or there is no such directory."},
    {EXIT_DENIED, "A file cannot be used: permission, space, or data of something else."},
    {EXIT_INTERNAL, "Internal error."},
    {0},
};

const struct command command_row_guard_serve = {
    .name = "guard",
    .verb = "serve",
    .summary = "Check HTTP requests for a proxy",
    .about =
        "Runs a checker at TARGET (default http://127.0.0.1:7420) until SIGTERM. A proxy asks it "
        "about each request (nginx by auth_request, Envoy by ext_authz, Traefik by forwardAuth): "
        "GET /check/NAME with the client's header Tenure-Token: NAME TOKEN. It answers 200 when "
        "the token is the newest that it knows, 403 when it is stale (or newer than announced, "
        "with install --strict), 401 when there is none or it is odd, and 503 when there is no "
        "such guard or a mark cannot be kept; the header Tenure-Verdict says which."
        "\n\nA mark is durable before anybody is told of it, and stands after a restart. GET "
        "/metrics is for Prometheus, GET /health for whoever restarts it. It speaks no TLS: listen "
        "on the loopback address, or leave TLS to the proxy in front.",
    .examples = "(umask 077; head -c 32 /dev/urandom | base64 >guard.secret)\n"
                "tenure guard serve --marks guard.marks --secret guard.secret\n"
                "# another port\n"
                "tenure guard serve http://127.0.0.1:7421 --marks m --secret s\n",
    .options = guard_serve_options,
    .exits = guard_serve_exits,
    .operand = {{.metavar = "TARGET", .kind = VALUE_WORD}},
    .run = command_guard_serve,
};

static const struct exit_note store_exits[] = {
    {EXIT_FINE, "It was done; nothing is wrong."},
    EXIT_OF_USAGE,
    EXITS_OF_STORE,
    {0},
};

static const struct option store_options[] = {OPTION_STORE, {0}};

static const struct option store_init_options[] = {
    {.id = OPT_GROUP, .kind = VALUE_WORD, .name = "group", .metavar = "GROUP",
     .help = "Make a SQLite store that all members of GROUP may use, in a directory of the "
             "group's, which is made too; or give it the one that is there."},
    OPTION_STORE,
    {0},
};

const struct command command_row_store_init = {
    .name = "store",
    .verb = "init",
    .summary = "Create a store",
    .about = "Creates the store where it does not exist yet, and checks it where it does. A "
             "SQLite store is also created by its first use, for its user alone; with --group, for "
             "all users of a group. One in PostgreSQL is only created here, in a schema "
             "(?schema=NAME, default tenure), by a role with CREATE on the database.",
    .examples = "tenure store init --store sqlite:/var/lib/app/tenure.db\n"
                "# shared by the users of a group, as root\n"
                "tenure store init --group billing --store sqlite:/var/lib/billing/tenure.db\n"
                "tenure store init --store 'postgres://admin@db.example/app?schema=tenure'\n",
    .options = store_init_options,
    .exits = store_exits,
    .run = command_store,
};

static const struct exit_note store_check_exits[] = {
    {EXIT_FINE, "Nothing is wrong."},
    {EXIT_UNSAFE, "It can be used, but at least one line says warn."},
    EXIT_OF_USAGE,
    EXITS_OF_STORE,
    {0},
};

static const struct option store_check_options[] = {
    {.id = OPT_RAISE_TO, .kind = VALUE_TOKEN, .name = "raise-to", .metavar = "N",
     .help = "Accept a store that went back in time: give out only tokens above N from now on. "
             "N is the highest token that any guard or log has seen."},
    OPTION_STORE,
    {0},
};

const struct command command_row_store_check = {
    .name = "store",
    .verb = "check",
    .summary = "Check a store; accept one that was restored from a copy",
    .about = "Opens the store, reads every record, and says what is wrong. A store that was "
             "restored from an older copy would give out tokens for a second time and is refused "
             "(83) until an operator says with --raise-to where they go on.",
    .examples = "tenure store check\n"
                "tenure store check --raise-to 1048576\n",
    .options = store_check_options,
    .exits = store_check_exits,
    .run = command_store,
};

const struct command command_row_store_upgrade = {
    .name = "store",
    .verb = "upgrade",
    .summary = "Bring a store to the schema of this version",
    .about = "Migrates the store forward when an older version of tenure made it. One that a "
             "newer version made, or one too old to be brought forward, is refused (83). A SQLite "
             "store is also brought forward by its first use, when nobody uses it with the older "
             "version; one in PostgreSQL only here, by its owner.",
    .examples = "tenure store upgrade\n",
    .options = store_options,
    .exits = store_exits,
    .run = command_store,
};

static const struct option completion_options[] = {{0}};

static const struct exit_note completion_exits[] = {
    {EXIT_FINE, "It was printed."},
    EXIT_OF_USAGE,
    {EXIT_INTERNAL, "The output could not be written."},
    {0},
};

const struct command command_row_completion = {
    .name = "completion",
    .summary = "Print the completion script of a shell",
    .about = "Prints a script that completes commands, options and their values.",
    .examples = "# bash\n"
                "eval \"$(tenure completion bash)\"\n"
                "# zsh\n"
                "tenure completion zsh > ~/.zfunc/_tenure\n"
                "# fish\n"
                "tenure completion fish > ~/.config/fish/completions/tenure.fish\n",
    .options = completion_options,
    .exits = completion_exits,
    .operand = {{.metavar = "SHELL", .kind = VALUE_CHOICE, .required = true,
                 .choices = "bash zsh fish"}},
    .run = command_completion,
};
