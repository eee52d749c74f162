/* A critical section: acquire, work, release.  The token goes wherever the work writes. */
#include <inttypes.h>
#include <stdio.h>
#include <tenure/tenure.h>

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
    terms.wait_ms = 5000;
    if (tenure_acquire(t, "billing/invoices", &terms, &claim, &err) < 0) {
        fprintf(stderr, "%s\n", err.text); /* held by another, or not known: err.code tells */
        tenure_close(t);
        return 1;
    }
    for (int step = 1; step <= 3 && tenure_check(claim) > 0; step++) {
        printf("step %d under token %" PRIu64 "\n", step, tenure_claim_token(claim));
        if (tenure_process(t) < 0) /* renews when it is due: at least each ttl/6 */
            break;
    }
    int code = tenure_release(claim, &err);
    if (code < 0)
        fprintf(stderr, "%s\n", err.text); /* it had ended before: the work may be half done */
    tenure_close(t);
    return code < 0;
}
