/* lib/turn.c - one turn of a handle, waiting for the next, and the pump. */
#include <string.h>
#include <time.h>

#include "lib/handle.h"
#include "os/clock.h"

/* ---- turning -------------------------------------------------------------------------------- */

void handle_arm(tenure *t, struct instant next)
{
    if (next.ms < t->waiter.armed.ms)
        waiter_arm(&t->waiter, next);
}

static void take_hints(tenure *t)
{
    struct store_hint hint;
    while (t->store->ops->next_hint(t->store, &hint)) {
        t->changed = true;
        for (tenure_claim *c = t->claims; c; c = c->next) {
            bool waits = c->phase == PHASE_WAITING || c->phase == PHASE_ASKING;
            bool holds = c->phase == PHASE_HELD;
            /* An "all" hint only says that something moved somewhere: who holds learns of what
             * concerns it by its own hints and its renewals. */
            if (hint.all ? waits : (waits || holds) && hint.key_hash == c->key_hash)
                c->look_due = true;
        }
    }
}

static struct instant claims_turn(tenure *t, struct instant now)
{
    struct instant next = INSTANT_NEVER;
    tenure_claim *following;
    for (tenure_claim *c = t->claims; c; c = following) {
        following = c->next; /* a claim that has left is freed in its turn */
        next = instant_min(next, claim_turn(c, now));
    }
    return next;
}

void handle_turn(tenure *t)
{
    t->store->ops->process(t->store);
    take_hints(t);
    struct instant next = session_turn(t, clock_now());
    next = instant_min(next, claims_turn(t, clock_now()));
    if (!session_is_ready(t)) { /* a claim may need one now */
        next = instant_min(next, session_turn(t, clock_now()));
        if (session_is_ready(t))
            next = instant_min(next, claims_turn(t, clock_now()));
    }
    next = instant_min(next, sweep_turn(t, clock_now()));
    waiter_arm(&t->waiter, instant_min(next, t->store->ops->due(t->store)));
}

bool handle_enter(tenure *t)
{
    if (!handle_is_ours(t))
        return false;
    pthread_mutex_lock(&t->mutex);
    if (session_is_ready(t) && instant_reached(clock_now(), t->waiter.armed))
        handle_turn(t);
    return true;
}

void handle_leave(tenure *t)
{
    pthread_mutex_unlock(&t->mutex);
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Another thread is in poll(): it turns for us, too. */
static void wait_for_other(tenure *t, struct instant until)
{
    struct timespec end;
    int64_t ms = instant_diff(clock_now(), until).ms;
    ms = ms < 0 ? 0 : ms > 3600000 ? 3600000 : ms + 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += ms % 1000 * 1000000L;
    if (end.tv_nsec >= 1000000000L) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000L;
    }
    pthread_cond_timedwait(&t->turned, &t->mutex, &end);
}

void handle_wait(tenure *t, struct instant until)
{
    if (t->turning) {
        wait_for_other(t, until);
        return;
    }
    handle_arm(t, t->store->ops->due(t->store)); /* for what was asked since the last turn */
    t->turning = true;
    pthread_mutex_unlock(&t->mutex);
    bool readable = waiter_wait(&t->waiter, until);
    pthread_mutex_lock(&t->mutex);
    t->turning = false;
    if (readable)
        waiter_drain(&t->waiter);
    handle_turn(t);
    pthread_cond_broadcast(&t->turned);
}

/* ---- the public side ------------------------------------------------------------------------ */

EXPORT int tenure_fd(const tenure *t)
{
    return t->waiter.fd;
}

EXPORT int tenure_process(tenure *t)
{
    if (!handle_is_ours(t))
        return TENURE_FORKED;
    pthread_mutex_lock(&t->mutex);
    waiter_drain(&t->waiter);
    handle_turn(t);
    pthread_cond_broadcast(&t->turned);
    pthread_mutex_unlock(&t->mutex);
    return 0;
}

/* Events of one claim come in this order. */
static const tenure_event_kind event_order[] = {
    TENURE_EVENT_GRANTED,       TENURE_EVENT_DOUBTFUL, TENURE_EVENT_SAFE,
    TENURE_EVENT_ASKED_TO_STOP, TENURE_EVENT_LOST,
};

static bool take_event(tenure_claim *c, tenure_event *ret)
{
    for (size_t i = 0; i < sizeof event_order / sizeof event_order[0]; i++) {
        unsigned bit = 1u << event_order[i];
        if (!(c->pending & bit))
            continue;
        c->pending &= ~bit;
        bool lost = event_order[i] == TENURE_EVENT_LOST;
        ret->kind = event_order[i];
        ret->claim = c;
        ret->code = lost ? atomic_load(&c->standing) : 0;
        memcpy(ret->reason, c->reason, sizeof ret->reason);
        return true;
    }
    return false;
}

EXPORT int tenure_next_event(tenure *t, tenure_event *ret)
{
    if (!handle_is_ours(t))
        return TENURE_FORKED;
    int found = 0;
    pthread_mutex_lock(&t->mutex);
    for (tenure_claim *c = t->claims; c && !found; c = c->next)
        found = c->phase != PHASE_LEAVING && take_event(c, ret);
    pthread_mutex_unlock(&t->mutex);
    return found;
}

EXPORT void tenure_checkin(tenure *t)
{
    atomic_store(&t->checkin_ms, clock_now().ms);
}

EXPORT void tenure_withhold(tenure *t, bool on)
{
    atomic_store(&t->withheld, on);
}

EXPORT int64_t tenure_now(void)
{
    return clock_now().ms;
}

EXPORT int tenure_lifeline(tenure *t)
{
    if (!handle_enter(t))
        return TENURE_FORKED;
    int fd = session_is_ready(t) ? store_lifeline(t->store) : -1;
    handle_leave(t);
    return fd;
}

EXPORT uint64_t tenure_session(tenure *t)
{
    if (!handle_enter(t))
        return 0;
    uint64_t id = session_is_ready(t) ? t->session.id : 0;
    handle_leave(t);
    return id;
}
