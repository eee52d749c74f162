/* cli/completion.c - tenure completion bash|zsh|fish, from the command table. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/table.h"

/* The signals that people have a command stopped with. */
#define SIGNALS "TERM INT HUP QUIT USR1 USR2 KILL"

/* The words that can follow an option, NULL for free text. */
static const char *choices_of(const struct option *o)
{
    return o->kind == VALUE_SIGNAL ? SIGNALS : NULL;
}

/* What of the store's words (cli/known.h) can stand there, or NULL. */
static const char *known_of(enum value_kind kind)
{
    return kind == VALUE_NAME || kind == VALUE_PREFIX ? "names" : NULL;
}

/* Keys look like names and are none, and what permits are for is known to nobody before. */
static const char *known_of_operand(const struct command *c)
{
    if (strcmp(c->name, "config") == 0)
        return "keys";
    return strcmp(c->name, "permit") == 0 ? NULL : known_of(c->operand[0].kind);
}

static const char *known_of_option(const struct option *o)
{
    return o->id == OPT_TO ? "candidates" : known_of(o->kind);
}

/* Whether the row starts a new name; `*before` is the last name seen. */
static bool is_first(const struct command *c, const char **before)
{
    bool first = strcmp(c->name, *before) != 0;
    *before = c->name;
    return first;
}

static const char *summary_of(const struct command *c)
{
    return c->verb ? command_group_summary(c->name) : c->summary;
}

static void print_groups(void)
{
    const char *before = "", *bar = "";
    for (const struct command *const *c = command_table; *c; c++) {
        if (is_first(*c, &before) && (*c)->verb) {
            printf("%s%s", bar, before);
            bar = "|";
        }
    }
}

/* ---- bash ----------------------------------------------------------------------------------- */

static void bash_names(void)
{
    const char *before = "";
    for (const struct command *const *c = command_table; *c; c++)
        if (is_first(*c, &before))
            printf("%s ", before);
    printf("help --help --version");
}

static void bash_options(const struct command *c)
{
    for (const struct option *o = c->options; o->name; o++) {
        printf("--%s ", o->name);
        if (o->letter)
            printf("-%c ", o->letter);
    }
    printf("--help");
}

static void bash_verbs(const char *name)
{
    printf("        '%s') words='", name);
    for (const struct command *const *c = command_table; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            printf("%s ", (*c)->verb);
    printf("--help' ;;\n");
}

/* The options that a value follows, as a pattern. */
static void bash_valued(const struct command *c)
{
    const char *bar = "";
    for (const struct option *o = c->options; o->name; o++) {
        if (!o->metavar)
            continue;
        printf("%s--%s", bar, o->name);
        if (o->letter)
            printf("|-%c", o->letter);
        bar = "|";
    }
}

/* What can stand next in one command, once $key says that it is this one. */
static void bash_command(const struct command *c)
{
    bool valued = false;
    printf("        '%s%s%s')\n            case $prev in\n", c->name, c->verb ? " " : "",
           c->verb ? c->verb : "");
    for (const struct option *o = c->options; o->name; o++) {
        valued |= o->metavar != NULL;
        if (choices_of(o))
            printf("            --%s) words='%s' ;;\n", o->name, choices_of(o));
        else if (known_of_option(o))
            printf("            --%s) _tenure_known %s ;;\n", o->name, known_of_option(o));
    }
    if (valued) {
        printf("            ");
        bash_valued(c);
        printf(") compopt -o default 2>/dev/null || : ;;\n");
    }
    printf("            *)\n                words='");
    bash_options(c);
    if (c->operand[0].choices)
        printf(" %s", c->operand[0].choices);
    printf("'\n");
    if (c->operand[0].metavar && known_of_operand(c))
        printf("                [[ $cur == -* ]] || _tenure_known %s\n", known_of_operand(c));
    printf("                ;;\n            esac\n            ;;\n");
}

/* Words of the store are compared as text, and never expanded: other people chose them. */
static const char bash_start[] =
    "# bash completion of tenure, made by: tenure completion bash\n"
    "_tenure_known() {\n"
    "    local word\n"
    "    while IFS= read -r word; do\n"
    "        [[ $word == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$word\")\")\n"
    "    done < <(tenure __known \"$1\" \"${COMP_WORDS[@]}\" 2>/dev/null)\n"
    "    return 0\n"
    "}\n"
    "# The command after --, which begins at word $1\n"
    "_tenure_command() {\n"
    "    if declare -F _command_offset >/dev/null; then\n"
    "        _command_offset \"$1\"\n"
    "    elif (($1 == COMP_CWORD)); then\n"
    "        COMPREPLY=($(compgen -c -- \"$cur\" || :))\n"
    "    else\n"
    "        compopt -o default 2>/dev/null || :\n"
    "    fi\n"
    "}\n"
    "_tenure() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words= key i\n"
    "    COMPREPLY=()\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
    "            _tenure_command $((i + 1))\n"
    "            return 0\n"
    "        fi\n"
    "    done\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        words='";

static void print_bash(void)
{
    const char *before = "";
    fputs(bash_start, stdout);
    bash_names();
    printf("'\n"
           "    else\n"
           "        key=${COMP_WORDS[1]}\n"
           "        case $key in\n"
           "            ");
    print_groups();
    printf(") ((COMP_CWORD > 2)) && key+=\" ${COMP_WORDS[2]}\" ;;\n"
           "            help) key=' ' words='");
    bash_names();
    printf("' ;;\n"
           "        esac\n"
           "        case $key in\n");
    for (const struct command *const *c = command_table; *c; c++) {
        if (is_first(*c, &before) && (*c)->verb)
            bash_verbs(before);
        bash_command(*c);
    }
    printf("        esac\n"
           "    fi\n"
           "    COMPREPLY+=($(compgen -W \"$words\" -- \"$cur\" || :))\n"
           "}\n"
           "complete -F _tenure tenure\n");
}

/* ---- zsh ------------------------------------------------------------------------------------ */

/* Text within '...' of zsh or fish, where `special` is given a backslash too. */
static void quoted(const char *text, const char *special)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            printf("'\\'");
        else if (strchr(special, *text))
            putchar('\\');
        putchar(*text);
    }
}

