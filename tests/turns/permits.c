/* tests/turns/permits.c - permits whose answers are lost, and what becomes of old ones. */
#include <stdio.h>
#include <stdlib.h>
#include <tenure/issue.h>
#include <unistd.h>

#include "script.h"
#include "tap.h"

#define TTL 3000
#define DAY (24LL * 3600 * 1000)

static tenure_error err;
static tenure_permit_key *key;
static char text[TENURE_PERMIT_TEXT_BYTES];
static tenure_permit permit;

static void make_key(void)
{
    char dir[] = "/tmp/tenure-turns-XXXXXX", path[64], public_path[64];
    if (!mkdtemp(dir))
        abort();
    snprintf(path, sizeof path, "%s/key", dir);
    snprintf(public_path, sizeof public_path, "%s/key.pub", dir);
    if (tenure_permit_key_make(path, NULL, &err) < 0 ||
        tenure_permit_key_load(path, &key, &err) < 0) {
        printf("Bail out! %s\n", err.text);
        exit(2);
    }
    unlink(path);
    unlink(public_path);
    rmdir(dir);
}

/* A handle that leads. */
static tenure *leader(tenure_token *ret_epoch)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    tenure *t = script_open(TTL, 0);
    terms.kind = TENURE_ELECTION;
    *ret_epoch = tenure_acquire(t, "cl", &terms, &c, &err) < 0 ? 0 : tenure_claim_token(c);
    return t;
}

static int issue(tenure *t, tenure_token epoch)
{
    tenure_permit_terms terms = TENURE_PERMIT_TERMS_INIT;
    terms.role = "cl";
    terms.epoch = epoch;
    terms.resource = "node-7";
    terms.operation = "drain";
    return tenure_permit_issue(t, key, &terms, text, &permit, &err);
}

struct seen {
    int grants, live;
    uint64_t serial; /* of the newest */
};

static bool see(void *arg, const tenure_permit_info *i)
{
    struct seen *s = arg;
    s->live += i->state == TENURE_PERMIT_LIVE;
    if (s->grants++ == 0)
        s->serial = i->serial;
    return true;
}

static struct seen look(tenure *t)
{
    struct seen s = {0};
    return tenure_permit_look(t, "", see, &s, &err) < 0 ? (struct seen){-1, -1, 0} : s;
}

static void a_permit_whose_answer_was_lost_is_found_by_its_ticket(void)
{
    tenure_token epoch;
    script_begin();
    tenure *t = leader(&epoch);
    script_lose(0, CALL_UPDATE, 1);
    CHECK(issue(t, epoch) == 0);
    struct seen s = look(t);
    CHECK(s.grants == 1 && s.live == 1 && s.serial == permit.serial);
    tenure_close(t);
}

static void when_no_answer_comes_at_all_it_is_unsure_and_one_is_on_record(void)
{
    tenure_token epoch;
    script_begin();
    tenure *t = leader(&epoch);
    script_lose(0, CALL_UPDATE, 2);
    CHECK(issue(t, epoch) == TENURE_UNSURE);
    CHECK(look(t).grants == 1 && issue(t, epoch) == TENURE_HELD);
    script_run(TTL); /* it was good for as long as the tenure was sure to stand then */
    CHECK(issue(t, epoch) == 0);
    tenure_close(t);
}

static void what_may_have_happened_is_never_called_undone(void)
{
    tenure_token epoch;
    script_begin();
    tenure *t = leader(&epoch);
    script_lose(0, CALL_UPDATE, 1);
    script_refuse(0, CALL_UPDATE, 1);
    CHECK(issue(t, epoch) == TENURE_UNSURE && look(t).live == 1);
    script_run(TTL);
    script_refuse(0, CALL_UPDATE, 1);
    CHECK(issue(t, epoch) == TENURE_UNREACHABLE && look(t).live == 0);
    tenure_close(t);
}

static void a_revocation_whose_answer_was_lost_was_made(void)
{
    tenure_token epoch;
    script_begin();
    tenure *t = leader(&epoch);
    CHECK(issue(t, epoch) == 0);
    script_lose(0, CALL_UPDATE, 1);
    CHECK(tenure_permit_revoke(t, "node-7", "drain", permit.serial, NULL, &err) == 0);
    CHECK(look(t).live == 0 && issue(t, epoch) == 0);
    tenure_close(t);
}

static void a_successor_is_granted_at_once_what_its_predecessor_had(void)
{
    tenure_token epoch, next;
    for (int64_t silent = 0; silent < TTL / 3; silent += 97) {
        script_begin();
        tenure *t = leader(&epoch);
        script_run(TTL + silent); /* at any moment between two renewals */
        CHECK(issue(t, epoch) == 0);
        int64_t at = tenure_now();
        tenure *u = script_open(TTL, 0); /* t is stopped from here on */
        tenure_terms terms = TENURE_TERMS_INIT;
        tenure_claim *c;
        terms.kind = TENURE_ELECTION;
        CHECK(tenure_ask(u, "cl", &terms, &c, &err) == 0);
        while (tenure_check(c) == TENURE_WAITING)
            script_run_alone(1, 1);
        next = tenure_claim_token(c);
        CHECK(next > epoch && tenure_now() - at >= permit.not_after_ms - permit.issued_ms);
        CHECK(issue(u, next) == 0);
        tenure_close(u);
        tenure_close(t);
    }
}

static void what_nobody_asks_for_any_more_is_forgotten_and_serials_grow_on(void)
{
    tenure_token epoch;
    script_begin();
    tenure *t = leader(&epoch);
    CHECK(issue(t, epoch) == 0 && script_has("#node-7#drain"));
    uint64_t serial = permit.serial;
    tenure_close(t);
    script_pass(29 * DAY);
    t = leader(&epoch);
    script_run(20 * TTL); /* the walk has come by */
    CHECK(script_has("#node-7#drain") && look(t).grants == 1);
    tenure_close(t);
    script_pass(2 * DAY);
    t = leader(&epoch);
    script_run(20 * TTL);
    CHECK(!script_has("#node-7#drain") && look(t).grants == 0);
    CHECK(issue(t, epoch) == 0 && permit.serial > serial);
    tenure_close(t);
}

int main(void)
{
    make_key();
    int failed = TAP_RUN(TAP(a_permit_whose_answer_was_lost_is_found_by_its_ticket),
                         TAP(when_no_answer_comes_at_all_it_is_unsure_and_one_is_on_record),
                         TAP(what_may_have_happened_is_never_called_undone),
                         TAP(a_revocation_whose_answer_was_lost_was_made),
                         TAP(a_successor_is_granted_at_once_what_its_predecessor_had),
                         TAP(what_nobody_asks_for_any_more_is_forgotten_and_serials_grow_on));
    tenure_permit_key_free(key);
    return failed;
}
