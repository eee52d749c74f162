#include "cli/nearest.h"

#include <stdbool.h>
#include <string.h>

#include "cli/table.h"

#define WORD_MAX 24
#define EDITS_MAX 2

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein's distance, one row at a time. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t row[WORD_MAX + 1];
    if (a_len > WORD_MAX || b_len > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_len];
}

/* Keeps the better of two; a word is never "near" to one that it shares nothing with, and nearer
 * to none than to the first that it is the beginning of. */
static void consider(const char *candidate, const char *word, size_t len, size_t *best,
                     const char **ret)
{
    size_t d = len > 1 && strncmp(candidate, word, len) == 0
                   ? 0
                   : distance(word, len, candidate, strlen(candidate));
    if (d < *best && d < len) {
        *best = d;
        *ret = candidate;
    }
}

const char *nearest_option(const struct command *c, const char *word, size_t len)
{
    const char *ret = NULL;
    size_t best = EDITS_MAX + 1;
    consider(option_help.name, word, len, &best, &ret);
    for (const struct option *o = c->options; o->name; o++)
        consider(o->name, word, len, &best, &ret);
    return ret;
}

/* What people bring along from other programs.  By its letters "elect" would be near to evict. */
static const struct {
    const char *word, *meant;
} other_words[] = {
    {"acquire", "lock"},    {"run", "lock"},          {"exec", "lock"},
    {"elect", "lead"},      {"campaign", "lead"},     {"list", "status"},
    {"ls", "status"},       {"show", "status"},       {"info", "status"},
    {"unlock", "evict"},    {"kill", "evict"},        {"release", "lease drop"},
    {"log", "history"},     {"events", "watch"},      {"renew", "lease renew"},
    {"stepdown", "resign"}, {"handover", "transfer"}, {"put", "config put"},
    {"get", "config get"},  {"init", "store init"},   {"version", "--version"},
};

const char *nearest_command(const char *word)
{
    const char *ret = NULL;
    for (size_t i = 0; i < sizeof other_words / sizeof other_words[0]; i++)
        if (strcmp(word, other_words[i].word) == 0)
            return other_words[i].meant;
    size_t best = EDITS_MAX + 1;
    for (const struct command *const *c = command_table; *c; c++)
        consider((*c)->name, word, strlen(word), &best, &ret);
    return ret;
}
