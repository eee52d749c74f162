/* sim/judge.c - what the records say: each change of one is compared with what it replaces. */
#include "sim/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/record.h"

#define TICKETS_MAX 8192

enum end { END_NONE, END_LEFT, END_DEAD, END_TOLD, END_DROPPED, END_REPLACED };

/* The life of a ticket, as the records showed it. */
struct life {
    struct ticket_id id;
    int name;
    uint64_t token;
    bool present, holds, ending, shared, given_up;
    bool told; /* it was once told to stop */
    bool excused; /* it was in a record that was replaced */
    enum end end;
};

struct tally tally;

static struct {
    struct life life[TICKETS_MAX];
    int lives;
    uint64_t highest[PLAN_NAMES_MAX];
    uint64_t commits[CLIENTS_MAX][DECIDE_SWEEP + 1];
} judge;

static struct claim old_claim, new_claim;

void judge_begin(void)
{
    memset(judge.highest, 0, sizeof judge.highest);
    memset(judge.commits, 0, sizeof judge.commits);
    judge.lives = 0;
    belief_begin();
}

uint64_t judge_commits(int client, enum decision_rule rule)
{
    return judge.commits[client][rule];
}

static struct life *life_find(struct ticket_id id, int name)
{
    for (int i = judge.lives - 1; i >= 0; i--) {
        if (ticket_id_equal(judge.life[i].id, id) && judge.life[i].name == name)
            return &judge.life[i];
    }
    return NULL;
}

static struct life *life_of_token(int name, uint64_t token)
{
    for (int i = judge.lives - 1; i >= 0; i--) {
        if (judge.life[i].name == name && judge.life[i].token == token && token != 0)
            return &judge.life[i];
    }
    return NULL;
}

static struct life *life_get(struct ticket_id id, int name)
{
    struct life *l = life_find(id, name);
    if (l)
        return l;
    if (judge.lives == TICKETS_MAX)
        abort(); /* a plan makes far fewer */
    judge.life[judge.lives] = (struct life){.id = id, .name = name};
    return &judge.life[judge.lives++];
}

bool judge_stands(int name, uint64_t token)
{
    const struct life *l = life_of_token(name, token);
    return l && l->holds;
}

bool judge_is_exclusive_ticket(int name, uint64_t token)
{
    const struct life *l = life_of_token(name, token);
    return world.plan.name[name].permits == 1 && !(l && l->shared);
}

bool judge_is_excused(int name, uint64_t token)
{
    const struct life *l = life_of_token(name, token);
    return l && l->excused;
}

/* ---- one change -------------------------------------------------------------------------- */

struct change {
    int name;
    const char *key;
    const struct request *q; /* NULL: behind everybody's back */
};

#define ID(t) (unsigned long long)(t)->id.session, (unsigned long long)(t)->id.serial

static void see_grant(const struct change *ch, const struct ticket *t, struct life *l)
{
    if (t->token <= judge.highest[ch->name])
        world_fail("P1", "%s: token %llu is granted, %llu was granted before", ch->key,
                   (unsigned long long)t->token, (unsigned long long)judge.highest[ch->name]);
    if (t->id.session != 0 && !server_session_is_alive(t->id.session))
        world_fail("P2", "%s: ticket %llu.%llu of a dead session is granted", ch->key, ID(t));
    if (l->given_up && !l->excused)
        world_fail("P2", "%s: ticket %llu.%llu was given up, and is granted", ch->key, ID(t));
    judge.highest[ch->name] = t->token;
    tally.grants++;
    world_trace("store", "grant", "%s token=%llu ticket=%llu.%llu to %.*s", ch->key,
                (unsigned long long)t->token, ID(t), (int)t->as.len, t->as.at);
}

static enum end end_of(const struct change *ch, const struct ticket *t)
{
    const struct mark *m = &ch->q->mark;
    bool named = ticket_id_equal(m->id, t->id);
    bool by_token = m->token == t->token && t->token != 0;
    if ((m->rule == DECIDE_LEAVE && named) ||
        (m->rule == DECIDE_ASK && ticket_id_equal(m->instead, t->id)))
        return END_LEFT;
    if (t->id.session != 0 && !server_session_is_alive(t->id.session))
        return END_DEAD;
    if (instant_reached(host_clock(&server_host), t->until))
        return t->end_cause != CAUSE_NONE ? END_TOLD : END_DEAD;
    if (t->id.session == 0 && by_token)
        return m->rule == DECIDE_LEASE_DROP ? END_DROPPED : m->rule == DECIDE_END ? END_TOLD
                                                                                  : END_NONE;
    return END_NONE;
}

static void see_absence(const struct change *ch, const struct ticket *t)
{
    struct life *l = life_get(t->id, ch->name);
    l->end = ch->q ? end_of(ch, t) : END_REPLACED;
    l->present = l->holds = l->ending = false;
    if (l->end == END_NONE)
        world_fail("P5", "%s: ticket %llu.%llu (token %llu) was taken out by rule %d of another",
                   ch->key, ID(t), (unsigned long long)t->token, (int)ch->q->mark.rule);
    if (t->token != 0)
        world_trace("store", "end", "%s token=%llu how=%d", ch->key, (unsigned long long)t->token,
                    (int)l->end);
}

