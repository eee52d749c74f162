#include "cli/describe.h"

#include <string.h>

#include "cli/output.h"

const char *kind_text(tenure_kind kind)
{
    switch (kind) {
    case TENURE_LOCK:
        return "lock";
    case TENURE_LEASE:
        return "lease";
    case TENURE_ELECTION:
        return "election";
    }
    return "unused";
}

const char *ticket_text(const tenure_ticket_info *t)
{
    if (!t->alive)
        return "dead";
    switch (t->state) {
    case TENURE_TICKET_WAITING:
        return "waiting";
    case TENURE_TICKET_HELD:
        return "held";
    case TENURE_TICKET_SERVING:
        return "serving";
    case TENURE_TICKET_ENDING:
        return "ending";
    }
    return "unknown";
}

size_t name_holders(const tenure_name_info *info)
{
    size_t n = 0;
    while (n < info->ticket_count && !ticket_waits(&info->tickets[n]))
        n++;
    return n;
}

json_t *ticket_json(const tenure_ticket_info *t)
{
    char since[OUTPUT_TIME_BYTES];
    json_t *o = json_object();
    output_set_text(o, "state", ticket_text(t));
    output_set_token(o, t->token);
    output_set_text(o, "ticket", t->ticket);
    output_set_text(o, "as", t->as);
    output_set_text(o, "value", t->value);
    output_set(o, "shared", json_boolean(t->shared));
    output_set_number(o, "priority", t->priority);
    output_set_number(o, "ttl_ms", t->ttl_ms);
    output_set_text(o, "since", output_time_utc(t->since_wall_ms, since));
    return o;
}

/* A length, or null for one that is not known. */
static void set_length(json_t *o, const char *key, int64_t ms)
{
    if (ms < 0)
        output_set_text(o, key, NULL);
    else
        output_set_number(o, key, ms);
}

json_t *past_json(const tenure_past_info *p)
{
    char time[OUTPUT_TIME_BYTES];
    json_t *o = json_object();
    output_set_token(o, p->token);
    output_set_text(o, "as", p->as);
    output_set_text(o, "from", output_time_utc(p->granted_wall_ms, time));
    output_set_text(o, "to", output_time_utc(p->ended_wall_ms, time));
    set_length(o, "held_ms", p->held_ms);
    set_length(o, "gap_ms", p->vacant_ms);
    output_set_text(o, "cause", p->cause);
    output_set_text(o, "by", p->by);
    output_set_text(o, "reason", p->reason);
    output_set_text(o, "successor", p->successor);
    return o;
}

struct exact {
    const char *name;
    tenure_look_fn *fn;
    void *arg;
};

/* In the order of names the prefix itself comes first, so one call decides. */
static bool take_exact(void *arg, const tenure_name_info *info)
{
    struct exact *e = arg;
    if (strcmp(info->name, e->name) == 0)
        e->fn(e->arg, info);
    return false;
}

int look_at(tenure *t, const char *name, tenure_look_fn *fn, void *arg, tenure_error *err)
{
    struct exact e = {name, fn, arg};
    return tenure_look(t, name, take_exact, &e, err);
}
