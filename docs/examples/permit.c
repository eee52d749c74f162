/* A valve that only the leader opens: <tenure/permit.h> on a mark that its owner keeps.
 *
 * Who opens it is asked for a permit each time.  The valve reads it, judges it by its mark, stores
 * the mark, and only then opens: here in memory and under no lock, for want of a valve; a real one
 * does the four in one transaction of its own.  `tenure permit verify` does it with a file. */
#include <stdio.h>
#include <string.h>
#include <tenure/issue.h>

struct valve {
    tenure_permit_keys *keys;
    tenure_permit_mark mark; /* all zero at first, and never lowered */
    int opened;
};

static tenure_permit_verdict valve_open(struct valve *v, const char *text)
{
    tenure_permit permit;
    tenure_permit_demand demand = TENURE_PERMIT_DEMAND_INIT;
    int verdict = tenure_permit_read(v->keys, text, strlen(text), &permit);
    if (verdict == TENURE_PERMIT_ADMIT) { /* it is authentic: now, is it for this, and good? */
        int64_t known_ms;
        demand.role = "plant/leader";
        demand.resource = "valve-3";
        demand.operation = "open";
        tenure_permit_clock(&demand.now_ms, &known_ms);
        demand.clock_error_ms = 100; /* known_ms, where the kernel knows it */
        verdict = (int)tenure_permit_judge(&permit, &demand, &v->mark);
    }
    v->opened += verdict == TENURE_PERMIT_ADMIT;
    printf("valve-3: %s\n", verdict < 0 ? tenure_error_sentence(verdict)
                                        : tenure_permit_verdict_text((unsigned)verdict));
    return (tenure_permit_verdict)verdict;
}

/* One term, in which a permit is issued; 0 on success. */
static int lead(tenure *t, const tenure_permit_key *key, char text[TENURE_PERMIT_TEXT_BYTES],
                tenure_error *err)
{
    tenure_claim *claim;
    tenure_permit permit;
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_permit_terms asked = TENURE_PERMIT_TERMS_INIT;
    terms.kind = TENURE_ELECTION;
    if (tenure_acquire(t, "plant/leader", &terms, &claim, err) < 0)
        return -1;
    asked.role = "plant/leader";
    asked.epoch = tenure_claim_token(claim);
    asked.resource = "valve-3";
    asked.operation = "open";
    asked.clock_error_ms = 100;
    int code = tenure_permit_issue(t, key, &asked, text, &permit, err);
    /* Who steps down says that it will not show it any more.  This one lies. */
    if (code == 0)
        code = tenure_permit_revoke(t, "valve-3", "open", permit.serial, NULL, err);
    return tenure_release(claim, err) < 0 ? -1 : code;
}

int main(void)
{
    char first[TENURE_PERMIT_TEXT_BYTES], second[TENURE_PERMIT_TEXT_BYTES];
    struct valve valve = {.opened = 0};
    tenure_permit_key *key = NULL;
    tenure *t = NULL;
    tenure_error err = {0, ""};
    int failed = tenure_permit_key_make("valve.key", NULL, &err) < 0 ||
                 tenure_permit_key_load("valve.key", &key, &err) < 0 ||
                 tenure_permit_keys_load("valve.key.pub", &valve.keys, &err) < 0 ||
                 tenure_open(NULL, NULL, &t, &err) < 0 || lead(t, key, first, &err) < 0 ||
                 lead(t, key, second, &err) < 0;
    if (failed)
        fprintf(stderr, "%s\n", err.text);
    else
        failed = valve_open(&valve, second) != TENURE_PERMIT_ADMIT ||
                 valve_open(&valve, second) != TENURE_PERMIT_REPLAYED ||
                 valve_open(&valve, first) != TENURE_PERMIT_STALE || valve.opened != 1;
    tenure_close(t);
    tenure_permit_key_free(key);
    tenure_permit_keys_free(valve.keys);
    return failed;
}
