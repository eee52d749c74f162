/* cli/lead.c - tenure lead: one term after the other, until the work is over. */
#include <sys/random.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/parse.h"
#include "cli/run.h"
#include "cli/say.h"
#include "os/clock.h"
#include "wire/duration.h"

#define REST_MAX_MS 60000

/* How long a sick candidate leaves the role to others: half a ttl to one; after each further term
 * in which the probe never succeeded twice as long, up to a minute.  Two that are sick at once part
 * by chance. */
static struct span rest_after(unsigned sick_terms, int64_t ttl_ms)
{
    uint32_t dice = 0;
    int64_t most = ttl_ms;
    for (unsigned i = 1; i < sick_terms && 2 * most <= REST_MAX_MS; i++)
        most *= 2;
    if (getrandom(&dice, sizeof dice, GRND_NONBLOCK) != (ssize_t)sizeof dice)
        dice = UINT32_MAX / 2;
    return SPAN(most / 2 + (int64_t)(dice % (uint32_t)(most / 2 + 1)));
}

/* After a term that a failing probe has ended; false when a signal ended it, with the exit code. */
static bool rest(struct run *r, int *ret_code)
{
    char length[DURATION_BYTES];
    if (r->sick_terms == 0)
        return true;
    struct span pause = rest_after(r->sick_terms, r->timing.ttl.ms);
    say_change("%s: the probe has ended the term; standing again in %s", r->name,
               duration_format(pause, length));
    return run_rest(r, instant_add(clock_now(), pause), ret_code);
}

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
    } while (again && r.cut && r.ended_by == 0 && rest(&r, &code));
    if (again && r.cut && r.ended_by != 0)
        code = EXIT_SIGNAL + r.ended_by;
    return run_close(&r, code);
}
