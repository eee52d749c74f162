/* Renewal in the background, with a leash: a worker that hangs must not keep its lock. */
#include <inttypes.h>
#include <stdio.h>
#include <tenure/tenure.h>

int main(void)
{
    tenure *t;
    tenure_claim *claim;
    tenure_error err;
    tenure_options options = TENURE_OPTIONS_INIT;
    options.flags = TENURE_PUMP;      /* a thread of the library renews */
    options.max_silence_ms = 30000;   /* but only while the worker checks in */
    if (tenure_open(NULL, &options, &t, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    tenure_terms terms = TENURE_TERMS_INIT;
    if (tenure_acquire(t, "billing/report", &terms, &claim, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        tenure_close(t);
        return 1;
    }
    uint64_t rows = 0;
    while (rows < 1000000 && tenure_check(claim) > 0) { /* wait-free: a few nanoseconds */
        rows++;
        tenure_checkin(t);
    }
    printf("%" PRIu64 " rows, %" PRId64 " ms left\n", rows, tenure_claim_left(claim));
    tenure_close(t);
    return rows < 1000000;
}
