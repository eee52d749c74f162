/* cli/commands.h - the entry points of the commands.
 *
 * Each lives in the file of its name, is called with a checked invocation, says what went wrong
 * itself, and returns the exit code (exit.h).  Commands with verbs look at inv->command->verb.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

struct invocation;

int command_lock(struct invocation *inv);
int command_lead(struct invocation *inv);
int command_lease(struct invocation *inv);
int command_check(struct invocation *inv);
int command_status(struct invocation *inv);
int command_watch(struct invocation *inv);
int command_history(struct invocation *inv);
int command_evict(struct invocation *inv);
int command_transfer(struct invocation *inv);
int command_resign(struct invocation *inv);
int command_timing(struct invocation *inv);
int command_doctor(struct invocation *inv);
int command_config(struct invocation *inv);
int command_permit(struct invocation *inv);
int command_store(struct invocation *inv);
int command_completion(struct invocation *inv);

#endif
