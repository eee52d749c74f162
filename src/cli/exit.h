/* cli/exit.h - the codes that `tenure` ends with.
 *
 * Scripts and supervisors decide on this number, so no two results share one, nothing that failed
 * is 0, and codes that commands like to use themselves (0 to 63, 128 and up) are left to them.
 * A result that is not known (85) is never passed off as a no (80) or as "did not happen" (82).
 */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

enum exit_code {
    EXIT_FINE = 0,
    EXIT_UNSAFE = 1,       /* doctor and guard check: something is unsafe */
    EXIT_USAGE = 64,       /* the command line can never be right */
    EXIT_REFUSED = 80,     /* not acquired; lock -E changes it */
    EXIT_LOST = 81,        /* lost, or ended by an operator, while running */
    EXIT_UNREACHABLE = 82, /* the store could not be asked; nothing happened */
    EXIT_DENIED = 83,      /* the store will not serve: rights, space, foreign data */
    EXIT_INTERNAL = 84,    /* out of memory, broken output, a defect of tenure itself */
    EXIT_UNSURE = 85,      /* the store did not answer: it may have happened */
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_SIGNAL = 128, /* + the number of the signal */
};

/* The exit code for a tenure_code: by its class.  0 for 0 and above. */
int exit_of(int code);

#endif
