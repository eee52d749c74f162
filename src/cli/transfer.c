/* cli/transfer.c - tenure transfer: hands an election over to a named candidate. */
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/parse.h"

#define WAIT_MS 30000

static int transfer(tenure *t, const struct invocation *inv, const char *by,
                    tenure_token *ret_token, tenure_error *err)
{
    return tenure_transfer(t, inv->operand[0], option_text(inv, OPT_TO, NULL), by,
                           option_number(inv, OPT_WAIT, WAIT_MS), ret_token, err);
}

int command_transfer(struct invocation *inv)
{
    return client_operate(inv, transfer);
}
