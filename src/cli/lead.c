/* cli/lead.c - tenure lead: one term after the other, until the work is over. */
#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/parse.h"
#include "cli/run.h"

int command_lead(struct invocation *inv)
{
    struct run r;
    int code = run_open(&r, inv, TENURE_ELECTION);
    if (code != EXIT_FINE)
        return code;
    bool again = inv->argv && !option_given(inv, OPT_ONCE);
    do {
        if (run_stand(&r, &code))
            code = run_term(&r);
    } while (again && r.cut && r.ended_by == 0);
    if (again && r.cut && r.ended_by != 0)
        code = EXIT_SIGNAL + r.ended_by;
    return run_close(&r, code);
}
