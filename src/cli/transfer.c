/* cli/transfer.c - tenure transfer: hands an election over to a named candidate. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/parse.h"

#define WAIT_MS 30000

int command_transfer(struct invocation *inv)
{
    char actor[CLIENT_ACTOR_BYTES];
    tenure *t;
    tenure_token epoch;
    tenure_error err;
    int code = client_open(inv, NULL, &t);
    if (code != EXIT_FINE)
        return code;
    if (tenure_transfer(t, inv->operand[0], option_text(inv, OPT_TO, NULL),
                        client_actor(inv, actor), option_number(inv, OPT_WAIT, WAIT_MS), &epoch,
                        &err) < 0)
        code = client_fail(&err);
    else
        printf("%" PRIu64 "\n", epoch);
    tenure_close(t);
    return output_finish(code);
}
