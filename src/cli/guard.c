#include "cli/guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenure/tenure.h>

#include "cli/exit.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/say.h"
#include "core/name.h"
#include "os/fail.h"
#ifdef TENURE_HTTP
#include "http/guard.h"
#endif
#ifdef TENURE_POSTGRES
#include "postgres/guard.h"
#endif
#include "sqlite/guard.h"

/* ---- targets ------------------------------------------------------------------------------- */

static int open_sqlite(const char *target, int64_t patience_ms, struct target **ret,
                       tenure_error *err)
{
    return sqlite_guard_open(strchr(target, ':') + 1, patience_ms, ret, err);
}

#ifdef TENURE_POSTGRES
#define POSTGRES "postgres://HOST/DATABASE"
#else
#define POSTGRES "(built without libpq: no postgres:)"
#endif

#ifdef TENURE_HTTP
#define HTTP "http://HOST[:PORT]?secret=FILE"
#else
#define HTTP "(built without libmicrohttpd or libcurl: no http:)"
#endif

static const struct kind {
    const char *head;
    bool tables;    /* a guard there is for tables: told before anything is opened */
    bool pgoptions; /* its guard looks at what PGOPTIONS sets */
    int (*open)(const char *target, int64_t patience_ms, struct target **ret, tenure_error *err);
} kinds[] = {
    {"sqlite:", true, false, open_sqlite},
#ifdef TENURE_POSTGRES
    {"postgres://", true, true, postgres_guard_open},
    {"postgresql://", true, true, postgres_guard_open},
#endif
#ifdef TENURE_HTTP
    {"http://", false, false, http_guard_open},
    {"https://", false, false, http_guard_open},
#endif
};

/* The kind of a target; NULL when this program knows none. */
static const struct kind *kind_of(const char *target)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t len = strlen(kinds[i].head);
        if (strncmp(target, kinds[i].head, len) == 0 && target[len] != '\0')
            return &kinds[i];
    }
    return NULL;
}

int guard_target_check(const char *target, tenure_error *err)
{
    return kind_of(target) ? 0
                           : fail(err, TENURE_INVALID,
                                  "%s: the target of a guard is sqlite:PATH, " POSTGRES
                                  " or " HTTP, target);
}

bool guard_takes_pgoptions(const char *target)
{
    const struct kind *kind = target ? kind_of(target) : NULL;
    return kind && kind->pgoptions;
}

static int open_target(const char *target, struct target **ret, tenure_error *err)
{
    int code = guard_target_check(target, err);
    return code < 0 ? code : kind_of(target)->open(target, GUARD_PATIENCE_MS, ret, err);
}

int guard_announce(const char *target, const char *name, uint64_t token, tenure_error *err)
{
    struct target *g;
    int code = open_target(target, &g, err);
    if (code == 0) {
        code = target_announce(g, name, token, err);
        target_close(g);
    }
    return code;
}

/* ---- check --------------------------------------------------------------------------------- */

/* What check collects; findings come in order of guards. */
struct report {
    tenure *store; /* NULL: not compared */
    bool json;
    bool unsafe;
    int code; /* of the store: 0 or a tenure_code with err */
    tenure_error err;
    struct output_table table;
    FILE *notes; /* what follows the table */
    char guard[NAME_BYTES_MAX + 1]; /* the guard whose findings come now; "" before the first */
    json_t *object;                 /* of that guard */
};

struct highest {
    const char *name;
    bool known;
    uint64_t token;
};

static bool find_highest(void *arg, const tenure_name_info *info)
{
    struct highest *h = arg;
    if (strcmp(info->name, h->name) != 0)
        return true; /* it only starts alike */
    h->known = true;
    for (size_t i = 0; i < info->ticket_count; i++)
        h->token = info->tickets[i].token > h->token ? info->tickets[i].token : h->token;
    for (size_t i = 0; i < info->past_count; i++)
        h->token = info->past[i].token > h->token ? info->past[i].token : h->token;
    return false;
}

/* Fills `text` with what is wrong between a mark and the store; false when nothing is. */
static bool mark_is_ahead(struct report *r, const char *name, uint64_t mark, char *text,
                          size_t bytes)
{
    if (r->store == NULL || mark == 0 || r->code < 0)
        return false;
    struct highest h = {.name = name};
    r->code = tenure_look(r->store, name, find_highest, &h, &r->err);
    if (r->code < 0 || (h.known && mark <= h.token))
        return false;
    if (h.known)
        (void)snprintf(text, bytes,
                       "mark %" PRIu64 " is higher than the last token of the store, %" PRIu64
                       ": another store's, or the store went back in time", mark, h.token);
    else
        (void)snprintf(text, bytes, "mark %" PRIu64 ", but the store knows no tenure of this name",
                       mark);
    return true;
}

static void report_flush(struct report *r)
{
    if (r->object != NULL)
        output_json(r->object, false);
    r->object = NULL;
}

/* {"count": N, "last": {...} or null}; null for a guard that keeps no refusals. */
static json_t *refusals_object(const struct target_refusals *refusals)
{
    char text[OUTPUT_TIME_BYTES];
    json_t *last = NULL;
    if (refusals == NULL)
        return json_null();
    if (refusals->count > 0) {
        last = json_pack("{s:s}", "verdict", refusals->verdict);
        output_set_token(last, refusals->token);
        output_set_text(last, "at", output_time_utc(refusals->at_ms, text));
    }
    return json_pack("{s:I, s:o?}", "count", (json_int_t)refusals->count, "last", last);
}

