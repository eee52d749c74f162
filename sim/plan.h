/* sim/plan.h - what kind of run a seed stands for: who takes part, and which faults may happen.
 *
 * Swarm testing (Groce et al. 2012): each run enables a random subset of the faults, because a
 * mixture of everything hides what a few alone would show.
 */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include <tenure/tenure.h>

#include "sim/random.h"

#define PLAN_NAMES_MAX 3
#define PLAN_ACTORS_MAX 6

enum fault {
    FAULT_LOSS = 1u << 0,         /* a share of all messages is lost */
    FAULT_DUPLICATE = 1u << 1,    /* ... is delivered twice */
    FAULT_DELAY = 1u << 2,        /* ... takes up to seconds, and is overtaken */
    FAULT_PARTITION = 1u << 3,    /* a host and the store cannot talk, in one or both directions */
    FAULT_PAUSE = 1u << 4,        /* nothing runs on a host for a while; its clock goes on */
    FAULT_CRASH = 1u << 5,        /* a host vanishes, and may come back */
    FAULT_STORE_CRASH = 1u << 6,  /* the store restarts */
    FAULT_STORE_STALL = 1u << 7,  /* the store answers nothing for a while */
    FAULT_RESTORE = 1u << 8,      /* the store is replaced by an old copy of itself */
    FAULT_REMOVE = 1u << 9,       /* a record is deleted behind everybody's back */
    FAULT_HINTS = 1u << 10,       /* most hints are lost */
    FAULT_HANG = 1u << 11,        /* a program computes and neither checks nor processes */
    FAULT_DRIFT = 1u << 12,       /* clocks run at different speeds, within the bound */
    FAULT_BEYOND = 1u << 13,      /* ... beyond it: P3 is measured, not demanded */
    FAULT_STORE_ERROR = 1u << 14, /* the store refuses: busy, full, or it does not know */
    FAULT_WALL = 1u << 15,        /* wall clocks are stepped */
    FAULT_MACHINE = 1u << 16,     /* embedded: the machine dies, and its last commits */
};
#define FAULT_COUNT 17

struct plan {
    uint64_t seed;
    unsigned faults;
    bool embedded; /* the store is on the machine of its users, and answers at once */
    bool attentive; /* every claim is checked after every event, not only when its owner does */
    bool tells; /* who is rung is told what was committed, and it hears of deletions */
    bool announce; /* a holder announces its token to the resource before it writes */
    int actors;
    int names;
    struct {
        char name[24];
        tenure_kind kind;
        unsigned permits;
        bool mixes_shared;
    } name[PLAN_NAMES_MAX];
    struct {
        int64_t ttl_ms;
        int64_t max_silence_ms;
        bool pump;
    } actor[PLAN_ACTORS_MAX];
    int64_t longest_ttl_ms; /* of all sessions and leases */
    int64_t chaos_us;
    uint64_t steps;
    unsigned loss, duplicate, delay; /* per mille of the messages */
    unsigned store_error;            /* per mille of the operations */
};

/* Draws the plan of a seed. */
void plan_draw(struct plan *p, uint64_t seed);

static inline bool plan_has(const struct plan *p, enum fault fault)
{
    return (p->faults & fault) != 0;
}

/* "loss", "duplicate", ...: the fault with this number. */
const char *plan_fault_text(int number);

#endif
