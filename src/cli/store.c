/* cli/store.c - tenure store init|check|upgrade. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/say.h"

struct count {
    size_t names, holders, waiting;
    bool unsafe;
};

/* Every record is decoded on the way here. */
static bool count(void *arg, const tenure_name_info *info)
{
    struct count *c = arg;
    c->names++;
    for (size_t i = 0; i < info->ticket_count; i++)
        if (info->tickets[i].state == TENURE_TICKET_WAITING)
            c->waiting++;
        else
            c->holders++;
    return true;
}

static void show_finding(void *arg, bool fine, const char *text)
{
    struct count *c = arg;
    printf("%-4s  %s\n", fine ? "ok" : "warn", text);
    c->unsafe |= !fine;
}

static int check(tenure *t)
{
    struct count c = {0};
    char where[CLIENT_WHERE_BYTES];
    tenure_error err;
    int code = tenure_examine(t, show_finding, &c, &err);
    if (code >= 0)
        code = tenure_look(t, "", count, &c, &err);
    if (code < 0)
        return client_fail(&err);
    printf("ok    %s: %zu name%s, %zu held, %zu waiting\n", client_where(t, where), c.names,
           c.names == 1 ? "" : "s", c.holders, c.waiting);
    return c.unsafe ? EXIT_UNSAFE : EXIT_FINE;
}

/* The URL of a store that is made for a group; NULL, and it was said what is wrong. */
static char *url_of_group(const struct invocation *inv)
{
    char *url;
    const char *store = option_text(inv, OPT_STORE, getenv("TENURE_STORE"));
    if (store && !*store)
        store = NULL;
    if (!store || strncmp(store, "sqlite:", 7) != 0) {
        say_error("--group %s: name the store with --store sqlite:PATH; %s",
                  option_text(inv, OPT_GROUP, NULL),
                  store ? "others have rules of their own" : "the default store is one user's");
        return NULL;
    }
    if (asprintf(&url, "%s%sgroup=%s", store, strchr(store, '?') ? "&" : "?",
                 option_text(inv, OPT_GROUP, NULL)) >= 0)
        return url;
    say_error("out of memory");
    return NULL;
}

static int show_and_close(tenure *t)
{
    char where[CLIENT_WHERE_BYTES];
    printf("%s\n", client_where(t, where));
    tenure_close(t);
    return output_finish(EXIT_FINE);
}

/* A store that is not there, by its mistyped name maybe, is not made to be upgraded.  What opening
 * it does not bring forward, as in PostgreSQL, its owner's command does. */
static int upgrade(const struct invocation *inv)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure *t;
    tenure_error err;
    const char *where = option_text(inv, OPT_STORE, NULL);
    opt.flags = TENURE_EXISTING;
    int code = tenure_open(where, &opt, &t, &err); /* which migrates a local store */
    if (code == 0)
        tenure_close(t);
    if (code == 0 || code == TENURE_FOREIGN)
        code = tenure_init(where, &err);
    if (code == 0)
        code = tenure_open(where, &opt, &t, &err);
    return code < 0 ? client_fail(&err) : show_and_close(t);
}

static int init(const struct invocation *inv)
{
    const tenure_options opt = TENURE_OPTIONS_INIT;
    char *url = NULL;
    tenure *t;
    tenure_error err;
    if (option_given(inv, OPT_GROUP) && (url = url_of_group(inv)) == NULL)
        return EXIT_USAGE;
    const char *where = url ? url : option_text(inv, OPT_STORE, NULL);
    int code = tenure_init(where, &err);
    if (code == 0)
        code = tenure_open(where, &opt, &t, &err); /* which creates or migrates a local store */
    free(url);
    return code < 0 ? client_fail(&err) : show_and_close(t);
}

int command_store(struct invocation *inv)
{
    tenure *t;
    tenure_error err;
    if (strcmp(inv->command->verb, "init") == 0)
        return init(inv);
    if (strcmp(inv->command->verb, "upgrade") == 0)
        return upgrade(inv);
    if (option_given(inv, OPT_RAISE_TO)) {
        uint64_t above = inv->value[OPT_RAISE_TO].token;
        if (tenure_raise(option_text(inv, OPT_STORE, NULL), above, &err) < 0)
            return client_fail(&err);
        say_change("tokens go on above %" PRIu64 ", and above all that the store knows of", above);
    }
    int code = client_open(inv, NULL, &t);
    if (code != EXIT_FINE)
        return code;
    code = check(t);
    tenure_close(t);
    return output_finish(code);
}
