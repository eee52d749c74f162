/* cli/lock.c - tenure lock: one term. */
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/run.h"

int command_lock(struct invocation *inv)
{
    struct run r;
    int code = run_open(&r, inv, TENURE_LOCK);
    if (code != EXIT_FINE)
        return code;
    if (run_stand(&r, &code))
        code = run_term(&r);
    return run_close(&r, code);
}
