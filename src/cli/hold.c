/* cli/hold.c - a term without a command: the token is printed, then a signal ends it.
 *
 * The signal is the ordinary end, so it gives 0; what a script wants to know is whether the
 * tenure stood until then (else 81). */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "cli/client.h"
#include "cli/describe.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/run.h"

static int print_token(struct run *r)
{
    tenure_token token = tenure_claim_token(r->claim);
    if (option_given(r->inv, OPT_JSON)) {
        char where[CLIENT_WHERE_BYTES];
        json_t *o = json_object();
        output_set_text(o, "name", r->name);
        output_set_text(o, "kind", kind_text(r->kind));
        output_set_token(o, token);
        output_set_text(o, "ticket", tenure_claim_ticket(r->claim));
        output_set_text(o, "store", client_where(r->t, where));
        output_json(o, false);
    } else {
        printf("%" PRIu64 "\n", token);
    }
    return output_finish(EXIT_FINE);
}

int hold_term(struct run *r)
{
    bool must_report = r->kind == TENURE_ELECTION;
    int code = print_token(r);
    if (code != EXIT_FINE)
        return code;
    for (;;) {
        if (run_turn(r) || r->cut) {
            r->cut = true;
            return EXIT_LOST;
        }
        run_report(r, &must_report);
        if (run_signal(r) != 0)
            return EXIT_FINE;
        struct pollfd p[] = {{.fd = r->signals.fd, .events = POLLIN},
                             {.fd = tenure_fd(r->t), .events = POLLIN}};
        (void)poll(p, 2, -1); /* EINTR, ENOMEM: look again */
    }
}
