/* cli/status.c - tenure status: who holds what. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/exit.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "core/time.h"
#include "wire/duration.h"

static const char *const headings[] = {"NAME", "KIND", "STATE",   "TOKEN", "HOLDER",
                                       "SINCE", "LEFT", "WAITING", "VALUE"};
enum { COLUMNS = 8, COLUMNS_VERBOSE = 9 };

struct status {
    const char *asked; /* NAME or PREFIX */
    bool json, verbose, all;
    int64_t started_ms; /* nothing shown is older */
    size_t names, free; /* shown, and left out because nobody holds them or waits */
    tenure *t;
    struct output_table table;
};

static const char *length(int64_t ms, char buf[DURATION_BYTES])
{
    return ms < 0 ? "-" : duration_format(SPAN(ms), buf);
}

static void row(struct status *s, const tenure_name_info *info, const tenure_ticket_info *t,
                const char *waiting)
{
    char kind[24], state[24], token[24], since[DURATION_BYTES], left[DURATION_BYTES];
    if (info->permits > 1)
        snprintf(kind, sizeof kind, "%s x%u", kind_text(info->kind), info->permits);
    else
        snprintf(kind, sizeof kind, "%s", kind_text(info->kind));
    if (!t) {
        const char *cells[] = {info->name, kind, "free",  "", "", length(info->vacant_ms, since),
                               "",         waiting, ""};
        output_table_row(&s->table, cells);
        return;
    }
    bool waits = ticket_waits(t);
    snprintf(state, sizeof state, "%s%s", ticket_text(t), t->shared ? " shared" : "");
    snprintf(token, sizeof token, "%" PRIu64, t->token);
    const char *cells[] = {info->name,
                           kind,
                           state,
                           waits ? "" : token,
                           t->as,
                           length(t->since_ms, since),
                           waits ? "" : length(t->left_ms, left),
                           waiting,
                           t->value};
    output_table_row(&s->table, cells);
}

static void show_rows(struct status *s, const tenure_name_info *info)
{
    char waiting[24];
    size_t holders = name_holders(info);
    size_t shown = s->verbose ? info->ticket_count : holders;
    snprintf(waiting, sizeof waiting, "%zu", info->ticket_count - holders);
    if (holders == 0)
        row(s, info, NULL, waiting);
    for (size_t i = 0; i < shown; i++)
        row(s, info, &info->tickets[i], i == 0 && holders > 0 ? waiting : "");
}

static json_t *tickets_json(const tenure_name_info *info, size_t from, size_t to)
{
    json_t *list = json_array();
    for (size_t i = from; i < to; i++) {
        json_t *o = ticket_json(&info->tickets[i]);
        output_set_number(o, "since_ms", info->tickets[i].since_ms);
        output_set_number(o, "left_ms", info->tickets[i].left_ms);
        output_append(list, o);
    }
    return list;
}

static void show_json(struct status *s, const tenure_name_info *info)
{
    char where[CLIENT_WHERE_BYTES];
    size_t holders = name_holders(info);
    json_t *o = json_object();
    output_set_text(o, "name", info->name);
    output_set_text(o, "kind", kind_text(info->kind));
    output_set_number(o, "permits", info->permits);
    output_set_number(o, "grants", (int64_t)info->grants);
    if (info->vacant_ms < 0)
        output_set_text(o, "vacant_ms", NULL);
    else
        output_set_number(o, "vacant_ms", info->vacant_ms);
    output_set(o, "holders", tickets_json(info, 0, holders));
    output_set(o, "waiting", tickets_json(info, holders, info->ticket_count));
    output_set_number(o, "age_ms", tenure_now() - s->started_ms);
    output_set_text(o, "store", client_where(s->t, where));
    output_json(o, false);
}

static bool show(void *arg, const tenure_name_info *info)
{
    struct status *s = arg;
    bool exact = strcmp(info->name, s->asked) == 0;
    if (info->ticket_count == 0 && !s->all && !exact) {
        s->free++;
        return true;
    }
    s->names++;
    if (s->json)
        show_json(s, info);
    else
        show_rows(s, info);
    return !exact; /* NAME alone, when there is exactly that */
}

static void print_end(const struct status *s)
{
    char age[DURATION_BYTES], where[CLIENT_WHERE_BYTES];
    printf("# %zu name%s", s->names, s->names == 1 ? "" : "s");
    if (s->free > 0)
        printf(" in use, and %zu free (--all shows %s)", s->free, s->free == 1 ? "it" : "them");
    printf(", at most %s old, in %s\n", length(tenure_now() - s->started_ms, age),
           client_where(s->t, where));
}

int command_status(struct invocation *inv)
{
    struct status s = {.asked = inv->operand[0] ? inv->operand[0] : "",
                       .json = option_given(inv, OPT_JSON),
                       .verbose = option_given(inv, OPT_VERBOSE),
                       .all = option_given(inv, OPT_ALL)};
    tenure_error err;
    int code = client_open(inv, NULL, &s.t);
    if (code != EXIT_FINE)
        return code;
    output_table_open(&s.table, s.verbose ? COLUMNS_VERBOSE : COLUMNS, headings);
    s.started_ms = tenure_now();
    if (tenure_look(s.t, s.asked, show, &s, &err) < 0)
        code = client_fail(&err);
    output_table_close(&s.table);
    if (code == EXIT_FINE && !s.json)
        print_end(&s);
    tenure_close(s.t);
    return output_finish(code);
}
