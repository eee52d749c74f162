/* cli/known.h - what the store knows, as words for the completion of shells.
 *
 * The scripts of `tenure completion` run `tenure __known names`, `tenure __known keys` (of
 * entries of the configuration) and `tenure __known candidates WORD...`, where the words are the
 * line so far.  One word to a line; nothing, and no message, when
 * the store cannot be asked: a shell that completes is no place for errors. */
#ifndef CLI_KNOWN_H
#define CLI_KNOWN_H

/* Prints them and returns the exit code; argv[0] is what is asked for. */
int known_print(int argc, char **argv);

#endif
