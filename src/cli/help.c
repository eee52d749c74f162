#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/table.h"

#define WIDTH 79
#define OPTION_INDENT 24

/* Prints words from `column` on, wrapped, with `indent` before each further line.  A newline in
 * the text ends a paragraph. */
static void fill(const char *text, int column, int indent)
{
    while (*text != '\0') {
        size_t len = strcspn(text, " \n");
        if (column > indent && column + 1 + (int)len > WIDTH) {
            putchar('\n');
            column = 0;
        } else if (column > indent) {
            column += printf(" ");
        }
        if (column < indent)
            column += printf("%*s", indent - column, "");
        column += printf("%.*s", (int)len, text);
        text += len;
        text += strspn(text, " ");
        if (*text == '\n') {
            size_t lines = strspn(text, "\n");
            text += lines;
            printf("\n%s", lines > 1 ? "\n" : "");
            column = 0;
        }
    }
    putchar('\n');
}

const char *help_synopsis(const struct command *c, char buf[SYNOPSIS_BYTES])
{
    char options[128] = "", operands[64] = "";
    bool some = false;
    size_t n = 0, m = 0;
    for (const struct option *o = c->options; o->name; o++) {
        if (o->required)
            n += (size_t)snprintf(options + n, sizeof options - n, " --%s %s%s", o->name,
                                  o->metavar, o->repeats ? "..." : "");
        else
            some = true;
    }
    for (const struct operand *p = c->operand; p->metavar; p++)
        m += (size_t)snprintf(operands + m, sizeof operands - m, p->required ? " %s" : " [%s]",
                              p->metavar);
    snprintf(buf, SYNOPSIS_BYTES, "tenure %s%s%s%s%s%s%s%s", c->name, c->verb ? " " : "",
             c->verb ? c->verb : "", c->runs && some ? " [options]" : "", operands, options,
             !c->runs && some ? " [options]" : "", c->runs ? " [-- CMD...]" : "");
    return buf;
}

static void print_option(const struct option *o)
{
    char text[512];
    int column = o->letter ? printf("  -%c, --%s", o->letter, o->name)
                           : printf("      --%s", o->name);
    if (o->metavar)
        column += printf(" %s", o->metavar);
    if (column > OPTION_INDENT - 2) {
        putchar('\n');
        column = 0;
    }
    if (o->standard)
        snprintf(text, sizeof text, "%s (default: %s)", o->help, o->standard);
    else
        snprintf(text, sizeof text, "%s", o->help);
    fill(text, column, OPTION_INDENT);
}

static void print_exits(const struct command *c)
{
    puts("\nExit:");
    for (const struct exit_note *e = c->exits; e->text; e++) {
        int column = e->code == EXIT_NOTE_COMMAND ? printf("  CMD's")
                     : e->code == EXIT_SIGNAL     ? printf("  128+n")
                                                  : printf("  %d", e->code);
        fill(e->text, column, 9);
    }
}

static void print_examples(const char *text)
{
    puts("\nExamples:");
    while (*text != '\0') {
        int len = (int)strcspn(text, "\n");
        printf("  %.*s\n", len, text);
        text += len;
        text += *text == '\n';
    }
}

void help_command(const struct command *c)
{
    char synopsis[SYNOPSIS_BYTES];
    bool question = c->summary[strlen(c->summary) - 1] == '?';
    fill(help_synopsis(c, synopsis), printf("Usage:"), 7);
    printf("\n%s%s\n\n", c->summary, question ? "" : ".");
    fill(c->about, 0, 0);
    puts("\nOptions:");
    for (const struct option *o = c->options; o->name; o++)
        print_option(o);
    print_option(&option_help);
    print_exits(c);
    print_examples(c->examples);
}

void help_group(const char *name)
{
    char synopsis[SYNOPSIS_BYTES];
    printf("%s.\n\n", command_group_summary(name));
    for (const struct command *const *c = command_table; *c; c++) {
        if (strcmp((*c)->name, name) != 0)
            continue;
        fill(help_synopsis(*c, synopsis), 0, 0);
        fill((*c)->summary, 0, 6);
    }
    printf("\nMore: tenure %s VERB --help\n", name);
}

void help_overview(void)
{
    const char *before = "";
    puts("Locks, leases and elections that say when they end.\n\nUsage: tenure COMMAND ...\n");
    for (const struct command *const *c = command_table; *c; c++) {
        if (strcmp((*c)->name, before) == 0)
            continue;
        before = (*c)->name;
        fill((*c)->verb ? command_group_summary(before) : (*c)->summary,
             printf("  %s", before), 14);
    }
    puts("\nMore: tenure COMMAND --help, man tenure, man tenure-COMMAND.\n"
         "Durations: 500ms, 10s, 2m, 24h, 7d; a bare number is seconds.");
}
