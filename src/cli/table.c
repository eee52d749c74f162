#include "cli/table.h"

#include <stddef.h>
#include <string.h>

#include "cli/table_parts.h"

const struct option option_help = {
    .id = OPT_HELP, .kind = VALUE_NONE, .letter = 'h', .name = "help", .help = "Print this text."};

const struct command *const command_table[] = {
    &command_row_lock,
    &command_row_lead,
    &command_row_lease_take,
    &command_row_lease_renew,
    &command_row_lease_drop,
    &command_row_check,
    &command_row_status,
    &command_row_watch,
    &command_row_history,
    &command_row_evict,
    &command_row_transfer,
    &command_row_resign,
    &command_row_guard_install,
    &command_row_guard_announce,
    &command_row_guard_check,
    &command_row_guard_remove,
    &command_row_guard_serve,
    &command_row_config_get,
    &command_row_config_put,
    &command_row_config_delete,
    &command_row_config_watch,
    &command_row_config_history,
    &command_row_permit_keygen,
    &command_row_permit_issue,
    &command_row_permit_verify,
    &command_row_permit_list,
    &command_row_permit_revoke,
    &command_row_timing,
    &command_row_doctor,
    &command_row_store_init,
    &command_row_store_check,
    &command_row_store_upgrade,
    &command_row_completion,
    NULL,
};

static const struct {
    const char *name, *summary;
} groups[] = {
    {"lease", "Ownership that outlives the process: take, renew, drop"},
    {"guard", "Refuse stale writes where they land: install, announce, check, remove, serve"},
    {"config", "Guarded values in the store: get, put, delete, watch, history"},
    {"permit", "Signed permits for side effects: keygen, issue, verify, list, revoke"},
    {"store", "Create, check or upgrade a store"},
};

const char *command_group_summary(const char *name)
{
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (strcmp(groups[i].name, name) == 0)
            return groups[i].summary;
    return NULL;
}

const struct command *command_find(const char *name, const char *verb)
{
    for (const struct command *const *c = command_table; *c; c++) {
        bool same_verb = (*c)->verb && verb ? strcmp((*c)->verb, verb) == 0 : (*c)->verb == verb;
        if (strcmp((*c)->name, name) == 0 && same_verb)
            return *c;
    }
    return NULL;
}

const struct command *command_find_group(const char *name)
{
    for (const struct command *const *c = command_table; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}
