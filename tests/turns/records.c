/* tests/turns/records.c - a record that cannot be read: it is named, and nothing else suffers. */
#include "script.h"
#include "tap.h"

#define TTL 3000

static tenure_error err;
static const char garbage[] = "\xff\x00 this is no record of ours \x80";

static bool is_named(int code)
{
    return (code == TENURE_CORRUPT || code == TENURE_FOREIGN) && err.code == code &&
           strstr(err.text, "bad/name") != NULL;
}

static bool see(void *arg, const tenure_name_info *info)
{
    (void)info;
    ++*(int *)arg;
    return true;
}

static void every_call_that_meets_it_names_it(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    tenure_token token;
    int seen = 0;
    script_put("bad/name", garbage, sizeof garbage);
    terms.wait_ms = 0;
    CHECK(is_named(tenure_acquire(t, "bad/name", &terms, &c, &err)));
    terms.kind = TENURE_ELECTION;
    CHECK(is_named(tenure_acquire(t, "bad/name", &terms, &c, &err)));
    CHECK(is_named(tenure_lease_take(t, "bad/name", NULL, 5000, &token, &err)));
    CHECK(is_named(tenure_lease_renew(t, "bad/name", 7, 5000, &err)));
    CHECK(is_named(tenure_lease_drop(t, "bad/name", 7, &err)));
    CHECK(is_named(tenure_evict(t, "bad/name", 7, "op", "test", &err)));
    CHECK(is_named(tenure_transfer(t, "bad/name", "somebody", "op", 100, &token, &err)));
    CHECK(is_named(tenure_look(t, "", see, &seen, &err)));
    tenure_close(t);
}

static void it_is_never_overwritten(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    terms.wait_ms = 0;
    CHECK(tenure_acquire(t, "fine", &terms, &c, &err) == 0);
    script_put("bad/name", garbage, sizeof garbage);
    tenure_claim *d;
    CHECK(is_named(tenure_acquire(t, "bad/name", &terms, &d, &err)));
    script_run(20 * TTL); /* housekeeping comes by several times */
    CHECK(tenure_check(c) == TENURE_STANDING);
    CHECK(is_named(tenure_acquire(t, "bad/name", &terms, &d, &err)));
    tenure_close(t);
}

/* What it still holds by its session it may believe: nobody else can be granted there either. */
static void its_holder_hears_of_it_and_its_other_claims_stand(void)
{
    script_begin();
    tenure *t = script_open(TTL, 0);
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c, *bad;
    terms.wait_ms = 0;
    CHECK(tenure_acquire(t, "fine", &terms, &c, &err) == 0);
    CHECK(tenure_acquire(t, "bad/name", &terms, &bad, &err) == 0);
    script_put("bad/name", garbage, sizeof garbage);
    script_run(2 * TTL);
    CHECK(tenure_check(c) == TENURE_STANDING);
    CHECK(is_named(tenure_release(bad, &err)));
    CHECK(tenure_release(c, &err) == 0);
    tenure_close(t);
}

int main(void)
{
    return TAP_RUN(TAP(every_call_that_meets_it_names_it), TAP(it_is_never_overwritten),
                   TAP(its_holder_hears_of_it_and_its_other_claims_stand));
}
