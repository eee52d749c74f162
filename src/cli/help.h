/* cli/help.h - what the command table says, for a terminal of 80 columns. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stddef.h>

struct command;

/* `tenure help`: one line for each command. */
void help_overview(void);

/* `tenure lease --help`: one line for each verb. */
void help_group(const char *name);

/* `tenure lock --help`: all of it. */
void help_command(const struct command *c);

/* "tenure lock [options] NAME [-- CMD...]" */
#define SYNOPSIS_BYTES 256
const char *help_synopsis(const struct command *c, char buf[SYNOPSIS_BYTES]);

#endif
