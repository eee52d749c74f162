/* cli/permit.c - tenure permit keygen|issue|list|revoke: the side of the store. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <tenure/issue.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/permit_verify.h"
#include "cli/say.h"
#include "cli/value.h"
#include "os/clock.h"
#include "wire/duration.h"

static int keygen(const struct invocation *inv)
{
    uint64_t id;
    tenure_error err;
    if (tenure_permit_key_make(inv->operand[0], &id, &err) < 0)
        return client_fail(&err);
    printf("%016" PRIx64 "\n", id);
    return output_finish(EXIT_FINE);
}

/* ---- issue ---------------------------------------------------------------------------------- */

/* Role, epoch and store, from the command line, and from what this runs under. */
static int read_tenure(const struct invocation *inv, tenure_permit_terms *ret,
                       const char **ret_where)
{
    struct environment_level level;
    ret->role = option_text(inv, OPT_ROLE, NULL);
    ret->epoch = inv->value[OPT_EPOCH].token;
    *ret_where = option_text(inv, OPT_STORE, NULL);
    if (ret->role && ret->epoch != 0)
        return EXIT_FINE;
    if (ret->epoch != 0)
        return usage_fail(inv, "--epoch says under which epoch, and --role NAME is missing");
    if (!environment_find(ret->role, &level))
        return ret->role ? usage_fail(inv, "--role %s: this does not run under it (tenure lead), "
                                           "so say --epoch N", ret->role)
                         : usage_fail(inv, "--role NAME --epoch N: this does not run under tenure "
                                           "lead or lock, so say both");
    if (!value_parse_token(level.token, &ret->epoch))
        return usage_fail(inv, "TENURE_TOKEN %s: a token is a whole number from 1", level.token);
    ret->role = level.name;
    if (!*ret_where)
        *ret_where = level.store;
    return EXIT_FINE;
}

/* Asks, or asks again whenever something changed until the wait is over. */
static int issue_in_time(const struct invocation *inv, tenure *t, const tenure_permit_key *key,
                         const tenure_permit_terms *terms, char text[TENURE_PERMIT_TEXT_BYTES],
                         tenure_permit *ret, tenure_error *err)
{
    struct instant limit = instant_add(clock_now(), option_span(inv, OPT_WAIT, SPAN(0)));
    int code;
    do
        code = tenure_permit_issue(t, key, terms, text, ret, err);
    while (client_asks_again(t, limit, &code, err));
    return code;
}

static void print_permit(const struct invocation *inv, const char *text, const tenure_permit *p)
{
    char longest[DURATION_BYTES];
    int64_t valid_ms = p->not_after_ms - p->issued_ms;
    if (option_given(inv, OPT_FOR))
        say_change("the permit may outlive epoch %" PRIu64 " by %s, until it is over", p->epoch,
                   duration_format(SPAN(valid_ms), longest));
    if (!option_given(inv, OPT_JSON)) {
        printf("%s\n", text);
        return;
    }
    json_t *o = json_object();
    output_set_text(o, "permit", text);
    permit_set_json(o, p);
    output_set_number(o, "valid_ms", valid_ms);
    output_json(o, false);
}

/* A permit that did not reach anybody is taken off the record. */
static int issue_from(const struct invocation *inv, tenure *t, const tenure_permit_key *key,
                      const tenure_permit_terms *terms)
{
    char text[TENURE_PERMIT_TEXT_BYTES];
    tenure_permit p;
    tenure_error err;
    if (issue_in_time(inv, t, key, terms, text, &p, &err) < 0)
        return client_fail(&err);
    signal(SIGPIPE, SIG_IGN); /* cannot fail; else it would end us before we can */
    print_permit(inv, text, &p);
    int code = output_finish(EXIT_FINE);
    if (code != EXIT_FINE)
        (void)!tenure_permit_revoke(t, p.resource, p.operation, p.serial, terms->by, &err);
    return code;
}

