/* core/pulse.h - what a session may believe about itself.
 *
 * The holder's side of liveness, without a clock: it is told when a renewal was sent and how it
 * was answered, and says what is due.  Its one promise (P3, P4): from `deadline` on it is lost,
 * it says so whoever asks first, and no later answer revives it.
 */
#ifndef CORE_PULSE_H
#define CORE_PULSE_H

#include "core/timing.h"

enum pulse_state {
    PULSE_IDLE,     /* no session */
    PULSE_SAFE,     /* renewed in time */
    PULSE_DOUBTFUL, /* no success since ttl/2 */
    PULSE_LOST,     /* final */
};

enum pulse_answer {
    PULSE_RENEWED, /* the store extended the session */
    PULSE_DEAD,    /* the store says that the session is dead: as final as the deadline */
    PULSE_SILENT,  /* no answer, an error, or an attempt that was cut off */
};

struct pulse {
    struct timing timing;
    enum pulse_state state;
    bool in_flight;           /* a renewal is on its way */
    struct instant sent;      /* when the last successful one was sent */
    struct instant attempted; /* when the last one was sent */
    struct instant next;      /* when the next one is due */
};

/* What is due at an instant. */
struct pulse_plan {
    bool renew;   /* send a renewal now, on a fresh connection if `abandon` is set too */
    bool abandon; /* the attempt in flight has had its time: give it up */
    enum pulse_state before, after;
    struct instant next; /* call again at the latest then */
};

/* A session was opened by a request sent at `sent`. */
void pulse_start(struct pulse *p, const struct timing *timing, struct instant sent);

/* Brings the state up to `now` and says what is due.  Does not mark the renewal as sent. */
struct pulse_plan pulse_step(struct pulse *p, struct instant now);

/* A renewal left at `now`. */
void pulse_sent(struct pulse *p, struct instant now);

/* The renewal in flight was answered at `now`.  An answer after the deadline changes nothing. */
void pulse_answered(struct pulse *p, struct instant now, enum pulse_answer answer);

/* The next instant at which the clock alone changes the state: doubt, then the deadline. */
struct instant pulse_edge(const struct pulse *p);

/* From when on nothing may be believed; INSTANT_NEVER without a session. */
struct instant pulse_deadline(const struct pulse *p);

#endif
