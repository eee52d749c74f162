/* permit.c - what a permit costs whom, through the library.
 *
 *   permit PEER URL DIR SECS
 *
 * Rows of "permit", each for SECS/3 seconds: verify_* is the signature and the rule, as an effector
 * pays that keeps its mark itself; kept_* is all of tenure_permit_verify(), whose file is synced
 * before the answer; issue_* is the grant in the store and the signature. */
#include "bench.h"
#include <tenure/issue.h>

static tenure_error err;
static char text[TENURE_PERMIT_TEXT_BYTES];
static tenure_permit permit;

static void must(int code)
{
    if (code < 0)
        die(err.text);
}

static int64_t wall_ms(void)
{
    int64_t at, error;
    tenure_permit_clock(&at, &error);
    return at;
}

static tenure_permit_demand demand_of(void)
{
    tenure_permit_demand d = TENURE_PERMIT_DEMAND_INIT;
    d.role = "cluster/maintenance";
    d.resource = "node-7";
    d.operation = "drain";
    d.now_ms = wall_ms();
    d.clock_error_ms = 50;
    d.retries = true;
    return d;
}

static void verify(const char *peer, const tenure_permit_keys *keys, double secs)
{
    struct lat l = {0};
    tenure_permit_mark mark = {0};
    tenure_permit_demand d = demand_of();
    for (double end = now() + secs; now() < end;) {
        double t0 = now();
        if (tenure_permit_read(keys, text, strlen(text), &permit) != TENURE_PERMIT_ADMIT ||
            tenure_permit_judge(&permit, &d, &mark) != TENURE_PERMIT_ADMIT)
            die("a good permit was refused");
        lat_add(&l, now() - t0);
    }
    lat_rows(peer, "permit", "verify_", &l);
}

/* A new permit each time, because one that was shown changes nothing. */
static void issue_and_keep(const char *peer, const char *url, const char *dir,
                           const tenure_permit_key *key, const tenure_permit_keys *keys,
                           double secs)
{
    struct lat issued = {0}, kept = {0};
    char state[512];
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure_terms role = TENURE_TERMS_INIT;
    tenure_permit_terms terms = TENURE_PERMIT_TERMS_INIT;
    tenure_claim *claim;
    tenure *t;
    opt.flags = TENURE_PUMP;
    must(tenure_open(url, &opt, &t, &err));
    role.kind = TENURE_ELECTION;
    must(tenure_acquire(t, "cluster/maintenance", &role, &claim, &err));
    terms.role = "cluster/maintenance";
    terms.epoch = tenure_claim_token(claim);
    terms.resource = "node-7";
    terms.operation = "drain";
    terms.valid_ms = 3600 * 1000;
    terms.clock_error_ms = 50;
    snprintf(state, sizeof state, "%s/seen", dir);
    for (double end = now() + secs; now() < end;) {
        double t0 = now();
        must(tenure_permit_issue(t, key, &terms, text, &permit, &err));
        lat_add(&issued, now() - t0);
        tenure_permit_demand d = demand_of();
        t0 = now();
        int verdict = tenure_permit_verify(keys, state, text, strlen(text), &d, NULL, &err);
        lat_add(&kept, now() - t0);
        if (verdict != TENURE_PERMIT_ADMIT)
            die(err.text);
        must(tenure_permit_revoke(t, "node-7", "drain", permit.serial, NULL, &err));
    }
    tenure_close(t);
    lat_rows(peer, "permit", "issue_", &issued);
    lat_rows(peer, "permit", "kept_", &kept);
}

int main(int argc, char **argv)
{
    char path[512], public_path[520];
    tenure_permit_key *key;
    tenure_permit_keys *keys;
    if (argc != 5)
        die("permit PEER URL DIR SECS");
    snprintf(path, sizeof path, "%s/key", argv[3]);
    snprintf(public_path, sizeof public_path, "%s.pub", path);
    must(tenure_permit_key_make(path, NULL, &err));
    must(tenure_permit_key_load(path, &key, &err));
    must(tenure_permit_keys_load(public_path, &keys, &err));
    double secs = atof(argv[4]) / 3;
    issue_and_keep(argv[1], argv[2], argv[3], key, keys, 2 * secs);
    verify(argv[1], keys, secs);
    tenure_permit_key_free(key);
    tenure_permit_keys_free(keys);
    return 0;
}
