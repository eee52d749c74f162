#include "core/pulse.h"

#include <assert.h>

void pulse_start(struct pulse *p, const struct timing *timing, struct instant sent)
{
    *p = (struct pulse){
        .timing = *timing,
        .state = PULSE_SAFE,
        .sent = sent,
        .attempted = sent,
        .next = instant_add(sent, timing->renew),
    };
}

struct instant pulse_deadline(const struct pulse *p)
{
    if (p->state == PULSE_IDLE)
        return INSTANT_NEVER;
    return instant_add(p->sent, p->timing.deadline);
}

static bool is_over(const struct pulse *p)
{
    return p->state == PULSE_IDLE || p->state == PULSE_LOST;
}

/* The state that the clock alone brings about; never back from lost. */
static void age(struct pulse *p, struct instant now)
{
    if (is_over(p))
        return;
    if (instant_reached(now, pulse_deadline(p)))
        p->state = PULSE_LOST;
    else if (instant_reached(now, instant_add(p->sent, p->timing.doubt)))
        p->state = PULSE_DOUBTFUL;
}

struct instant pulse_edge(const struct pulse *p)
{
    if (is_over(p))
        return INSTANT_NEVER;
    struct instant doubt = instant_add(p->sent, p->timing.doubt);
    return p->state == PULSE_SAFE ? doubt : pulse_deadline(p);
}

static struct instant next_look(const struct pulse *p)
{
    if (is_over(p))
        return INSTANT_NEVER;
    struct instant due =
        p->in_flight ? instant_add(p->attempted, p->timing.attempt) : p->next;
    return instant_min(pulse_edge(p), due);
}

struct pulse_plan pulse_step(struct pulse *p, struct instant now)
{
    struct pulse_plan plan = {.before = p->state};
    age(p, now);
    plan.after = p->state;
    if (!is_over(p)) {
        bool overdue = instant_reached(now, instant_add(p->attempted, p->timing.attempt));
        plan.abandon = p->in_flight && overdue;
        if (plan.abandon) {
            p->in_flight = false;
            p->next = now;
        }
        plan.renew = !p->in_flight && instant_reached(now, p->next);
    }
    plan.next = next_look(p);
    return plan;
}

void pulse_sent(struct pulse *p, struct instant now)
{
    assert(!is_over(p) && !p->in_flight);
    p->in_flight = true;
    p->attempted = now;
}

void pulse_answered(struct pulse *p, struct instant now, enum pulse_answer answer)
{
    if (is_over(p))
        return;
    p->in_flight = false;
    age(p, now);
    if (p->state == PULSE_LOST)
        return;
    switch (answer) {
    case PULSE_RENEWED:
        p->sent = p->attempted;
        p->state = PULSE_SAFE;
        p->next = instant_add(p->sent, p->timing.renew);
        age(p, now); /* an answer that took longer than ttl/2 does not end the doubt */
        break;
    case PULSE_DEAD:
        p->state = PULSE_LOST;
        break;
    case PULSE_SILENT:
        p->next = instant_add(now, SPAN(p->timing.attempt.ms / 2));
        break;
    }
}
