#include "cli/value.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/exit.h"
#include "cli/parse.h"
#include "core/name.h"
#include "wire/duration.h"

static bool refuse(char rule[VALUE_RULE_BYTES], const char *text)
{
    snprintf(rule, VALUE_RULE_BYTES, "%s", text);
    return false;
}

static bool parse_duration(const struct option *o, const char *text, struct value *ret,
                           char rule[VALUE_RULE_BYTES])
{
    char bound[DURATION_BYTES];
    struct span span;
    enum duration_flaw flaw = duration_parse(text_of(text), &span);
    if (flaw != DURATION_FINE)
        return refuse(rule, duration_flaw_text(flaw));
    if (span.ms < o->least || span.ms > o->most) {
        bool low = span.ms < o->least;
        snprintf(rule, VALUE_RULE_BYTES, "%s is at %s %s", o->noun, low ? "least" : "most",
                 duration_format(SPAN(low ? o->least : o->most), bound));
        return false;
    }
    ret->number = span.ms;
    return true;
}

static bool parse_number(const struct option *o, const char *text, struct value *ret,
                         char rule[VALUE_RULE_BYTES])
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    char *end = NULL;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (digits[0] == '\0' || strspn(digits, "0123456789") != strlen(digits) || *end != '\0')
        snprintf(rule, VALUE_RULE_BYTES, "%s is a whole number", o->noun);
    else if (errno != 0 || n < o->least || n > o->most)
        snprintf(rule, VALUE_RULE_BYTES, "%s is a number from %" PRId64 " to %" PRId64, o->noun,
                 o->least, o->most);
    else {
        ret->number = n;
        return true;
    }
    return false;
}

bool value_parse_token(const char *text, uint64_t *ret)
{
    if (text[0] == '\0' || strspn(text, "0123456789") != strlen(text))
        return false;
    errno = 0;
    unsigned long long n = strtoull(text, NULL, 10);
    if (errno != 0 || n == 0)
        return false;
    *ret = n;
    return true;
}

/* What would stop, continue or not concern a process is no way to ask it to end. */
static bool signal_ends(int signo)
{
    static const int not_ending[] = {SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU,
                                     SIGCONT, SIGCHLD, SIGURG,  SIGWINCH};
    for (size_t i = 0; i < sizeof not_ending / sizeof not_ending[0]; i++)
        if (signo == not_ending[i])
            return false;
    return true;
}

static int signal_number(const char *text)
{
    if (text[0] != '\0' && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 2) {
        int n = atoi(text);
        return n >= 1 && n < 32 ? n : 0;
    }
    if (strncasecmp(text, "SIG", 3) == 0)
        text += 3;
    for (int n = 1; n < 32; n++) {
        const char *name = sigabbrev_np(n);
        if (name && strcasecmp(name, text) == 0)
            return n;
    }
    return 0;
}

const char *signal_name(int signo, char buf[SIGNAL_NAME_BYTES])
{
    const char *name = sigabbrev_np(signo);
    if (name)
        snprintf(buf, SIGNAL_NAME_BYTES, "%s", name);
    else
        snprintf(buf, SIGNAL_NAME_BYTES, "%d", signo);
    return buf;
}

static bool parse_signal(const char *text, struct value *ret, char rule[VALUE_RULE_BYTES])
{
    int n = signal_number(text);
    if (n == 0)
        return refuse(rule, "a signal is a name or number from 1 to 31, as in TERM, SIGINT, 15");
    if (!signal_ends(n))
        return refuse(rule, "this signal does not ask a process to end");
    ret->number = n;
    return true;
}

static bool parse_code(const struct option *o, const char *text, struct value *ret,
                       char rule[VALUE_RULE_BYTES])
{
    if (!parse_number(o, text, ret, rule))
        return false;
    if (ret->number == EXIT_USAGE || (ret->number >= EXIT_LOST && ret->number <= EXIT_UNSURE))
        return refuse(rule, "64 and 81 to 85 have another meaning and stay apart from it");
    return true;
}

