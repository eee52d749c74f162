/* cli/history.c - tenure history: the last tenures of a name, the newest first. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/exit.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/say.h"
#include "core/claim.h"
#include "wire/duration.h"

static const char *const headings[] = {"TOKEN", "HOLDER",   "FROM", "TO",    "HELD",
                                       "GAP",   "ENDED BY", "WHO",  "REASON"};
enum { COLUMNS = 9 };

struct history {
    const char *name;
    bool json;
    size_t tenures;
    struct output_table table;
};

static const char *length(int64_t ms, char buf[DURATION_BYTES])
{
    return ms < 0 ? "-" : duration_format(SPAN(ms), buf);
}

static void show_past(struct history *h, const tenure_past_info *p)
{
    char token[24], from[OUTPUT_TIME_BYTES], to[OUTPUT_TIME_BYTES];
    char held[DURATION_BYTES], gap[DURATION_BYTES], to_whom[CLAIM_AS_BYTES_MAX + 4];
    h->tenures++;
    if (h->json) {
        json_t *o = past_json(p);
        output_set_text(o, "name", h->name);
        output_json(o, false);
        return;
    }
    snprintf(token, sizeof token, "%" PRIu64, p->token);
    snprintf(to_whom, sizeof to_whom, "to %s", p->successor);
    const char *cells[] = {token,
                           p->as,
                           output_time_local(p->granted_wall_ms, from),
                           output_time_local(p->ended_wall_ms, to),
                           length(p->held_ms, held),
                           length(p->vacant_ms, gap),
                           p->cause,
                           p->by,
                           *p->successor ? to_whom : p->reason};
    output_table_row(&h->table, cells);
}

/* A tenure that has not ended: everything but its end. */
static void show_present(struct history *h, const tenure_ticket_info *t)
{
    char token[24], from[OUTPUT_TIME_BYTES], held[DURATION_BYTES];
    h->tenures++;
    if (h->json) {
        json_t *o = json_object();
        output_set_token(o, t->token);
        output_set_text(o, "as", t->as);
        output_set_text(o, "from", output_time_utc(t->since_wall_ms, from));
        output_set_text(o, "to", NULL);
        output_set_number(o, "held_ms", t->since_ms);
        output_set_text(o, "gap_ms", NULL);
        output_set_text(o, "cause", NULL);
        output_set_text(o, "by", NULL);
        output_set_text(o, "reason", NULL);
        output_set_text(o, "successor", NULL);
        output_set_text(o, "name", h->name);
        output_json(o, false);
        return;
    }
    snprintf(token, sizeof token, "%" PRIu64, t->token);
    const char *cells[] = {token, t->as, output_time_local(t->since_wall_ms, from),
                           "",    length(t->since_ms, held), "", ticket_text(t), "", ""};
    output_table_row(&h->table, cells);
}

static bool show(void *arg, const tenure_name_info *info)
{
    struct history *h = arg;
    for (size_t i = name_holders(info); i > 0; i--)
        show_present(h, &info->tickets[i - 1]);
    for (size_t i = 0; i < info->past_count; i++)
        show_past(h, &info->past[i]);
    return false;
}

int command_history(struct invocation *inv)
{
    struct history h = {.name = inv->operand[0], .json = option_given(inv, OPT_JSON)};
    tenure *t;
    tenure_error err;
    int code = client_open(inv, NULL, &t);
    if (code != EXIT_FINE)
        return code;
    output_table_open(&h.table, COLUMNS, headings);
    if (look_at(t, h.name, show, &h, &err) < 0)
        code = client_fail(&err);
    output_table_close(&h.table);
    if (code == EXIT_FINE && h.tenures == 0)
        say_change("%s: no tenure is known", h.name);
    tenure_close(t);
    return output_finish(code);
}
