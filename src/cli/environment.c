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

bool environment_find(const char *name, struct environment_level *ret)
{
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        struct environment_level level = {get(depth, "NAME"), get(depth, "TOKEN"),
                                          get(depth, "STORE")};
        if (!level.name || !level.token)
            return false;
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

char **environment_make(const tenure *t, const tenure_claim *claim, tenure_kind kind)
{
    size_t n = 0;
    bool nested = getenv(HEAD "NAME") && getenv(HEAD "TOKEN");
    while (environ && environ[n])
        n++;
    struct maker m = {.entry = calloc(n + KEYS + 2, sizeof *m.entry)};
    if (!m.entry)
        return NULL;
    add_level(&m, t, claim, kind);
    if (nested) /* else TENURE_STORE is the user's own setting, which the new one replaces */
        for (size_t i = 0; i < n; i++)
            if (is_ours(environ[i]))
                add_outer(&m, environ[i]);
    for (size_t i = 0; i < n; i++)
        if (!is_ours(environ[i]))
            add(&m, environ[i]);
    if (!m.failed)
        return m.entry;
    environment_free(m.entry);
    return NULL;
}

void environment_free(char **envp)
{
    if (!envp)
        return;
    for (char **e = envp; *e && is_ours(*e); e++)
        free(*e);
    free(envp);
}
