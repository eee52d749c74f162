/* A candidate in an event loop: stands for election, leads, and steps down when it is told to.
 * A real program leads until it ends; this one leaves after a second. */
#include <poll.h>
#include <stdio.h>
#include <tenure/tenure.h>

#define NAME "billing/scheduler"

/* What this program does while it leads; each event may change that. */
static bool handle(const tenure_event *event, bool leads)
{
    tenure_error err;
    switch (event->kind) {
    case TENURE_EVENT_GRANTED:
        printf("leads\n");
        if (tenure_serving(event->claim, &err) < 0)
            fprintf(stderr, "%s\n", err.text);
        return true;
    case TENURE_EVENT_DOUBTFUL: /* start nothing new that cannot be stopped in time */
    case TENURE_EVENT_SAFE:
        return leads;
    case TENURE_EVENT_ASKED_TO_STOP:
    case TENURE_EVENT_LOST:
    case TENURE_EVENT_REFUSED:
        printf("leads no more: %s\n", event->reason);
        return false;
    }
    return leads;
}

static void loop(tenure *t, int64_t until)
{
    bool leads = false;
    while (tenure_now() < until) {
        struct pollfd p = {.fd = tenure_fd(t), .events = POLLIN};
        if (poll(&p, 1, (int)(until - tenure_now())) < 0 || tenure_process(t) < 0)
            return;
        tenure_event event;
        while (tenure_next_event(t, &event) > 0)
            leads = handle(&event, leads);
    }
}

int main(void)
{
    tenure *t;
    tenure_claim *claim;
    tenure_error err;
    if (tenure_open(NULL, NULL, &t, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    tenure_terms terms = TENURE_TERMS_INIT;
    terms.kind = TENURE_ELECTION;
    terms.value = "http://127.0.0.1:8080"; /* observers read it: tenure status */
    int code = tenure_ask(t, NAME, &terms, &claim, &err);
    if (code < 0)
        fprintf(stderr, "%s\n", err.text);
    else
        loop(t, tenure_now() + 1000);
    tenure_close(t); /* releases what it holds: the next candidate leads at once */
    return code < 0;
}
