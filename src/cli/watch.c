/* cli/watch.c - tenure watch: one JSON line for each change.
 *
 * A hint only says that something may have changed, so the whole prefix is looked at and compared
 * with what was there before.  A picture of the store is kept as JSON itself:
 *
 *     { NAME: { "tickets": { TICKET: {state, token, as, ...} }, "past": { TOKEN: {...} } } }
 *
 * Tickets are unique for ever, and so are the tokens of a name, so nothing is taken for
 * something else, and a tenure that came and went between two looks is found in the past.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/describe.h"
#include "cli/exit.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "os/clock.h"

struct watch {
    const char *prefix;
    json_t *before, *now;
    bool initial; /* what is seen began before the watch did */
};

/* ---- the picture ---------------------------------------------------------------------------- */

static const char *token_text(uint64_t token, char buf[24])
{
    snprintf(buf, 24, "%" PRIu64, token);
    return buf;
}

static bool picture_add(void *arg, const tenure_name_info *info)
{
    struct watch *w = arg;
    char token[24];
    json_t *tickets = json_object(), *past = json_object(), *name = json_object();
    for (size_t i = 0; i < info->ticket_count; i++)
        output_set(tickets, info->tickets[i].ticket, ticket_json(&info->tickets[i]));
    for (size_t i = info->past_count; i > 0; i--) /* the oldest first */
        output_set(past, token_text(info->past[i - 1].token, token),
                            past_json(&info->past[i - 1]));
    output_set_text(name, "kind", kind_text(info->kind));
    output_set(name, "tickets", tickets);
    output_set(name, "past", past);
    output_set(w->now, info->name, name);
    return true;
}

/* ---- what changed --------------------------------------------------------------------------- */

static const char *text_of_key(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* Prints one event: `details` (borrowed) with its time, name and kind of change. */
static void emit(const struct watch *w, const char *name, const char *event, json_t *details)
{
    char at[OUTPUT_TIME_BYTES];
    json_t *o = json_object();
    output_set_text(o, "at", output_time_utc(clock_wall_ms(), at));
    output_set_text(o, "name", name);
    output_set_text(o, "event", event);
    if (w->initial)
        output_set(o, "initial", json_true());
    output_update(o, details);
    output_json(o, true);
}

static bool holds(json_t *ticket)
{
    return json_is_string(json_object_get(ticket, "token_text"));
}

/* The event for a state that a ticket came into. */
static const char *event_of(json_t *ticket)
{
    const char *state = text_of_key(ticket, "state");
    if (strcmp(state, "waiting") == 0)
        return "asked";
    return strcmp(state, "held") == 0 ? "granted" : state;
}

static void diff_ticket(const struct watch *w, const char *name, json_t *old, json_t *new)
{
    const char *event = event_of(new);
    bool granted = holds(new) && !(old && holds(old));
    if (granted)
        emit(w, name, "granted", new);
    if ((!old || strcmp(event_of(old), event) != 0) && strcmp(event, "granted") != 0)
        emit(w, name, event, new);
    if (old && strcmp(text_of_key(old, "value"), text_of_key(new, "value")) != 0)
        emit(w, name, "published", new);
}

/* A ticket that is gone: how a tenure ended is in the past of its name, if it reaches back. */
static void diff_gone(const struct watch *w, const char *name, json_t *old, json_t *past)
{
    if (!holds(old)) {
        emit(w, name, "left", old);
        return;
    }
    json_t *end = json_object_get(past, text_of_key(old, "token_text"));
    json_t *details = json_copy(old);
    if (end)
        output_update(details, end);
    else
        output_set_text(details, "cause", "unknown");
    json_object_del(details, "state");
    emit(w, name, "ended", details);
    json_decref(details);
}

static bool held_before(json_t *tickets, const char *token)
{
    const char *id;
    json_t *ticket;
    json_object_foreach(tickets, id, ticket)
        if (strcmp(text_of_key(ticket, "token_text"), token) == 0)
            return true;
    return false;
}

/* Tenures that began and ended since the last look. */
static void diff_past(const struct watch *w, const char *name, json_t *old, json_t *new)
{
    json_t *known = json_object_get(old, "past"), *tickets = json_object_get(old, "tickets");
    const char *token;
    json_t *end;
    if (w->initial)
        return;
    json_object_foreach(json_object_get(new, "past"), token, end)
    {
        if (json_object_get(known, token) || held_before(tickets, token))
            continue;
        emit(w, name, "granted", end);
        emit(w, name, "ended", end);
    }
}

static void diff_name(const struct watch *w, const char *name, json_t *old, json_t *new)
{
    json_t *had = json_object_get(old, "tickets"), *has = json_object_get(new, "tickets");
    const char *id;
    json_t *ticket;
    json_object_foreach(had, id, ticket)
        if (!json_object_get(has, id))
            diff_gone(w, name, ticket, json_object_get(new, "past"));
    diff_past(w, name, old, new);
    json_object_foreach(has, id, ticket)
        diff_ticket(w, name, json_object_get(had, id), ticket);
}

static void diff(const struct watch *w)
{
    const char *name;
    json_t *record;
    json_object_foreach(w->before, name, record)
        if (!json_object_get(w->now, name))
            diff_name(w, name, record, NULL);
    json_object_foreach(w->now, name, record)
        diff_name(w, name, json_object_get(w->before, name), record);
}

/* ---- looking -------------------------------------------------------------------------------- */

static int look(void *arg, tenure *t, tenure_error *err)
{
    struct watch *w = arg;
    w->now = json_object();
    int code = tenure_look(t, w->prefix, picture_add, w, err);
    if (code < 0) {
        json_decref(w->now);
        return code;
    }
    diff(w);
    json_decref(w->before);
    w->before = w->now;
    w->initial = false;
    return 0;
}

int command_watch(struct invocation *inv)
{
    struct watch w = {
        .prefix = inv->operand[0] ? inv->operand[0] : "",
        .before = json_object(),
    };
    bool new;
    tenure *t;
    int code = client_open_to_watch(inv, &t, &new);
    if (code == EXIT_FINE) {
        w.initial = !new;
        code = client_watch(t, look, &w);
        tenure_close(t);
    }
    json_decref(w.before);
    return output_finish(code);
}