static int issue(const struct invocation *inv)
{
    tenure_permit_terms terms = TENURE_PERMIT_TERMS_INIT;
    tenure_options opt = TENURE_OPTIONS_INIT;
    char actor[CLIENT_ACTOR_BYTES];
    const char *where;
    tenure_permit_key *key;
    tenure *t;
    tenure_error err;
    int code = read_tenure(inv, &terms, &where);
    if (code != EXIT_FINE)
        return code;
    terms.resource = inv->operand[0];
    terms.operation = inv->operand[1];
    terms.valid_ms = option_number(inv, OPT_FOR, 0);
    terms.clock_error_ms = option_number(inv, OPT_CLOCK_ERROR, TENURE_PERMIT_CLOCK_UNKNOWN);
    terms.shared = option_given(inv, OPT_SHARED);
    terms.by = client_actor(inv, actor);
    opt.flags = TENURE_EXISTING; /* who holds something has made it */
    if (tenure_permit_key_load(option_text(inv, OPT_KEY, NULL), &key, &err) < 0)
        return client_fail(&err);
    if (tenure_open(where, &opt, &t, &err) < 0) {
        code = client_fail(&err);
    } else {
        code = issue_from(inv, t, key, &terms);
        tenure_close(t);
    }
    tenure_permit_key_free(key);
    return code;
}

/* ---- list ----------------------------------------------------------------------------------- */

struct list {
    bool json, all;
    struct output_table table;
};

static const char *state_text(tenure_permit_state state)
{
    return state == TENURE_PERMIT_LIVE ? "good" : state == TENURE_PERMIT_OVER ? "over" : "revoked";
}

static void list_json(const tenure_permit_info *i)
{
    char at[OUTPUT_TIME_BYTES];
    json_t *o = json_object();
    output_set_text(o, "resource", i->resource);
    output_set_text(o, "operation", i->operation);
    output_set_text(o, "state", state_text(i->state));
    output_set(o, "serial", json_integer((json_int_t)i->serial));
    output_set_text(o, "role", i->role);
    output_set(o, "epoch", json_integer((json_int_t)i->epoch));
    output_set_text(o, "by", i->by);
    output_set_text(o, "revoked_by", *i->revoked_by ? i->revoked_by : NULL);
    output_set(o, "shared", json_boolean(i->shared));
    output_set_text(o, "issued", output_time_utc(i->issued_ms, at));
    output_set_text(o, "not_after", output_time_utc(i->not_after_ms, at));
    output_set_number(o, "left_ms", i->left_ms);
    output_json(o, false);
}

static bool list_one(void *arg, const tenure_permit_info *i)
{
    struct list *l = arg;
    char serial[24], under[300], left[DURATION_BYTES], at[OUTPUT_TIME_BYTES];
    if (i->state != TENURE_PERMIT_LIVE && !l->all)
        return true;
    if (l->json) {
        list_json(i);
        return true;
    }
    snprintf(serial, sizeof serial, "%" PRIu64, i->serial);
    snprintf(under, sizeof under, "%s %" PRIu64, i->role, i->epoch);
    const char *cells[] = {i->resource,
                           i->operation,
                           state_text(i->state),
                           i->left_ms > 0 ? duration_format(SPAN(i->left_ms), left) : "",
                           serial,
                           under,
                           *i->revoked_by ? i->revoked_by : i->by,
                           output_time_local(i->issued_ms, at)};
    output_table_row(&l->table, cells);
    return true;
}

static int list(const struct invocation *inv)
{
    static const char *const headings[] = {"RESOURCE", "OPERATION", "STATE", "FOR", "SERIAL",
                                           "UNDER", "WHO", "ISSUED"};
    struct list l = {.json = option_given(inv, OPT_JSON), .all = option_given(inv, OPT_ALL)};
    tenure *t;
    tenure_error err;
    int code = client_open(inv, NULL, &t);
    if (code != EXIT_FINE)
        return code;
    output_table_open(&l.table, 8, headings);
    if (tenure_permit_look(t, inv->operand[0], list_one, &l, &err) < 0)
        code = client_fail(&err);
    output_table_close(&l.table);
    tenure_close(t);
    return output_finish(code);
}

/* ---- the command ---------------------------------------------------------------------------- */

static int take_back(tenure *t, const struct invocation *inv, const char *by,
                     tenure_token *ret_token, tenure_error *err)
{
    (void)ret_token; /* nothing is to be printed */
    return tenure_permit_revoke(t, inv->operand[0], inv->operand[1],
                                inv->value[OPT_SERIAL].token, by, err);
}

int command_permit(struct invocation *inv)
{
    const char *verb = inv->command->verb;
    if (strcmp(verb, "keygen") == 0)
        return keygen(inv);
    if (strcmp(verb, "issue") == 0)
        return issue(inv);
    if (strcmp(verb, "verify") == 0)
        return permit_verify(inv);
    return strcmp(verb, "list") == 0 ? list(inv) : client_operate(inv, take_back);
}
