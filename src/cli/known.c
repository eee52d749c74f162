#include "cli/known.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <tenure/config.h>
#include <tenure/tenure.h>

#include "cli/describe.h"
#include "cli/exit.h"
#include "cli/output.h"

static bool show_key(void *arg, const tenure_config_entry *e)
{
    (void)arg;
    if (e->exists)
        puts(e->key);
    return true;
}

struct known {
    bool candidates; /* of the elections that the line names, or of all; else names */
    char **line;
    int words;
    bool named; /* the line names the one that was looked at, or no line was asked about */
};

static bool is_on_line(const struct known *k, const char *name)
{
    for (int i = 0; i < k->words; i++)
        if (strcmp(k->line[i], name) == 0)
            return true;
    return false;
}

static bool show(void *arg, const tenure_name_info *info)
{
    struct known *k = arg;
    if (!k->candidates) {
        puts(info->name);
        return true;
    }
    if (info->kind != TENURE_ELECTION || (k->named && !is_on_line(k, info->name)))
        return true;
    for (size_t i = name_holders(info); i < info->ticket_count; i++)
        puts(info->tickets[i].as);
    return true;
}

static bool find_named(void *arg, const tenure_name_info *info)
{
    struct known *k = arg;
    k->named = info->kind == TENURE_ELECTION && is_on_line(k, info->name);
    return !k->named;
}

int known_print(int argc, char **argv)
{
    struct known k = {.line = argv + 1, .words = argc - 1};
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure *t;
    tenure_error err;
    bool keys = strcmp(argv[0], "keys") == 0;
    k.candidates = strcmp(argv[0], "candidates") == 0;
    if (!keys && !k.candidates && strcmp(argv[0], "names") != 0)
        return EXIT_USAGE;
    opt.flags = TENURE_EXISTING;
    if (tenure_open(NULL, &opt, &t, &err) < 0)
        return EXIT_FINE;
    int code = k.candidates ? tenure_look(t, "", find_named, &k, &err) : 0;
    if (code == 0)
        code = keys ? tenure_config_look(t, "", show_key, NULL, &err)
                    : tenure_look(t, "", show, &k, &err);
    (void)code; /* what there is by then is shown */
    tenure_close(t);
    return output_finish(EXIT_FINE);
}