/* What a change may do to a ticket that stays. */
static void see_stay(const struct change *ch, const struct ticket *was, const struct ticket *is)
{
    const struct mark *m = &ch->q->mark;
    if (was->priority != is->priority || !text_equal(was->as, is->as) ||
        was->shared != is->shared)
        world_fail("P5", "%s: the terms of ticket %llu.%llu changed", ch->key, ID(is));
    bool told = was->state != TENURE_TICKET_ENDING && is->state == TENURE_TICKET_ENDING;
    if (told && m->rule != DECIDE_RESIGN && m->rule != DECIDE_TRANSFER &&
        m->rule != DECIDE_ROLLBACK && !(m->rule == DECIDE_END && m->token == is->token))
        world_fail("P5", "%s: token %llu was told to stop by rule %d", ch->key,
                   (unsigned long long)is->token, (int)m->rule);
    if (is->until.ms != was->until.ms && is->id.session == 0 && !told &&
        !(m->rule == DECIDE_LEASE_RENEW && m->token == is->token) && m->rule != DECIDE_END)
        world_fail("P5", "%s: the end of lease %llu was moved by rule %d", ch->key,
                   (unsigned long long)is->token, (int)m->rule);
}

/* Who asks again with a ticket whose tenure is over, because it never heard of it, stands in line
 * again: that is another tenure. */
static bool is_same(const struct ticket *was, const struct ticket *is)
{
    return ticket_id_equal(was->id, is->id) && (was->token == 0 || was->token == is->token);
}

static const struct ticket *find_old(const struct ticket *is)
{
    for (uint32_t i = 0; i < old_claim.ticket_count; i++) {
        if (is_same(&old_claim.ticket[i], is))
            return &old_claim.ticket[i];
    }
    return NULL;
}

static bool stays(const struct ticket *was)
{
    for (uint32_t i = 0; i < new_claim.ticket_count; i++) {
        if (is_same(was, &new_claim.ticket[i]))
            return true;
    }
    return false;
}

static bool is_preferred(const struct ticket *t)
{
    char id[48];
    snprintf(id, sizeof id, "%llu.%llu", ID(t));
    return old_claim.prefer.len > 0 && (text_equal(old_claim.prefer, t->as) ||
                                        text_equal(old_claim.prefer, text_of(id)));
}

/* P8: nobody who waited before and waits now was in front of the one that was granted. */
static void see_order(const struct change *ch, const struct ticket *granted)
{
    const struct ticket *g = find_old(granted);
    if (is_preferred(granted))
        return;
    for (uint32_t i = claim_holders(&new_claim); i < new_claim.ticket_count; i++) {
        const struct ticket *w = &new_claim.ticket[i];
        const struct ticket *old = find_old(w);
        bool ahead = old && (w->priority > granted->priority ||
                             (w->priority == granted->priority && (!g || old < g)));
        if (ahead)
            world_fail("P8", "%s: ticket %llu.%llu is served before %llu.%llu", ch->key,
                       ID(granted), ID(w));
    }
}

/* P8: those who wait before and after are in the same order, and the rings are few. */
static void see_queue(const struct change *ch, unsigned grants)
{
    const struct ticket *last = NULL;
    for (uint32_t i = claim_holders(&new_claim); i < new_claim.ticket_count; i++) {
        const struct ticket *old = find_old(&new_claim.ticket[i]);
        if (!old)
            continue;
        if (last && old < last)
            world_fail("P8", "%s: the queue changed its order", ch->key);
        last = old;
    }
    if (ch->q && ch->q->ring_count > 3 + (int)grants)
        world_fail("P8", "%s: one change rings %d sessions", ch->key, ch->q->ring_count);
}

static void see_tickets(const struct change *ch)
{
    unsigned grants = 0;
    for (uint32_t i = 0; i < old_claim.ticket_count; i++) {
        if (!stays(&old_claim.ticket[i]))
            see_absence(ch, &old_claim.ticket[i]);
    }
    for (uint32_t i = 0; i < new_claim.ticket_count; i++) {
        const struct ticket *is = &new_claim.ticket[i], *was = find_old(is);
        struct life *l = life_get(is->id, ch->name);
        bool granted = is->token != 0 && (!was || was->token == 0);
        if (ch->q && granted) {
            see_grant(ch, is, l);
            see_order(ch, is);
            grants++;
        }
        if (ch->q && !was && l->given_up && !l->excused)
            world_fail("P2", "%s: ticket %llu.%llu was given up, and is there", ch->key, ID(is));
        if (ch->q && was)
            see_stay(ch, was, is);
        l->present = true;
        l->excused |= !ch->q;
        l->token = is->token;
        l->holds = is->token != 0;
        l->ending = is->state == TENURE_TICKET_ENDING;
        l->told |= l->ending;
        l->shared = is->shared;
    }
    if (ch->q)
        see_queue(ch, grants);
}

