/* cli/evict.c - tenure evict: ends exactly one tenure. */
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/client.h"
#include "cli/parse.h"

int command_evict(struct invocation *inv)
{
    char actor[CLIENT_ACTOR_BYTES];
    tenure *t;
    tenure_error err;
    int code = client_open(inv, NULL, &t);
    if (code != EXIT_FINE)
        return code;
    if (tenure_evict(t, inv->operand[0], inv->value[OPT_TOKEN].token, client_actor(inv, actor),
                     option_text(inv, OPT_REASON, NULL), &err) < 0)
        code = client_fail(&err);
    tenure_close(t);
    return code;
}
