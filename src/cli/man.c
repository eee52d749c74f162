#include "cli/man.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/say.h"
#include "cli/table.h"

/* Prints text with what scdoc would take for markup escaped. */
static void escaped(const char *text)
{
    bool line_start = true;
    for (; *text != '\0'; text++) {
        bool markup = strchr("\\*_", *text) != NULL || (line_start && strchr("#-|[]`.", *text));
        if (markup)
            putchar('\\');
        putchar(*text);
        line_start = *text == '\n';
    }
}

static void print_option(const struct option *o)
{
    if (o->letter)
        printf("*-%c*, ", o->letter);
    printf("*--%s*", o->name);
    if (o->metavar)
        printf(" _%s_", o->metavar);
    printf("\n\t");
    escaped(o->help);
    if (o->standard) {
        printf(" Default: ");
        escaped(o->standard);
        putchar('.');
    }
    printf("\n\n");
}

/* The commands as the reader types them, escaped, with remarks in front of them. */
static void print_examples(const struct command *c)
{
    printf("```\n%s```\n\n", c->examples);
}

static void print_exits(const struct command *c)
{
    for (const struct exit_note *e = c->exits; e->text; e++) {
        if (e->code == EXIT_NOTE_COMMAND)
            printf("*CMD's code*\n\t");
        else if (e->code == EXIT_SIGNAL)
            printf("*128+n*\n\t");
        else
            printf("*%d*\n\t", e->code);
        escaped(e->text);
        printf("\n\n");
    }
}

/* The synopsis of the help, with the words that name the command in bold. */
static void print_synopsis(const struct command *c)
{
    char synopsis[SYNOPSIS_BYTES], words[64];
    snprintf(words, sizeof words, "tenure %s%s%s", c->name, c->verb ? " " : "",
             c->verb ? c->verb : "");
    printf("*%s*", words);
    escaped(help_synopsis(c, synopsis) + strlen(words));
    printf("\n\n");
}

static int print_prose(const char *path)
{
    char block[4096];
    size_t n;
    if (!path)
        return EXIT_FINE;
    FILE *f = fopen(path, "re");
    if (!f) {
        say_error("%s: %s", path, strerror(errno));
        return EXIT_INTERNAL;
    }
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        fwrite(block, 1, n, stdout);
    int code = ferror(f) ? EXIT_INTERNAL : EXIT_FINE;
    fclose(f);
    putchar('\n');
    return code;
}

static void print_see_also(const char *page)
{
    const char *before = "";
    printf("# SEE ALSO\n\n");
    printf(strcmp(page, "tenure") == 0 ? "" : "*tenure*(1)");
    bool comma = strcmp(page, "tenure") != 0;
    for (const struct command *const *c = command_table; *c; c++) {
        if (strcmp((*c)->name, before) == 0 || strcmp((*c)->name, page) == 0)
            continue;
        before = (*c)->name;
        printf("%s*tenure-%s*(1)", comma ? ", " : "", before);
        comma = true;
    }
    putchar('\n');
}

static void upper(const char *word)
{
    for (; *word != '\0'; word++)
        putchar(*word >= 'a' && *word <= 'z' ? *word - 'a' + 'A' : *word);
}

/* What one command says; commands with verbs say it once for each, under its own heading. */
static void print_body(const struct command *c)
{
    if (c->verb) {
        printf("# TENURE ");
        upper(c->name);
        printf(" ");
        upper(c->verb);
        printf("\n\n");
    } else {
        printf("# DESCRIPTION\n\n");
    }
    escaped(c->about);
    printf("\n\n");
    printf(c->verb ? "## Options\n\n" : "# OPTIONS\n\n");
    for (const struct option *o = c->options; o->name; o++)
        print_option(o);
    print_option(&option_help);
}

static void print_tail(const struct command *c)
{
    printf(c->verb ? "## Exit status\n\n" : "# EXIT STATUS\n\n");
    print_exits(c);
    printf(c->verb ? "## Examples\n\n" : "# EXAMPLES\n\n");
    print_examples(c);
}

static int print_command_page(const struct command *first, const char *prose_path)
{
    const char *name = first->name;
    printf("tenure-%s(1)\n\n# NAME\n\ntenure-%s - ", name, name);
    escaped(first->verb ? command_group_summary(name) : first->summary);
    printf("\n\n# SYNOPSIS\n\n");
    for (const struct command *const *c = command_table; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            print_synopsis(*c);
    int code = first->verb ? print_prose(prose_path) : EXIT_FINE;
    for (const struct command *const *c = command_table; *c; c++) {
        if (strcmp((*c)->name, name) != 0)
            continue;
        print_body(*c);
        if (!first->verb)
            code = print_prose(prose_path);
        print_tail(*c);
    }
    return code;
}

static int print_overview_page(const char *prose_path)
{
    const char *before = "";
    printf("tenure(1)\n\n# NAME\n\ntenure - locks, leases and elections that say when they end"
           "\n\n# SYNOPSIS\n\n*tenure* _COMMAND_ ...\n\n*tenure help* [_COMMAND_]\n\n"
           "*tenure --version*\n\n# COMMANDS\n\n");
    for (const struct command *const *c = command_table; *c; c++) {
        if (strcmp((*c)->name, before) == 0)
            continue;
        before = (*c)->name;
        printf("*tenure-%s*(1)\n\t", before);
        escaped((*c)->verb ? command_group_summary(before) : (*c)->summary);
        printf("\n\n");
    }
    return print_prose(prose_path);
}

int man_print(const char *page, const char *prose_path)
{
    const struct command *first = command_find_group(page);
    int code;
    if (strcmp(page, "tenure") == 0)
        code = print_overview_page(prose_path);
    else if (first)
        code = print_command_page(first, prose_path);
    else
        return EXIT_USAGE;
    print_see_also(page);
    return output_finish(code);
}
