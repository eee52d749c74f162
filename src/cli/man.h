/* cli/man.h - the man pages, as scdoc(5) source, from the command table.
 *
 * The build runs `tenure __man PAGE [PROSE]` and gives what it prints to scdoc.  PROSE is a
 * file of docs/man with sections that no table can say; it is put in before EXIT STATUS.
 */
#ifndef CLI_MAN_H
#define CLI_MAN_H

/* page: "tenure", or a command's name.  Returns the exit code. */
int man_print(const char *page, const char *prose_path);

#endif
