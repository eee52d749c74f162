/* cli/resign.c - tenure resign: has the leader of an election step down. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/parse.h"

int command_resign(struct invocation *inv)
{
    char actor[CLIENT_ACTOR_BYTES];
    tenure *t;
    tenure_token epoch;
    tenure_error err;
    int code = client_open(inv, NULL, &t);
    if (code != EXIT_FINE)
        return code;
    if (tenure_resign(t, inv->operand[0], client_actor(inv, actor), &epoch, &err) < 0)
        code = client_fail(&err);
    else
        printf("%" PRIu64 "\n", epoch);
    tenure_close(t);
    return output_finish(code);
}