static void decode(const struct change *ch, const struct record_state *r, struct claim *c)
{
    if (record_decode(r->bytes, r->version ? r->len : 0, c) != RECORD_FINE)
        world_fail("P6", "%s: a record was written that cannot be read", ch->key);
}

void judge_commit(int name, const struct record_state *before, const struct record_state *after,
                  const struct request *q)
{
    struct change ch = {name, world.plan.name[name].name, q};
    judge.commits[q->client][q->mark.rule]++;
    if (q->what == STORE_KEEP)
        return;
    decode(&ch, before, &old_claim);
    decode(&ch, after, &new_claim);
    if (!world.failed)
        see_tickets(&ch);
    world_trace("store", "commit", "%s rule=%d client=%d tickets=%u last=%llu", ch.key,
                (int)q->mark.rule, q->client, new_claim.ticket_count,
                (unsigned long long)new_claim.last_token);
}

void judge_replaced(int name, const struct record_state *now)
{
    struct change ch = {name, world.plan.name[name].name, NULL};
    belief_replaced(name);
    for (int i = 0; i < judge.lives; i++) {
        struct life *l = &judge.life[i];
        if (l->name == name && l->present) {
            l->present = l->holds = l->ending = false;
            l->excused = true;
            l->end = END_REPLACED;
        }
    }
    old_claim.ticket_count = 0;
    decode(&ch, now, &new_claim);
    see_tickets(&ch);
}

void judge_session_ended(uint64_t session)
{
    (void)session; /* the records say what follows from it */
}

/* ---- answers ----------------------------------------------------------------------------- */

static struct life *life_of_text(const char *ticket)
{
    unsigned long long session, serial;
    if (sscanf(ticket, "%llu.%llu", &session, &serial) != 2)
        return NULL; /* it never had one */
    struct ticket_id id = {session, serial};
    for (int i = judge.lives - 1; i >= 0; i--) {
        if (ticket_id_equal(judge.life[i].id, id))
            return &judge.life[i];
    }
    return NULL;
}

void judge_released(const char *ticket, int code, bool stood)
{
    struct life *l = life_of_text(ticket);
    bool lost = tenure_class(code) == TENURE_CLASS_LOST;
    if (tenure_class(code) == TENURE_CLASS_UNSURE)
        tally.unsure++;
    if (!l)
        return;
    if (code == 0 && l->present && !l->excused)
        world_fail("P6", "ticket %s is released, and is still there", ticket);
    /* One that was told to stop may have run out of time while its ticket was on its way out. */
    bool ran_out = code == TENURE_EVICTED && l->told;
    if (lost && stood && !ran_out && l->end == END_LEFT)
        world_fail("P6", "ticket %s was reported as lost, but we released it", ticket);
    if (code == 0 || (lost && !l->present))
        l->given_up = true;
}

void judge_granted(const char *name, const char *ticket, tenure_token token)
{
    const struct life *l = life_of_text(ticket);
    if (!l || l->token != token || token == 0)
        world_fail("P6", "%s: ticket %s is said to be held with token %llu, the store gave %llu",
                   name, ticket, (unsigned long long)token,
                   (unsigned long long)(l ? l->token : 0));
}

void judge_operated(enum decision_rule rule, const char *name, tenure_token token, int code,
                    uint64_t commits)
{
    const struct life *l = life_of_token(server_name_index(name), token);
    bool stands = l && l->holds && !l->ending;
    if (tenure_class(code) == TENURE_CLASS_UNSURE) {
        tally.unsure++;
        return;
    }
    if (code == 0 && commits == 0)
        world_fail("P6", "%s: rule %d on token %llu is said to be done, and was not", name,
                   (int)rule, (unsigned long long)token);
    if (code == 0 && rule != DECIDE_LEASE_RENEW && stands)
        world_fail("P6", "%s: token %llu is said to have ended, and stands", name,
                   (unsigned long long)token);
    if (code < 0 && code != TENURE_NOT_OWNED && commits > 0)
        world_fail("P6", "%s: rule %d on token %llu is said to have failed, and was done", name,
                   (int)rule, (unsigned long long)token);
    if (code == TENURE_NOT_OWNED && stands && commits == 0 && !l->shared && l->id.session == 0)
        world_fail("P6", "%s: token %llu is said not to stand, and stands", name,
                   (unsigned long long)token);
}

void judge_admitted(int name, tenure_token token, tenure_token announced)
{
    tally.writes++;
    if (token < announced)
        world_fail("P10", "%s: a write under token %llu was admitted after %llu",
                   world.plan.name[name].name, (unsigned long long)token,
                   (unsigned long long)announced);
    if (token < judge.highest[name])
        tally.late_writes++; /* a successor was granted, but nobody told the resource yet */
}

void judge_look(void)
{
    belief_look();
}
