/* cli/lease.c - tenure lease take|renew|drop: ownership by a token. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "os/clock.h"

/* Takes it, or tries again whenever something changed until the wait is over. */
static int take_in_time(const struct invocation *inv, tenure *t, const char *owner,
                        tenure_token *ret, tenure_error *err)
{
    int64_t ttl_ms = option_number(inv, OPT_TTL, 0);
    struct instant limit = instant_add(clock_now(), option_span(inv, OPT_WAIT, SPAN(0)));
    int code;
    do
        code = tenure_lease_take(t, inv->operand[0], owner, ttl_ms, ret, err);
    while (client_asks_again(t, limit, &code, err));
    return code;
}

static void print_lease(const struct invocation *inv, tenure *t, const char *owner,
                        tenure_token token)
{
    if (option_given(inv, OPT_JSON)) {
        char where[CLIENT_WHERE_BYTES];
        json_t *o = json_object();
        output_set_text(o, "name", inv->operand[0]);
        output_set_text(o, "kind", "lease");
        output_set_token(o, token);
        output_set_text(o, "as", owner);
        output_set_number(o, "ttl_ms", option_number(inv, OPT_TTL, 0));
        output_set_text(o, "store", client_where(t, where));
        output_json(o, false);
    } else {
        printf("%" PRIu64 "\n", token);
    }
}

/* A lease whose token nobody was told is given back: who asked cannot renew or drop it. */
static int take(const struct invocation *inv, tenure *t, int *ret_code, tenure_error *err)
{
    char actor[CLIENT_ACTOR_BYTES];
    const char *owner = client_actor(inv, actor);
    tenure_token token;
    int code = take_in_time(inv, t, owner, &token, err);
    if (code < 0)
        return code;
    signal(SIGPIPE, SIG_IGN); /* cannot fail; else it would end us before we can */
    print_lease(inv, t, owner, token);
    *ret_code = output_finish(EXIT_FINE);
    return *ret_code == EXIT_FINE ? 0 : tenure_lease_drop(t, inv->operand[0], token, err);
}

int command_lease(struct invocation *inv)
{
    const char *verb = inv->command->verb, *name = inv->operand[0];
    tenure_token token = inv->value[OPT_TOKEN].token;
    tenure *t;
    tenure_error err;
    const tenure_options opt = TENURE_OPTIONS_INIT;
    bool takes = strcmp(verb, "take") == 0; /* what is renewed or dropped is there */
    int code = client_open(inv, takes ? &opt : NULL, &t);
    if (code != EXIT_FINE)
        return code;
    int rc;
    if (takes)
        client_note_kind(t);
    if (takes)
        rc = take(inv, t, &code, &err);
    else if (strcmp(verb, "renew") == 0)
        rc = tenure_lease_renew(t, name, token, option_number(inv, OPT_TTL, 0), &err);
    else
        rc = tenure_lease_drop(t, name, token, &err);
    if (rc < 0)
        code = client_fail(&err);
    tenure_close(t);
    return code;
}