/* For people, behind the table. */
static void remember_refusals(struct report *r, const struct target_finding *f)
{
    char time[OUTPUT_TIME_BYTES], token[32] = "";
    const struct target_refusals *refusals = f->refusals;
    if (refusals == NULL || refusals->count == 0)
        return;
    if (refusals->token != 0)
        (void)snprintf(token, sizeof token, ", token %" PRIu64, refusals->token);
    fprintf(r->notes, "%s has refused %" PRIu64 " write%s; the last one %s: %s%s\n", f->guard,
            refusals->count, refusals->count == 1 ? "" : "s",
            output_time_local(refusals->at_ms, time), refusals->verdict, token);
}

/* A new guard begins. */
static void report_guard(struct report *r, const struct target_finding *f)
{
    char text[160];
    (void)snprintf(r->guard, sizeof r->guard, "%s", f->guard);
    bool ahead = mark_is_ahead(r, f->guard, f->mark, text, sizeof text);
    r->unsafe = r->unsafe || ahead;
    if (!r->json) {
        if (ahead)
            say_error("guard %s: %s", f->guard, text);
        remember_refusals(r, f);
        return;
    }
    report_flush(r);
    r->object = json_pack("{s:s, s:I, s:b, s:[], s:o, s:s?}", "guard", f->guard, "mark",
                          (json_int_t)f->mark, "strict", f->strict, "tables", "refusals",
                          refusals_object(f->refusals), "warning", ahead ? text : NULL);
}

static void report_finding(void *arg, const struct target_finding *f)
{
    struct report *r = arg;
    if (strcmp(r->guard, f->guard) != 0)
        report_guard(r, f);
    r->unsafe = r->unsafe || f->state != TARGET_INTACT;
    if (r->json) {
        if (f->table)
            output_append(json_object_get(r->object, "tables"),
                          json_pack("{s:s, s:s, s:s?}", "table", f->table, "state",
                                    target_state_text(f->state), "moved_to", f->moved_to));
        return;
    }
    char mark[24], state[160];
    (void)snprintf(mark, sizeof mark, "%" PRIu64, f->mark);
    (void)snprintf(state, sizeof state, "%s%s%s", target_state_text(f->state),
                   f->moved_to ? " to " : "", f->moved_to ? f->moved_to : "");
    const char *cells[] = {f->guard, mark, f->strict ? "yes" : "no", f->table ? f->table : "-",
                           state};
    output_table_row(&r->table, cells);
}

static int check(struct invocation *inv, struct target *g, tenure_error *err)
{
    static const char *const headings[] = {"GUARD", "MARK", "STRICT", "TABLE", "STATE"};
    struct report r = {.json = option_given(inv, OPT_JSON)};
    if (option_given(inv, OPT_STORE)) {
        tenure_options opt = TENURE_OPTIONS_INIT;
        opt.flags = TENURE_EXISTING;
        int code = tenure_open(inv->value[OPT_STORE].text, &opt, &r.store, err);
        if (code < 0)
            return code;
    }
    char *notes = NULL;
    size_t bytes;
    r.notes = open_memstream(&notes, &bytes);
    if (r.notes == NULL)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    output_table_open(&r.table, 5, headings);
    int code = target_check(g, option_text(inv, OPT_NAME, NULL), report_finding, &r, err);
    report_flush(&r);
    output_table_close(&r.table);
    if (fclose(r.notes) == 0 && notes != NULL)
        fputs(notes, stdout);
    free(notes);
    tenure_close(r.store);
    if (code == 0 && r.code < 0) {
        *err = r.err;
        code = r.code;
    }
    if (code < 0)
        return code;
    if (r.guard[0] == '\0')
        say_change("no guard is installed there");
    return r.unsafe ? EXIT_UNSAFE : EXIT_FINE;
}

/* ---- the command --------------------------------------------------------------------------- */

/* 0 or an exit code when it was done, else a negative tenure_code. */
static int carry_out(struct invocation *inv, struct target *g, tenure_error *err)
{
    const char *verb = inv->command->verb;
    const char *name = option_text(inv, OPT_NAME, NULL);
    if (strcmp(verb, "install") == 0)
        return target_install(g, name, inv->repeated, (size_t)inv->value[OPT_TABLE].count,
                                    option_given(inv, OPT_STRICT), err);
    if (strcmp(verb, "announce") == 0)
        return target_announce(g, name, inv->value[OPT_TOKEN].token, err);
    if (strcmp(verb, "remove") == 0)
        return target_remove(g, name, err);
    return check(inv, g, err);
}

int command_guard(struct invocation *inv)
{
    struct target *g;
    tenure_error err;
    const struct kind *kind = kind_of(inv->operand[0]);
    if (kind && kind->tables && strcmp(inv->command->verb, "install") == 0 &&
        !option_given(inv, OPT_TABLE))
        return usage_fail(inv, "--table TABLE is missing: %s has tables", kind->head);
    int code = open_target(inv->operand[0], &g, &err);
    if (code == 0) {
        code = carry_out(inv, g, &err);
        target_close(g);
    }
    if (code >= 0)
        return output_finish(code);
    say_error("%s", err.text);
    /* Nothing of the caller's was lost: the guard refused. */
    return code == TENURE_NOT_OWNED ? EXIT_REFUSED : exit_of(code);
}
