/* cli/resign.c - tenure resign: has the leader of an election step down. */
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/parse.h"

static int resign(tenure *t, const struct invocation *inv, const char *by, tenure_token *ret_token,
                  tenure_error *err)
{
    return tenure_resign(t, inv->operand[0], by, ret_token, err);
}

int command_resign(struct invocation *inv)
{
    return client_operate(inv, resign);
}
