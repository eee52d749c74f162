/* cli/table_parts.h - what several rows of the command table say in the same words.
 *
 * Included by the table_*.c files only.
 */
#ifndef CLI_TABLE_PARTS_H
#define CLI_TABLE_PARTS_H

#include "cli/exit.h"
#include "cli/table.h"
#include "core/claim.h"
#include "core/timing.h"

#define OPTION_STORE                                                                               \
    {.id = OPT_STORE, .kind = VALUE_WORD, .name = "store", .metavar = "URL",                       \
     .standard = "$TENURE_STORE, else the user's own file",                                        \
     .help = "The store, as a URL like sqlite:PATH; man tenure lists the kinds."}

#define OPTION_JSON(text)                                                                          \
    {.id = OPT_JSON, .kind = VALUE_NONE, .name = "json", .help = text}

#define OPTION_BY                                                                                  \
    {.id = OPT_AS, .kind = VALUE_TEXT, .name = "as", .metavar = "WHO", .noun = "a name",           \
     .least = 1, .most = CLAIM_AS_BYTES_MAX, .standard = "user@host",                              \
     .help = "Who does it; goes into the history."}

#define OPTION_REASON(must)                                                                        \
    {.id = OPT_REASON, .kind = VALUE_TEXT, .name = "reason", .metavar = "TEXT",                    \
     .required = must, .noun = "a reason", .least = 1, .most = CLAIM_REASON_BYTES_MAX,             \
     .help = "Why; the holder is told, and it goes into the history."}

#define OPTION_TOKEN(text)                                                                         \
    {.id = OPT_TOKEN, .kind = VALUE_TOKEN, .name = "token", .metavar = "N", .required = true,      \
     .help = text}

#define EXITS_OF_STORE                                                                             \
    {EXIT_UNREACHABLE, "The store could not be reached; nothing happened."},                       \
        {EXIT_DENIED, "The store refused: permission, space, or data of another version."},        \
        {EXIT_INTERNAL, "Internal error, or the output could not be written."}

#define EXIT_OF_USAGE {EXIT_USAGE, "The command line is wrong; nothing was touched."}

#define EXIT_OF_DOUBT                                                                              \
    {EXIT_UNSURE, "The store did not answer in time: it may or may not have happened."}

#define OPERANDS_NAME {{.metavar = "NAME", .kind = VALUE_NAME, .required = true}}

extern const struct command command_row_lock, command_row_lead, command_row_check;
extern const struct command command_row_lease_take, command_row_lease_renew,
    command_row_lease_drop;
extern const struct command command_row_status, command_row_watch, command_row_history;
extern const struct command command_row_evict, command_row_transfer, command_row_resign;
extern const struct command command_row_timing, command_row_doctor;
extern const struct command command_row_store_init, command_row_store_check,
    command_row_store_upgrade;
extern const struct command command_row_guard_install, command_row_guard_announce,
    command_row_guard_check, command_row_guard_remove, command_row_guard_serve;
extern const struct command command_row_config_get, command_row_config_put,
    command_row_config_delete, command_row_config_watch, command_row_config_history;
extern const struct command command_row_permit_keygen, command_row_permit_issue,
    command_row_permit_verify, command_row_permit_list, command_row_permit_revoke;
extern const struct command command_row_completion;

#endif
