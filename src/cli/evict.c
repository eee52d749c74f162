/* cli/evict.c - tenure evict: ends exactly one tenure. */
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/parse.h"

static int evict(tenure *t, const struct invocation *inv, const char *by, tenure_token *ret_token,
                 tenure_error *err)
{
    (void)ret_token; /* who evicts knows it */
    return tenure_evict(t, inv->operand[0], inv->value[OPT_TOKEN].token, by,
                        option_text(inv, OPT_REASON, NULL), err);
}

int command_evict(struct invocation *inv)
{
    return client_operate(inv, evict);
}