static bool parse_text(const struct option *o, const char *text, char rule[VALUE_RULE_BYTES])
{
    size_t len = strlen(text);
    if (!text_is_clean(text_of(text)))
        snprintf(rule, VALUE_RULE_BYTES, "%s is valid UTF-8 without control characters", o->noun);
    else if (len < (size_t)o->least)
        snprintf(rule, VALUE_RULE_BYTES, "%s must not be empty", o->noun);
    else if (len > (size_t)o->most)
        snprintf(rule, VALUE_RULE_BYTES, "%s has at most %" PRId64 " bytes, this has %zu", o->noun,
                 o->most, len);
    else
        return true;
    return false;
}

static bool parse_name(const char *text, char rule[VALUE_RULE_BYTES])
{
    size_t at = 0;
    enum name_flaw flaw = name_check(text_of(text), &at);
    if (flaw == NAME_FINE)
        return true;
    if (flaw == NAME_BAD_BYTE)
        snprintf(rule, VALUE_RULE_BYTES, "byte %zu (0x%02x): %s", at + 1,
                 (unsigned)(unsigned char)text[at], name_flaw_text(flaw));
    else
        snprintf(rule, VALUE_RULE_BYTES, "%s", name_flaw_text(flaw));
    return false;
}

/* A prefix is what a name can start with: with one more letter it is a name. */
static bool parse_prefix(const char *text, char rule[VALUE_RULE_BYTES])
{
    char name[NAME_BYTES_MAX + 2];
    if (snprintf(name, sizeof name, "%s%s", text, "x") >= (int)sizeof name)
        return refuse(rule, name_flaw_text(NAME_TOO_LONG));
    if (strlen(text) == NAME_BYTES_MAX)
        name[NAME_BYTES_MAX] = '\0'; /* a whole name of the greatest length */
    return parse_name(name, rule);
}

bool value_parse(const struct option *o, const char *text, struct value *ret,
                 char rule[VALUE_RULE_BYTES])
{
    ret->text = text;
    switch (o->kind) {
    case VALUE_TEXT:
        return parse_text(o, text, rule);
    case VALUE_WORD:
        return text[0] != '\0' || refuse(rule, "it must not be empty");
    case VALUE_NAME:
        return parse_name(text, rule);
    case VALUE_PREFIX:
        return parse_prefix(text, rule);
    case VALUE_DURATION:
        return parse_duration(o, text, ret, rule);
    case VALUE_NUMBER:
        return parse_number(o, text, ret, rule);
    case VALUE_TOKEN:
        return value_parse_token(text, &ret->token) ||
               refuse(rule, "a token is a whole number from 1 to 18446744073709551615");
    case VALUE_SIGNAL:
        return parse_signal(text, ret, rule);
    case VALUE_CODE:
        return parse_code(o, text, ret, rule);
    case VALUE_NONE:
    case VALUE_CHOICE:
        break;
    }
    return refuse(rule, "it takes no value");
}

/* Whether `word` is one of the words in `choices`. */
static bool is_choice(const char *choices, const char *word)
{
    size_t len = strlen(word);
    for (const char *c = choices; *c != '\0'; c += strspn(c, " ")) {
        size_t n = strcspn(c, " ");
        if (n == len && memcmp(c, word, n) == 0)
            return true;
        c += n;
    }
    return false;
}

bool value_parse_operand(const struct operand *o, const char *text, char rule[VALUE_RULE_BYTES])
{
    if (o->kind == VALUE_NAME)
        return parse_name(text, rule);
    if (o->kind == VALUE_PREFIX)
        return parse_prefix(text, rule);
    if (o->kind == VALUE_CHOICE && !is_choice(o->choices, text)) {
        snprintf(rule, VALUE_RULE_BYTES, "one of: %s", o->choices);
        return false;
    }
    return text[0] != '\0' || refuse(rule, "it must not be empty");
}
