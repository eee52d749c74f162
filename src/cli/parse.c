#include "cli/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/nearest.h"
#include "cli/say.h"
#include "cli/value.h"

struct parser {
    const struct command *command;
    int argc, at;
    char **argv;
    int operands;
    bool options_ended;
    struct invocation *inv;
    char *error;
};

static bool fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct parser *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->error, PARSE_ERROR_BYTES, format, args);
    va_end(args);
    return false;
}

static const struct option *find_letter(const struct command *c, char letter)
{
    if (letter == option_help.letter)
        return &option_help;
    for (const struct option *o = c->options; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static const struct option *find_long(const struct command *c, const char *name, size_t len)
{
    if (strlen(option_help.name) == len && memcmp(option_help.name, name, len) == 0)
        return &option_help;
    for (const struct option *o = c->options; o->name; o++)
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    return NULL;
}

/* "--wait", or "-w, --wait": both spellings of one option, for messages about it. */
static const char *spelling(const struct option *o, char buf[48])
{
    if (o->letter)
        snprintf(buf, 48, "-%c, --%s", o->letter, o->name);
    else
        snprintf(buf, 48, "--%s", o->name);
    return buf;
}

/* A value as a message shows it: in whole when it is short. */
#define QUOTE_BYTES 72
static const char *quote(const char *text, char buf[QUOTE_BYTES])
{
    if (text[0] == '\0')
        return "\"\"";
    if (strlen(text) < QUOTE_BYTES)
        return text;
    snprintf(buf, QUOTE_BYTES, "%.60s...", text);
    return buf;
}

/* Notes one option; `shown` is how it was written. */
static bool take(struct parser *p, const struct option *o, const char *shown, const char *text)
{
    char name[48], rule[VALUE_RULE_BYTES], value[QUOTE_BYTES];
    struct value *v = &p->inv->value[o->id];
    if (v->count > 0 && !o->repeats)
        return fail(p, "%s: given twice; an option is given once", spelling(o, name));
    if (o->repeats) {
        if (v->count == OPTION_REPEATS_MAX)
            return fail(p, "%s: given more than %d times", shown, OPTION_REPEATS_MAX);
        p->inv->repeated[v->count] = text;
    }
    v->count++;
    if (o->id == OPT_HELP)
        p->inv->help = true;
    if (o->kind != VALUE_NONE && !value_parse(o, text, v, rule))
        return fail(p, "%s %s: %s", shown, quote(text, value), rule);
    return true;
}

/* The value of an option that has none attached: the next word. */
static bool next_word(struct parser *p, const struct option *o, const char *shown,
                      const char **ret)
{
    if (p->at == p->argc)
        return fail(p, "%s: %s is missing after it", shown, o->metavar);
    *ret = p->argv[p->at++];
    return true;
}

static bool parse_long(struct parser *p, const char *word)
{
    const char *name = word + 2;
    size_t len = strcspn(name, "=");
    const char *text = name[len] == '=' ? name + len + 1 : NULL;
    const struct option *o = find_long(p->command, name, len);
    char shown[64];
    snprintf(shown, sizeof shown, "--%.*s", (int)len, name);
    if (!o) {
        const char *near = nearest_option(p->command, name, len);
        return near ? fail(p, "%s: unknown option; did you mean --%s?", shown, near)
                    : fail(p, "%s: unknown option", shown);
    }
    if (o->kind == VALUE_NONE && text)
        return fail(p, "%s: it takes no value", word);
    if (o->kind != VALUE_NONE && !text && !next_word(p, o, shown, &text))
        return false;
    return take(p, o, shown, text);
}

static bool parse_letters(struct parser *p, const char *word)
{
    for (const char *l = word + 1; *l != '\0'; l++) {
        char shown[3] = {'-', *l, '\0'};
        const struct option *o = find_letter(p->command, *l);
        if (!o)
            return fail(p, "%s: unknown option", l == word + 1 && l[1] == '\0' ? word : shown);
        if (o->kind == VALUE_NONE) {
            if (!take(p, o, shown, NULL))
                return false;
            continue;
        }
        const char *text = l[1] != '\0' ? l + 1 : NULL;
        if (!text && !next_word(p, o, shown, &text))
            return false;
        return take(p, o, shown, text);
    }
    return true;
}

/* What follows NAME of a command that runs another one. */
static bool parse_rest(struct parser *p)
{
    if (p->at == p->argc)
        return true;
    const char *first = p->argv[p->at];
    if (strcmp(first, "--") == 0) {
        if (++p->at == p->argc)
            return fail(p, "--: a command follows it");
    } else if (first[0] == '-') {
        return fail(p, "%s: options come before NAME, and the command comes after --", first);
    }
    p->inv->argv = p->argv + p->at;
    p->at = p->argc;
    return true;
}

static bool parse_operand(struct parser *p, const char *word)
{
    char rule[VALUE_RULE_BYTES], value[QUOTE_BYTES];
    const struct operand *o = &p->command->operand[p->operands];
    if (!o->metavar)
        return fail(p, "%s: one operand too many", quote(word, value));
    if (!value_parse_operand(o, word, rule))
        return fail(p, "%s %s: %s", o->metavar, quote(word, value), rule);
    p->inv->operand[p->operands++] = word;
    return p->command->runs ? parse_rest(p) : true;
}

/* "--" before NAME.  `lock -- make test` was written by somebody who forgot NAME: it must not take
 * the lock "make" and run `test`.  A NAME that begins with "-", or has "--" after it, is meant. */
static bool end_options(struct parser *p)
{
    const char *next = p->at < p->argc ? p->argv[p->at] : NULL;
    const char *second = next && p->at + 1 < p->argc ? p->argv[p->at + 1] : "";
    p->options_ended = true;
    if (p->command->runs && p->operands == 0 && next && next[0] != '-' &&
        strcmp(second, "--") != 0)
        return fail(p, "--: NAME is missing in front of it");
    return true;
}

static bool parse_words(struct parser *p)
{
    while (p->at < p->argc && !p->inv->help) {
        const char *word = p->argv[p->at++];
        bool fine;
        if (p->options_ended || word[0] != '-' || word[1] == '\0')
            fine = parse_operand(p, word);
        else if (strcmp(word, "--") == 0)
            fine = end_options(p);
        else
            fine = word[1] == '-' ? parse_long(p, word) : parse_letters(p, word);
        if (!fine)
            return false;
    }
    return true;
}

/* Options that say opposite things, with the reason. */
static const struct {
    enum option_id a, b;
    const char *why;
} exclusions[] = {
    {OPT_NONBLOCK, OPT_WAIT, "-n and -w: one of them says how long to wait"},
    {OPT_SHARED, OPT_EXCLUSIVE, "-s and -x: a lock is shared or exclusive"},
    {OPT_SHARED, OPT_PERMITS, "-s and --permits: shared mode has no number of permits"},
    {OPT_VERBOSE, OPT_QUIET, "-v and -q: one of them"},
};

static bool check_whole(struct parser *p)
{
    for (size_t i = 0; i < sizeof exclusions / sizeof exclusions[0]; i++)
        if (option_given(p->inv, exclusions[i].a) && option_given(p->inv, exclusions[i].b))
            return fail(p, "%s", exclusions[i].why);
    const struct operand *o = &p->command->operand[p->operands];
    if (o->metavar && o->required)
        return fail(p, "%s is missing", o->metavar);
    for (const struct option *q = p->command->options; q->name; q++)
        if (q->required && !option_given(p->inv, q->id))
            return fail(p, "--%s %s is missing", q->name, q->metavar);
    return true;
}

bool parse_invocation(const struct command *command, int argc, char **argv,
                      struct invocation *ret, char error[PARSE_ERROR_BYTES])
{
    *ret = (struct invocation){.command = command};
    struct parser p = {
        .command = command, .argc = argc, .argv = argv, .inv = ret, .error = error};
    return parse_words(&p) && (ret->help || check_whole(&p));
}

int usage_fail(const struct invocation *inv, const char *format, ...)
{
    char text[PARSE_ERROR_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const struct command *c = inv->command;
    size_t n = strlen(text);
    say_error("%s%s see tenure %s%s%s --help", text, n > 0 && text[n - 1] == '?' ? "" : ";",
              c->name, c->verb ? " " : "", c->verb ? c->verb : "");
    return EXIT_USAGE;
}
