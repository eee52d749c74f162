/* cli/say.h - what `tenure` says to people: one line each on stderr, "tenure: ...".
 *
 * Nearly silent by default: errors and changes of state, never one line per renewal.  A line is
 * written with one write(), so that lines of several processes do not mix.  The level is the
 * one global of the command line; it is set once, before anything is said.
 */
#ifndef CLI_SAY_H
#define CLI_SAY_H

enum say_level {
    SAY_ERRORS = 0, /* -q */
    SAY_CHANGES,    /* the default */
    SAY_DETAILS,    /* -v */
};

void say_set_level(enum say_level level);

/* Always said: why the program ends as it does. */
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A change of state that a person at the terminal wants to know. */
void say_change(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Only with -v. */
void say_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
