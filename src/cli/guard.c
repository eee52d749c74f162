#include "cli/guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tenure/tenure.h>

#include "cli/exit.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/say.h"
#include "core/name.h"
#include "sqlite/guard.h"

/* ---- targets ------------------------------------------------------------------------------- */

/* The path of a sqlite: target, or NULL. */
static const char *sqlite_path(const char *target)
{
    static const char scheme[] = "sqlite:";
    size_t len = sizeof scheme - 1;
    return strncmp(target, scheme, len) == 0 && target[len] != '\0' ? target + len : NULL;
}

int guard_target_check(const char *target, tenure_error *err)
{
    if (sqlite_path(target) != NULL)
        return 0;
    err->code = TENURE_INVALID;
    (void)snprintf(err->text, sizeof err->text,
                   "%s: the target of a guard is sqlite:PATH", target);
    return err->code;
}

static int open_target(const char *target, struct sqlite_guard **ret, tenure_error *err)
{
    int code = guard_target_check(target, err);
    if (code == 0)
        code = sqlite_guard_open(sqlite_path(target), GUARD_PATIENCE_MS, ret, err);
    return code;
}

int guard_announce(const char *target, const char *name, uint64_t token, tenure_error *err)
{
    struct sqlite_guard *g;
    int code = open_target(target, &g, err);
    if (code == 0) {
        code = sqlite_guard_announce(g, name, token, err);
        sqlite_guard_close(g);
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

/* A new guard begins. */
static void report_guard(struct report *r, const struct sqlite_guard_finding *f)
{
    char text[160];
    (void)snprintf(r->guard, sizeof r->guard, "%s", f->guard);
    bool ahead = mark_is_ahead(r, f->guard, f->mark, text, sizeof text);
    r->unsafe = r->unsafe || ahead;
    if (!r->json) {
        if (ahead)
            say_error("guard %s: %s", f->guard, text);
        return;
    }
    report_flush(r);
    r->object = json_pack("{s:s, s:I, s:b, s:[], s:s?}", "guard", f->guard, "mark",
                          (json_int_t)f->mark, "strict", f->strict, "tables", "warning",
                          ahead ? text : NULL);
}

static void report_finding(void *arg, const struct sqlite_guard_finding *f)
{
    struct report *r = arg;
    if (strcmp(r->guard, f->guard) != 0)
        report_guard(r, f);
    r->unsafe = r->unsafe || f->state != SQLITE_GUARD_INTACT;
    if (r->json) {
        json_t *table = json_pack("{s:s, s:s, s:s?}", "table", f->table, "state",
                                  sqlite_guard_state_text(f->state), "moved_to", f->moved_to);
        if (json_array_append_new(json_object_get(r->object, "tables"), table) != 0)
            output_json(NULL, false); /* out of memory: ends the program */
        return;
    }
    char mark[24], state[160];
    (void)snprintf(mark, sizeof mark, "%" PRIu64, f->mark);
    (void)snprintf(state, sizeof state, "%s%s%s", sqlite_guard_state_text(f->state),
                   f->moved_to ? " to " : "", f->moved_to ? f->moved_to : "");
    const char *cells[] = {f->guard, mark, f->strict ? "yes" : "no", f->table, state};
    output_table_row(&r->table, cells);
}

static int check(struct invocation *inv, struct sqlite_guard *g, tenure_error *err)
{
    static const char *const headings[] = {"GUARD", "MARK", "STRICT", "TABLE", "STATE"};
    struct report r = {.json = option_given(inv, OPT_JSON)};
    if (option_given(inv, OPT_STORE)) {
        int code = tenure_open(inv->value[OPT_STORE].text, NULL, &r.store, err);
        if (code < 0)
            return code;
    }
    output_table_open(&r.table, 5, headings);
    int code = sqlite_guard_check(g, option_text(inv, OPT_NAME, NULL), report_finding, &r, err);
    report_flush(&r);
    output_table_close(&r.table);
    tenure_close(r.store);
    if (code == 0 && r.code < 0) {
        *err = r.err;
        code = r.code;
    }
    if (code < 0)
        return code;
    return r.unsafe ? EXIT_UNSAFE : EXIT_FINE;
}

/* ---- the command --------------------------------------------------------------------------- */

/* 0 or an exit code when it was done, else a negative tenure_code. */
static int carry_out(struct invocation *inv, struct sqlite_guard *g, tenure_error *err)
{
    const char *verb = inv->command->verb;
    const char *name = option_text(inv, OPT_NAME, NULL);
    if (strcmp(verb, "install") == 0)
        return sqlite_guard_install(g, name, inv->repeated, (size_t)inv->value[OPT_TABLE].count,
                                    option_given(inv, OPT_STRICT), err);
    if (strcmp(verb, "announce") == 0)
        return sqlite_guard_announce(g, name, inv->value[OPT_TOKEN].token, err);
    if (strcmp(verb, "remove") == 0)
        return sqlite_guard_remove(g, name, err);
    return check(inv, g, err);
}

int command_guard(struct invocation *inv)
{
    struct sqlite_guard *g;
    tenure_error err;
    int code = open_target(inv->operand[0], &g, &err);
    if (code == 0) {
        code = carry_out(inv, g, &err);
        sqlite_guard_close(g);
    }
    if (code >= 0)
        return output_finish(code);
    say_error("%s", err.text);
    /* Nothing of the caller's was lost: the guard refused. */
    return code == TENURE_NOT_OWNED ? EXIT_REFUSED : exit_of(code);
}
