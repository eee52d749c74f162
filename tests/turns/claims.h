/* tests/turns/claims.h - claims of a script: asked for, heard of, looked at. */
#ifndef TESTS_TURNS_CLAIMS_H
#define TESTS_TURNS_CLAIMS_H

#include <string.h>

#include "script.h"

static tenure_error err;

static inline tenure_claim *held(tenure *t, const char *name)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c = NULL;
    terms.wait_ms = 0;
    return tenure_acquire(t, name, &terms, &c, &err) == 0 ? c : NULL;
}

static inline tenure_claim *asked(tenure *t, const char *name)
{
    tenure_claim *c = NULL;
    return tenure_ask(t, name, NULL, &c, &err) == 0 ? c : NULL;
}

static inline tenure_claim *asked_later(tenure *t, const char *name, unsigned permits)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c = NULL;
    terms.later = true;
    terms.permits = permits;
    return tenure_ask(t, name, &terms, &c, &err) == 0 ? c : NULL;
}

static inline bool heard(tenure *t, const tenure_claim *c, tenure_event_kind kind, int code)
{
    tenure_event e;
    bool found = false;
    while (tenure_next_event(t, &e) > 0)
        found |= e.claim == c && e.kind == kind && e.code == code;
    return found;
}

struct seen {
    size_t tickets, past;
    char cause[16];
};

static inline bool see(void *arg, const tenure_name_info *info)
{
    struct seen *s = arg;
    s->tickets = info->ticket_count;
    s->past = info->past_count;
    if (s->past > 0)
        strncpy(s->cause, info->past[0].cause, sizeof s->cause - 1);
    return true;
}

static inline struct seen look_at(tenure *t, const char *name)
{
    struct seen s = {0};
    if (tenure_look(t, name, see, &s, &err) < 0)
        s.tickets = 99;
    return s;
}

#endif