/* ":METAVAR:what can stand there" */
static void zsh_value(const char *metavar, const char *choices, const char *known)
{
    printf(":%s:", metavar);
    if (choices)
        printf("(%s)", choices);
    else if (known)
        printf("_tenure_known %s", known);
    else if (strcmp(metavar, "FILE") == 0)
        printf("_files");
}

static void zsh_option(const struct option *o)
{
    printf("                ");
    if (o->letter)
        printf("'(-%c --%s)'{-%c,--%s%s}'[", o->letter, o->name, o->letter, o->name,
               o->metavar ? "=" : "");
    else
        printf("'%s--%s%s[", o->repeats ? "*" : "", o->name, o->metavar ? "=" : "");
    quoted(o->help, "[]:\\");
    putchar(']');
    if (o->metavar)
        zsh_value(o->metavar, choices_of(o), known_of_option(o));
    printf("' \\\n");
}

static void zsh_arguments(const struct command *c)
{
    printf("        '%s%s%s')\n            _arguments -s -S \\\n", c->name, c->verb ? " " : "",
           c->verb ? c->verb : "");
    for (const struct option *o = c->options; o->name; o++)
        zsh_option(o);
    zsh_option(&option_help);
    if (c->operand[0].metavar) {
        printf("                '");
        zsh_value(c->operand[0].metavar, c->operand[0].choices, known_of_operand(c));
        printf("' \\\n");
    }
    if (c->runs)
        printf("                '*::command:_tenure_command' \\\n");
    printf("                && return ;;\n");
}

static void zsh_described(const char *word, const char *summary)
{
    printf("            '%s:", word);
    quoted(summary, ":\\");
    printf("'\n");
}

static void zsh_names(void)
{
    const char *before = "";
    printf("        words_=(\n");
    for (const struct command *const *c = command_table; *c; c++)
        if (is_first(*c, &before))
            zsh_described(before, summary_of(*c));
    zsh_described("help", "Say more about a command");
    printf("        )\n        _describe command words_ && return\n");
}

