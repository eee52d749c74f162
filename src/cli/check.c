/* cli/check.c - tenure check: does the tenure that this process runs under still stand? */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/environment.h"
#include "cli/exit.h"
#include "cli/client.h"
#include "cli/parse.h"
#include "cli/say.h"
#include "cli/value.h"

struct check {
    uint64_t token;
    bool stands;
};

static bool find(void *arg, const tenure_name_info *info)
{
    struct check *c = arg;
    for (size_t i = 0; i < name_holders(info); i++) {
        const tenure_ticket_info *t = &info->tickets[i];
        if (t->token == c->token)
            c->stands = t->alive && t->state != TENURE_TICKET_ENDING;
    }
    return false;
}

int command_check(struct invocation *inv)
{
    struct environment_level level;
    struct check c = {0};
    tenure *t;
    tenure_error err;
    if (!environment_find(inv->operand[0], &level)) {
        if (inv->operand[0])
            return usage_fail(inv, "%s: no tenure of this name in the environment",
                              inv->operand[0]);
        return usage_fail(inv, "TENURE_NAME and TENURE_TOKEN are not in the environment: this "
                               "runs under tenure lock or lead");
    }
    if (!value_parse_token(level.token, &c.token))
        return usage_fail(inv, "TENURE_TOKEN %s: a token is a whole number from 1", level.token);
    const char *where = option_text(inv, OPT_STORE, level.store);
    tenure_options opt = TENURE_OPTIONS_INIT;
    opt.flags = TENURE_EXISTING;
    if (tenure_open(where, &opt, &t, &err) < 0)
        return client_fail(&err);
    int code = look_at(t, level.name, find, &c, &err) < 0 ? client_fail(&err) : EXIT_FINE;
    tenure_close(t);
    if (code == EXIT_FINE && !c.stands) {
        say_change("%s: the tenure with token %" PRIu64 " does not stand any more", level.name,
                   c.token);
        code = EXIT_LOST;
    }
    return code;
}
