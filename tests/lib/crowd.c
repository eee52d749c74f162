/* tests/lib/crowd.c - more who wait than one commit can compare with, or ring at.
 *
 *     crowd etcd URL */
#include "lib.h"

#define WAITERS 110 /* store/etcd_engine.h: 80 */

static bool count_tickets(void *arg, const tenure_name_info *info)
{
    *(size_t *)arg = info->ticket_count;
    return true;
}

static void a_crowd_of_shared_waiters_is_granted_at_once(void)
{
    tenure *holder, *t[WAITERS];
    tenure_claim *held, *c[WAITERS];
    tenure_terms alone = TENURE_TERMS_INIT, shared = TENURE_TERMS_INIT;
    shared.shared = true;
    fresh();
    tenure_options opt = TENURE_OPTIONS_INIT;
    opt.ttl_ms = 60000; /* nobody looks by itself before the test is over */
    opt.flags = TENURE_PUMP;
    CHECK(tenure_open(url, &opt, &holder, &err) == 0);
    CHECK(tenure_acquire(holder, "x", &alone, &held, &err) == 0);
    for (int i = 0; i < WAITERS; i++) {
        CHECK(tenure_open(url, &opt, &t[i], &err) == 0);
        CHECK(tenure_ask(t[i], "x", &shared, &c[i], &err) == 0);
    }
    size_t tickets = 0;
    for (int64_t limit = now() + 20000; tickets < WAITERS + 1 && now() < limit;)
        CHECK(tenure_look(holder, "x", count_tickets, &tickets, &err) >= 0);
    CHECK(tickets == WAITERS + 1);
    CHECK(tenure_release(held, &err) == 0);
    for (int i = 0; i < WAITERS; i++) {
        CHECK(tenure_wait(c[i], 20000, &err) == 0);
        for (int k = 0; k < i; k++)
            CHECK(tenure_claim_token(c[i]) != tenure_claim_token(c[k]));
    }
    for (int i = 0; i < WAITERS; i++)
        tenure_close(t[i]);
    tenure_close(holder);
}

int main(int argc, char **argv)
{
    server = argc > 2 ? argv[2] : NULL;
    return TAP_RUN(TAP(a_crowd_of_shared_waiters_is_granted_at_once));
}