static void zsh_verbs(const char *name)
{
    printf("        %s)\n        words_=(\n", name);
    for (const struct command *const *c = command_table; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            zsh_described((*c)->verb, (*c)->summary);
    printf("        )\n        _describe verb words_ && return ;;\n");
}

static void print_zsh(void)
{
    const char *before = "";
    printf("#compdef tenure\n"
           "# zsh completion of tenure, made by: tenure completion zsh\n"
           "_tenure_known() {\n"
           "    local -a known_\n"
           "    known_=(${(f)\"$(tenure __known $argv[-1] $line_ 2>/dev/null)\"})\n"
           "    compadd \"${(@)argv[1,-2]}\" -a known_\n"
           "}\n"
           "# The command after --\n"
           "_tenure_command() {\n"
           "    local -i at_=$words[(i)--]\n"
           "    ((at_ < CURRENT)) || return 1\n"
           "    shift $at_ words\n"
           "    ((CURRENT -= at_))\n"
           "    _normal\n"
           "}\n"
           "_tenure() {\n"
           "    local -a words_\n"
           "    local -a line_=($words)\n"
           "    local key\n"
           "    if ((CURRENT == 2)); then\n");
    zsh_names();
    printf("    fi\n"
           "    key=$words[2]\n"
           "    if ((CURRENT == 3)); then\n"
           "        case $key in\n");
    for (const struct command *const *c = command_table; *c; c++)
        if (is_first(*c, &before) && (*c)->verb)
            zsh_verbs(before);
    printf("        esac\n"
           "    fi\n"
           "    shift words; ((CURRENT--))\n"
           "    case $key in\n"
           "        ");
    print_groups();
    printf(") key+=\" $words[2]\"; shift words; ((CURRENT--)) ;;\n"
           "    esac\n"
           "    case $key in\n");
    for (const struct command *const *c = command_table; *c; c++)
        zsh_arguments(*c);
    printf("    esac\n"
           "    return 1\n"
           "}\n"
           "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
           "    _tenure \"$@\"\n"
           "else\n"
           "    compdef _tenure tenure\n"
           "fi\n");
}

/* ---- fish ----------------------------------------------------------------------------------- */

/* A line that offers a word where `place` holds: __tenure_at 0, __tenure_at 1 lease, ... */
static void fish_word(const char *place, const char *name, const char *word, const char *summary)
{
    printf("complete -c tenure -f -n '__tenure_at %s%s%s' -a '%s' -d '", place, name ? " " : "",
           name ? name : "", word);
    quoted(summary, "\\");
    printf("'\n");
}

static void fish_option(const struct command *c, const struct option *o)
{
    printf("complete -c tenure -n '__tenure_in %s%s%s' -l %s", c->name, c->verb ? " " : "",
           c->verb ? c->verb : "", o->name);
    if (o->letter)
        printf(" -s %c", o->letter);
    if (choices_of(o))
        printf(" -x -a '%s'", choices_of(o));
    else if (known_of_option(o))
        printf(" -x -a '(tenure __known %s (commandline -opc) 2>/dev/null)'", known_of_option(o));
    else if (o->metavar)
        printf(" -r");
    printf(" -d '");
    quoted(o->help, "\\");
    printf("'\n");
}

static void fish_command(const struct command *c)
{
    for (const struct option *o = c->options; o->name; o++)
        fish_option(c, o);
    fish_option(c, &option_help);
    if (c->operand[0].choices)
        fish_word("1", c->name, c->operand[0].choices, c->operand[0].metavar);
    else if (c->operand[0].metavar && known_of_operand(c))
        printf("complete -c tenure -f -n '__tenure_in %s%s%s; and not contains -- -- (commandline "
               "-opc)' -a '(tenure __known %s 2>/dev/null)'\n", c->name, c->verb ? " " : "",
               c->verb ? c->verb : "", known_of_operand(c));
    if (c->runs)
        printf("complete -c tenure -n '__tenure_in %s; and contains -- -- (commandline -opc)' -x "
               "-a '(__tenure_command)'\n", c->name);
}

static void print_fish(void)
{
    const char *before = "";
    printf("# fish completion of tenure, made by: tenure completion fish\n"
           "# __tenure_at N [NAME]: N words stand before the cursor, the first is NAME\n"
           "function __tenure_at\n"
           "    set -l words (commandline -opc)[2..]\n"
           "    test (count $words) = $argv[1]; or return 1\n"
           "    test (count $argv) = 1; or test \"$words[1]\" = \"$argv[2]\"\n"
           "end\n"
           "# __tenure_in NAME [VERB]: the command is this one\n"
           "function __tenure_in\n"
           "    set -l words (commandline -opc)[2..]\n"
           "    test \"$words[1]\" = \"$argv[1]\"; or return 1\n"
           "    test (count $argv) = 1; or test \"$words[2]\" = \"$argv[2]\"\n"
           "end\n"
           "# What may stand next in the command after --\n"
           "function __tenure_command\n"
           "    set -l words (commandline -opc)\n"
           "    set -l at (contains -i -- -- $words); or return\n"
           "    set -e words[1..$at]\n"
           "    complete -C (string join ' ' -- $words (commandline -ct))\n"
           "end\n");
    for (const struct command *const *c = command_table; *c; c++)
        if (is_first(*c, &before))
            fish_word("0", NULL, before, summary_of(*c));
    fish_word("0", NULL, "help", "Say more about a command");
    for (const struct command *const *c = command_table; *c; c++) {
        if ((*c)->verb)
            fish_word("1", (*c)->name, (*c)->verb, (*c)->summary);
        fish_command(*c);
    }
}

int command_completion(struct invocation *inv)
{
    const char *shell = inv->operand[0];
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else
        print_fish();
    return output_finish(EXIT_FINE);
}
