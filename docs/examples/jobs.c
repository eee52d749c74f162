/* Jobs of many tenants in one thread that never waits for the store: a lock per job, and in each
 * turn one request for all that was asked and given back.  A real program goes on; this one does
 * a hundred jobs. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <tenure/tenure.h>

#define TENANTS 8
#define JOBS 100

static int ask(tenure *t, const char *name)
{
    tenure_claim *claim; /* comes with its events */
    tenure_error err;
    tenure_terms terms = TENURE_TERMS_INIT;
    terms.later = true;
    int code = tenure_ask(t, name, &terms, &claim, &err);
    if (code < 0)
        fprintf(stderr, "%s\n", err.text);
    return code;
}

/* One job under its token.  The lock is given back with the next question for it. */
static int work(tenure *t, tenure_claim *claim)
{
    char name[32];
    snprintf(name, sizeof name, "%s", tenure_claim_name(claim));
    printf("%s: a job with token %" PRIu64 "\n", name, tenure_claim_token(claim));
    if (tenure_leave(claim, NULL) < 0)
        return -1; /* lost meanwhile: the guard has refused what the job wrote */
    return ask(t, name);
}

int main(void)
{
    tenure *t;
    tenure_event event;
    tenure_error err;
    char name[32];
    int jobs = 0;
    if (tenure_open(NULL, NULL, &t, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    bool fine = true;
    for (int i = 0; i < TENANTS && fine; i++) {
        snprintf(name, sizeof name, "tenant/%d", i);
        fine = ask(t, name) >= 0;
    }
    while (fine && jobs < JOBS) {
        struct pollfd p = {.fd = tenure_fd(t), .events = POLLIN};
        fine = poll(&p, 1, -1) >= 0 && tenure_process(t) >= 0;
        while (fine && jobs < JOBS && tenure_next_event(t, &event) > 0)
            if (event.kind == TENURE_EVENT_GRANTED && ++jobs)
                fine = work(t, event.claim) >= 0;
    }
    tenure_close(t); /* gives back what is left */
    return !fine;
}
