#include "core/claim.h"

#include <assert.h>

void claim_clear(struct claim *c)
{
    c->kind = 0;
    c->permits = 0;
    c->last_token = 0;
    c->grants = 0;
    c->vacant_since = INSTANT_NEVER;
    c->touched = INSTANT(0);
    c->prefer = (struct text){NULL, 0};
    c->ticket_count = 0;
    c->past_count = 0;
}

uint32_t claim_holders(const struct claim *c)
{
    uint32_t n = 0;
    while (n < c->ticket_count && ticket_holds(&c->ticket[n]))
        n++;
    return n;
}

static bool tickets_are_distinct(const struct claim *c, uint32_t at)
{
    const struct ticket *t = &c->ticket[at];
    for (uint32_t i = 0; i < at; i++) {
        const struct ticket *o = &c->ticket[i];
        if (ticket_id_equal(o->id, t->id) || (t->token != 0 && o->token == t->token))
            return false;
    }
    return true;
}

bool claim_check(const struct claim *c)
{
    if (c->ticket_count > CLAIM_TICKETS_MAX || c->past_count > CLAIM_PAST_MAX)
        return false;
    uint32_t holders = claim_holders(c);
    if (c->ticket_count > 0 && (c->permits == 0 || c->permits > CLAIM_PERMITS_MAX))
        return false;
    for (uint32_t i = 0; i < c->ticket_count; i++) {
        const struct ticket *t = &c->ticket[i];
        bool holds = ticket_holds(t);
        if (holds != (i < holders) || holds != (t->token != 0) || t->token > c->last_token)
            return false;
        if (holds && c->permits == 1 && !t->shared && holders > 1)
            return false;
        if (i < holders && !tickets_are_distinct(c, i))
            return false;
    }
    bool all_shared = holders > 0 && c->ticket[0].shared && c->permits == 1;
    return all_shared || holders <= c->permits;
}

bool claim_check_ids(const struct claim *c)
{
    for (uint32_t i = 0; i < c->ticket_count; i++) {
        if (!tickets_are_distinct(c, i))
            return false;
    }
    return claim_check(c);
}

struct ticket *claim_find(struct claim *c, struct ticket_id id)
{
    for (uint32_t i = 0; i < c->ticket_count; i++) {
        if (ticket_id_equal(c->ticket[i].id, id))
            return &c->ticket[i];
    }
    return NULL;
}

struct ticket *claim_find_token(struct claim *c, uint64_t token)
{
    for (uint32_t i = 0; token != 0 && i < c->ticket_count; i++) {
        if (c->ticket[i].token == token)
            return &c->ticket[i];
    }
    return NULL;
}

/* Takes the digits of v off the end of *text. */
static bool take_number(struct text *text, uint64_t v)
{
    do {
        if (text->len == 0 || text->at[text->len - 1] != (char)('0' + v % 10))
            return false;
        text->len--;
        v /= 10;
    } while (v != 0);
    return true;
}

bool ticket_is_named(const struct ticket *t, struct text name)
{
    if (!take_number(&name, t->id.serial) || name.len == 0 || name.at[name.len - 1] != '.')
        return false;
    name.len--;
    return take_number(&name, t->id.session) && name.len == 0;
}

bool ticket_is_meant(const struct ticket *t, struct text who)
{
    return ticket_is_named(t, who) || text_equal(t->as, who);
}

uint32_t claim_find_waiting(const struct claim *c, struct text who)
{
    uint32_t first = claim_holders(c);
    for (uint32_t i = first; i < c->ticket_count; i++) {
        if (ticket_is_named(&c->ticket[i], who))
            return i;
    }
    for (uint32_t i = first; i < c->ticket_count; i++) {
        if (text_equal(c->ticket[i].as, who))
            return i;
    }
    return c->ticket_count;
}

static void shift(struct claim *c, uint32_t from, uint32_t to, uint32_t n)
{
    memmove(&c->ticket[to], &c->ticket[from], n * sizeof c->ticket[0]);
}

void claim_enqueue(struct claim *c, const struct ticket *t)
{
    assert(c->ticket_count < CLAIM_TICKETS_MAX && !ticket_holds(t));
    uint32_t holders = claim_holders(c), at = c->ticket_count;
    while (at > holders && c->ticket[at - 1].priority < t->priority)
        at--;
    shift(c, at, at + 1, c->ticket_count - at);
    c->ticket[at] = *t;
    c->ticket_count++;
}

void claim_remove(struct claim *c, uint32_t at)
{
    assert(at < c->ticket_count);
    shift(c, at + 1, at, c->ticket_count - at - 1);
    c->ticket_count--;
}

struct ticket *claim_promote(struct claim *c, uint32_t at)
{
    uint32_t holders = claim_holders(c);
    assert(at >= holders && at < c->ticket_count);
    if (at > holders) {
        struct ticket t = c->ticket[at];
        shift(c, holders, holders + 1, at - holders);
        c->ticket[holders] = t;
    }
    return &c->ticket[holders];
}

void claim_remember(struct claim *c, const struct past *p)
{
    uint32_t keep = c->past_count < CLAIM_PAST_MAX ? c->past_count : CLAIM_PAST_MAX - 1;
    memmove(&c->past[1], &c->past[0], keep * sizeof c->past[0]);
    c->past[0] = *p;
    c->past_count = keep + 1;
}

uint64_t claim_succeeded(const struct claim *c, struct text to, struct text as,
                         uint64_t *former_token)
{
    const struct ticket *leader = claim_holders(c) > 0 ? &c->ticket[0] : NULL;
    if (leader && leader->token <= *former_token)
        return 0;
    if (leader && leader->state == TENURE_TICKET_SERVING && ticket_is_meant(leader, to))
        return leader->token;
    for (uint32_t i = 0; i < c->past_count && c->past[i].token > *former_token; i++) {
        const struct past *p = &c->past[i];
        bool by_itself = p->cause == CAUSE_RELEASED || p->cause == CAUSE_DIED ||
                         p->cause == CAUSE_EXPIRED;
        if (by_itself && p->reason.len == 0 && text_equal(p->as, as))
            return p->token;
    }
    if (leader && !ticket_is_meant(leader, to))
        *former_token = leader->token; /* of those who have its `as`, this is another one */
    return 0;
}

const char *cause_text(enum cause cause)
{
    static const char *const text[] = {"none",    "released", "died",        "expired",
                                       "evicted", "resigned", "transferred", "rolled back"};
    return cause <= CAUSE_LAST ? text[cause] : "unknown";
}

bool ticket_move_is_legal(tenure_ticket_state from, tenure_ticket_state to)
{
    static const unsigned legal[] = {
        [0] = 1u << TENURE_TICKET_WAITING | 1u << TENURE_TICKET_HELD, /* a lease is born held */
        [TENURE_TICKET_WAITING] = 1u << TENURE_TICKET_HELD,
        [TENURE_TICKET_HELD] = 1u << TENURE_TICKET_SERVING | 1u << TENURE_TICKET_ENDING,
        [TENURE_TICKET_SERVING] = 1u << TENURE_TICKET_ENDING,
        [TENURE_TICKET_ENDING] = 0,
    };
    return from <= TENURE_TICKET_ENDING && (legal[from] >> to & 1u);
}

void ticket_move(struct ticket *t, tenure_ticket_state to)
{
    assert(ticket_move_is_legal(t->state, to));
    t->state = to;
}

const char *ticket_state_text(tenure_ticket_state state)
{
    static const char *const text[] = {"new", "waiting", "held", "serving", "ending"};
    return state <= TENURE_TICKET_ENDING ? text[state] : "unknown";
}
