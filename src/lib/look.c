/* lib/look.c - who holds what, since when, who waits, what was; and when to look again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/handle.h"
#include "os/clock.h"

/* Strings with an end, made from borrowed texts: one block per record, reused. */
struct looker {
    struct claim *claim;
    tenure_look_fn *fn;
    void *arg;
    char *block;
    size_t size, used;
    tenure_ticket_info *tickets; /* CLAIM_TICKETS_MAX of them */
    tenure_past_info past[CLAIM_PAST_MAX];
    int code;
    tenure_error *err;
};

static const char *string(struct looker *l, struct text t)
{
    char *s = l->block + l->used;
    if (t.len > 0)
        memcpy(s, t.at, t.len);
    s[t.len] = '\0';
    l->used += t.len + 1;
    return s;
}

/* Room for every text of the record, each with its end, and every ticket's id. */
static bool make_room(struct looker *l, size_t record_len)
{
    size_t need = record_len + 64 * (size_t)(l->claim->ticket_count + l->claim->past_count + 4);
    l->used = 0;
    if (need <= l->size)
        return true;
    char *block = realloc(l->block, need);
    if (!block)
        return false;
    l->block = block;
    l->size = need;
    return true;
}

static void show_ticket(struct looker *l, const struct ticket *t, struct facts *f,
                        tenure_ticket_info *info)
{
    char id[48] = "";
    struct instant until = INSTANT_NEVER;
    enum liveness alive = LIVE;
    if (t->id.session != 0) {
        alive = f->liveness(f->oracle, t->id.session, &until);
        snprintf(id, sizeof id, "%llu.%llu", (unsigned long long)t->id.session,
                 (unsigned long long)t->id.serial);
    } else {
        snprintf(id, sizeof id, "0.%llu", (unsigned long long)t->id.serial);
    }
    if (f->unheard && t->id.session != 0 && alive == LIVE)
        until = instant_add(f->now, t->ttl); /* at most: when it was heard of is not known */
    until = instant_min(until, t->until);
    int64_t left = until.ms == INSTANT_NEVER.ms ? INT64_MAX : instant_diff(f->now, until).ms;
    struct instant since = ticket_holds(t) ? t->granted : t->asked;
    int64_t age = instant_diff(since, f->now).ms;
    *info = (tenure_ticket_info){
        .state = t->state,
        .token = t->token,
        .ticket = string(l, text_of(id)),
        .as = string(l, t->as),
        .value = string(l, t->value),
        .shared = t->shared,
        .priority = t->priority,
        .ttl_ms = t->ttl.ms,
        .since_ms = age > 0 ? age : 0,
        .since_wall_ms = t->wall_ms,
        .left_ms = left > 0 ? left : 0,
        .alive = alive == LIVE && left > 0,
    };
}

static void show_past(struct looker *l, const struct past *p, tenure_past_info *info)
{
    static const struct text none;
    bool passed_on = cause_names_successor(p->cause);
    *info = (tenure_past_info){
        .token = p->token,
        .as = string(l, p->as),
        .cause = cause_text(p->cause),
        .by = string(l, p->by),
        .reason = string(l, passed_on ? none : p->reason),
        .successor = string(l, passed_on ? p->reason : none),
        .granted_wall_ms = p->granted_wall_ms,
        .ended_wall_ms = p->ended_wall_ms,
        .held_ms = p->held.ms,
        .vacant_ms = p->vacant.ms,
    };
}

static bool look_at(void *arg, const struct store_record *record, struct facts *f)
{
    struct looker *l = arg;
    struct claim *c = l->claim;
    enum record_flaw flaw = record_decode(record->bytes, record->len, c);
    if (flaw != RECORD_FINE) {
        l->code = error_set(l->err, flaw == RECORD_FOREIGN ? TENURE_FOREIGN : TENURE_CORRUPT,
                            "the record of %s cannot be used: %s", record->key,
                            record_flaw_text(flaw));
        return false;
    }
    if (!make_room(l, record->len)) {
        l->code = error_set(l->err, TENURE_NO_MEMORY, "out of memory");
        return false;
    }
    for (uint32_t i = 0; i < c->ticket_count; i++)
        show_ticket(l, &c->ticket[i], f, &l->tickets[i]);
    for (uint32_t i = 0; i < c->past_count; i++)
        show_past(l, &c->past[i], &l->past[i]);
    bool unknown = c->vacant_since.ms == INSTANT_NEVER.ms;
    tenure_name_info info = {
        .name = record->key,
        .kind = c->kind,
        .permits = c->permits,
        .grants = c->grants,
        .vacant_ms = unknown ? -1 : instant_diff(c->vacant_since, f->now).ms,
        .tickets = l->tickets,
        .ticket_count = c->ticket_count,
        .past = l->past,
        .past_count = c->past_count,
    };
    return l->fn(l->arg, &info);
}

static int look(tenure *t, const char *prefix, struct looker *l)
{
    struct store_read op = {.prefix = prefix, .after = NAMES_AFTER, .fn = look_at, .arg = l};
    int code = handle_read(t, &op, l->err);
    return l->code < 0 ? l->code : code;
}

EXPORT int tenure_look(tenure *t, const char *prefix, tenure_look_fn *fn, void *arg,
                       tenure_error *err)
{
    if (!handle_is_ours(t))
        return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    struct looker l = {.fn = fn, .arg = arg, .err = err};
    l.claim = malloc(sizeof *l.claim);
    l.tickets = malloc(CLAIM_TICKETS_MAX * sizeof *l.tickets);
    int code = TENURE_NO_MEMORY;
    if (l.claim && l.tickets) {
        handle_enter(t);
        code = look(t, prefix ? prefix : "", &l);
        handle_leave(t);
    } else {
        error_set(err, code, "out of memory");
    }
    free(l.claim);
    free(l.tickets);
    free(l.block);
    return code;
}

/* ---- watching -------------------------------------------------------------------------------- */

EXPORT int tenure_watch(tenure *t, int64_t wait_ms, tenure_error *err)
{
    struct instant limit =
        wait_ms < 0 ? INSTANT_NEVER : instant_add(clock_now(), SPAN(wait_ms));
    int code = 0;
    if (!handle_enter(t))
        return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    if (!t->watching) {
        code = t->store->ops->watch_all(t->store, true, err);
        t->watching = code == 0;
        t->changed = true; /* what was looked at before may be old */
    }
    while (code == 0 && !t->changed && !instant_reached(clock_now(), limit))
        handle_wait(t, limit);
    if (code == 0 && t->changed)
        code = 1;
    t->changed = false;
    handle_leave(t);
    return code;
}

EXPORT const char *tenure_where(const tenure *t)
{
    return handle_is_ours(t) ? t->store->ops->url(t->store) : "";
}

EXPORT int tenure_examine(tenure *t, tenure_examine_fn *fn, void *arg, tenure_error *err)
{
    if (!handle_enter(t))
        return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    t->store->ops->examine(t->store, fn, arg);
    handle_leave(t);
    return 0;
}
