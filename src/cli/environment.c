#include "cli/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTER "OUTER_"
#define OUTER_LEN (sizeof OUTER - 1)
#define HEAD "TENURE_"
#define HEAD_LEN (sizeof HEAD - 1)
#define DEPTH_MAX 64
#define PGOPTIONS "PGOPTIONS="

extern char **environ;

static const char *const keys[] = {"NAME", "TOKEN", "EPOCH", "TICKET", "STORE"};
enum { KEYS = sizeof keys / sizeof keys[0] };

/* Looks up TENURE_{OUTER_}*KEY. */
static const char *get(int depth, const char *key)
{
    char name[HEAD_LEN + DEPTH_MAX * OUTER_LEN + 16];
    char *end = stpcpy(name, HEAD);
    for (int i = 0; i < depth; i++)
        end = stpcpy(end, OUTER);
    memcpy(end, key, strlen(key) + 1);
    return getenv(name);
}

/* The tenure `depth` levels out; false when there is none. */
static bool get_level(int depth, struct environment_level *ret)
{
    *ret = (struct environment_level){get(depth, "NAME"), get(depth, "TOKEN"),
                                      get(depth, "STORE")};
    return ret->name && ret->token;
}

bool environment_find(const char *name, struct environment_level *ret)
{
    struct environment_level level;
    for (int depth = 0; depth < DEPTH_MAX && get_level(depth, &level); depth++) {
        if (!name || strcmp(level.name, name) == 0) {
            *ret = level;
            return true;
        }
    }
    return false;
}

/* Whether an entry is one of our variables, of any level. */
static bool is_ours(const char *entry)
{
    if (strncmp(entry, HEAD, HEAD_LEN) != 0)
        return false;
    const char *key = entry + HEAD_LEN;
    while (strncmp(key, OUTER, OUTER_LEN) == 0)
        key += OUTER_LEN;
    for (int i = 0; i < KEYS; i++) {
        size_t len = strlen(keys[i]);
        if (strncmp(key, keys[i], len) == 0 && key[len] == '=')
            return true;
    }
    return false;
}

/* The environment in the making.  Entries of ours are allocated and come first. */
struct maker {
    char **entry;
    size_t count;
    bool failed;
};

static void add(struct maker *m, char *entry)
{
    m->failed = m->failed || !entry;
    if (entry)
        m->entry[m->count++] = entry;
}

static void add_own(struct maker *m, const char *key, const char *text)
{
    char *entry;
    add(m, asprintf(&entry, HEAD "%s=%s", key, text) < 0 ? NULL : entry);
}

static void add_outer(struct maker *m, const char *old)
{
    char *entry;
    add(m, asprintf(&entry, HEAD OUTER "%s", old + HEAD_LEN) < 0 ? NULL : entry);
}

static void add_level(struct maker *m, const tenure *t, const tenure_claim *claim,
                      tenure_kind kind)
{
    char token[24];
    snprintf(token, sizeof token, "%" PRIu64, tenure_claim_token(claim));
    add_own(m, "NAME", tenure_claim_name(claim));
    add_own(m, "TOKEN", token);
    if (kind == TENURE_ELECTION)
        add_own(m, "EPOCH", token);
    add_own(m, "TICKET", tenure_claim_ticket(claim));
    add_own(m, "STORE", tenure_where(t));
}

/* PGOPTIONS with the tokens of all levels, the innermost last: it counts where a name comes twice.
 * In PGOPTIONS a space within a value has a backslash in front; names hold neither. */
static void add_pgoptions(struct maker *m, const tenure_claim *claim)
{
    const char *old = getenv("PGOPTIONS");
    struct environment_level level;
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) {
        m->failed = true;
        return;
    }
    int depth = 0;
    while (depth < DEPTH_MAX && get_level(depth, &level))
        depth++;
    fprintf(f, PGOPTIONS "%s%s-c tenure.token=", old ? old : "", old && *old ? " " : "");
    while (depth-- > 0) {
        (void)get_level(depth, &level); /* it was there just now */
        fprintf(f, "%s=%s\\ ", level.name, level.token);
    }
    fprintf(f, "%s=%" PRIu64, tenure_claim_name(claim), tenure_claim_token(claim));
    if (fclose(f) != 0) {
        free(text);
        text = NULL;
    }
    add(m, text);
}

bool environment_make(const tenure *t, const tenure_claim *claim, tenure_kind kind, bool pgoptions,
                      struct environment *ret)
{
    size_t n = 0;
    bool nested = getenv(HEAD "NAME") && getenv(HEAD "TOKEN");
    while (environ && environ[n])
        n++;
    struct maker m = {.entry = calloc(n + KEYS + 3, sizeof *m.entry)};
    if (!m.entry)
        return false;
    add_level(&m, t, claim, kind);
    if (pgoptions)
        add_pgoptions(&m, claim);
    if (nested) /* else TENURE_STORE is the user's own setting, which the new one replaces */
        for (size_t i = 0; i < n; i++)
            if (is_ours(environ[i]))
                add_outer(&m, environ[i]);
    struct environment made = {.entry = m.entry, .owned = m.count};
    for (size_t i = 0; i < n; i++)
        if (!is_ours(environ[i]) &&
            !(pgoptions && strncmp(environ[i], PGOPTIONS, sizeof PGOPTIONS - 1) == 0))
            add(&m, environ[i]);
    if (m.failed)
        environment_free(&made);
    else
        *ret = made;
    return !m.failed;
}

void environment_free(struct environment *e)
{
    for (size_t i = 0; i < e->owned; i++)
        free(e->entry[i]);
    free(e->entry);
    *e = (struct environment){0};
}
