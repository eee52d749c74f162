/* cli/main.c - `tenure`: finds the command, has its line parsed, runs it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/end.h"
#include "cli/exit.h"
#include "cli/help.h"
#include "cli/known.h"
#include "cli/man.h"
#include "cli/nearest.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/say.h"

/* Somebody may have started us without 0, 1 or 2.  A store opened in their place would be written
 * to by the next printf, so /dev/null is, the wrong way round: what is printed for a reader who
 * is not there must fail as it would have, or a lease is taken whose token nobody knows.  Messages
 * are for people, and may get lost. */
static void descriptors_reserve(bool ret_closed[3])
{
    static const int mode[] = {O_WRONLY, O_RDONLY, O_RDWR};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        ret_closed[fd] = fcntl(fd, F_GETFD) < 0;
        if (ret_closed[fd])
            (void)!open("/dev/null", mode[fd]); /* the command needs it too: no O_CLOEXEC */
    }
}

/* A command that is run need not fail for it: it finds an empty input, and prints to nobody. */
static void descriptors_lend(const bool closed[3])
{
    for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++) {
        int null = closed[fd] ? open("/dev/null", O_RDWR) : -1;
        if (null >= 0) {
            (void)dup2(null, fd); /* if it fails, so does what the command does with it */
            (void)close(null);
        }
    }
}

static int fail_unknown(const char *word)
{
    const char *near = nearest_command(word);
    if (word[0] == '-')
        say_error("%s: options come after the command; see tenure help", word);
    else if (near)
        say_error("%s: unknown command; did you mean %s? see tenure help", word, near);
    else
        say_error("%s: unknown command; see tenure help", word[0] ? word : "\"\"");
    return EXIT_USAGE;
}

static int fail_verb(const char *name, const char *verb)
{
    char verbs[128] = "";
    size_t n = 0;
    for (const struct command *const *c = command_table; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            n += (size_t)snprintf(verbs + n, sizeof verbs - n, " %s", (*c)->verb);
    if (verb)
        say_error("%s %s: unknown; one of:%s; see tenure %s --help", name, verb, verbs, name);
    else
        say_error("%s: a verb is missing; one of:%s; see tenure %s --help", name, verbs, name);
    return EXIT_USAGE;
}

static bool asks_for_help(const char *word)
{
    return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

/* `tenure help`, `tenure help lock`, `tenure help lease take` */
static int help(int argc, char **argv)
{
    const struct command *first = argc > 0 ? command_find_group(argv[0]) : NULL;
    const struct command *c = argc > 0 ? command_find(argv[0], argc > 1 ? argv[1] : NULL) : NULL;
    if (argc > 0 && !first)
        return fail_unknown(argv[0]);
    if (argc == 0)
        help_overview();
    else if (c)
        help_command(c);
    else if (argc == 1)
        help_group(argv[0]);
    else
        return first->verb ? fail_verb(argv[0], argv[1]) : fail_unknown(argv[1]);
    return output_finish(EXIT_FINE);
}

static int run_command(const struct command *c, int argc, char **argv, const bool closed[3])
{
    struct invocation inv = {0};
    char error[PARSE_ERROR_BYTES];
    if (!parse_invocation(c, argc, argv, &inv, error))
        return usage_fail(&inv, "%s", error);
    if (inv.help) {
        help_command(c);
        return output_finish(EXIT_FINE);
    }
    if (option_given(&inv, OPT_QUIET))
        say_set_level(SAY_ERRORS);
    else if (option_given(&inv, OPT_VERBOSE))
        say_set_level(SAY_DETAILS);
    if (inv.argv)
        descriptors_lend(closed);
    return c->run(&inv);
}

int main(int argc, char **argv)
{
    bool closed[3];
    descriptors_reserve(closed);
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        say_error("a command is missing; see tenure help");
        return EXIT_USAGE;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        puts("tenure " TENURE_VERSION);
        return output_finish(EXIT_FINE);
    }
    if (asks_for_help(word) || strcmp(word, "help") == 0)
        return help(argc - 2, argv + 2);
    if (strcmp(word, "__man") == 0 && argc > 2)
        return man_print(argv[2], argv[3]);
    if (strcmp(word, END_WORD) == 0 && argc > 2)
        return end_session(argv[2]);
    if (strcmp(word, "__known") == 0 && argc > 2)
        return known_print(argc - 2, argv + 2);

    const struct command *c = command_find_group(word);
    if (!c)
        return fail_unknown(word);
    if (!c->verb)
        return run_command(c, argc - 2, argv + 2, closed);
    if (asks_for_help(argv[2])) {
        help_group(word);
        return output_finish(EXIT_FINE);
    }
    c = command_find(word, argv[2] ? argv[2] : "");
    return c ? run_command(c, argc - 3, argv + 3, closed) : fail_verb(word, argv[2]);
}
