/* lib/turn.c - one turn of a handle, waiting for the next, and the pump. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/handle.h"
#include "os/clock.h"

/* ---- turning -------------------------------------------------------------------------------- */

void handle_arm(tenure *t, struct instant next)
{
    if (next.ms >= t->due.ms)
        return;
    t->due = next;
    if (!t->told)
        waiter_arm(&t->waiter, next);
}

/* Asks for process(), whatever is due: for an event loop, and for who waits. */
static void tell(tenure *t)
{
    t->told = true;
    waiter_arm(&t->waiter, INSTANT(0));
}

struct instant handle_store_due(tenure *t)
{
    struct instant due = t->store->ops->due(t->store);
    if (due.ms > 0)
        return due;
    if (!t->told)
        tell(t);
    return INSTANT_NEVER;
}

static void take_hints(tenure *t)
{
    struct store_hint hint;
    while (t->store->ops->next_hint(t->store, &hint)) {
        t->changed = true;
        if (hint.ended != 0) {
            session_ended(t, hint.ended);
            continue;
        }
        for (tenure_claim *c = t->claims; c; c = c->next) {
            bool waits = c->phase == PHASE_WAITING || c->phase == PHASE_ASKING;
            bool holds = c->phase == PHASE_HELD;
            /* An "all" hint only says that something moved somewhere: who holds learns of what
             * concerns it by its own hints and its renewals. */
            if (hint.all ? waits : (waits || holds) && hint.key_hash == c->key_hash) {
                c->look_due = true;
                watch_hinted(c);
            }
        }
    }
}

/* An embedded store that is stuck takes its time for each question: the first one that took half
 * an attempt is the last one of this turn. */
static struct instant claims_turn(tenure *t, struct instant now)
{
    struct instant next = INSTANT_NEVER;
    struct instant late = instant_add(now, SPAN(t->timing.attempt.ms / 2));
    bool is_late = false;
    for (tenure_claim *c = t->claims; c; c = t->following) {
        uint64_t questions = t->questions;
        t->following = c->next; /* one that has left is freed in its turn, or in another one's */
        if (is_late)
            claim_catch_up(c, now);
        else
            next = instant_min(next, claim_turn(c, now));
        if (t->questions != questions && instant_reached(now = clock_now(), late))
            is_late = true;
    }
    return is_late ? INSTANT(0) : instant_min(next, leave_due(t));
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
    t->told = false;
    t->due = instant_min(next, handle_store_due(t));
    if (!t->told)
        waiter_arm(&t->waiter, t->due);
}

/* ---- who sleeps ------------------------------------------------------------------------------
 *
 * While one thread is in poll() on behalf of all, the others sleep, each on a condition of its own.
 * Whoever gives up the mutex wakes the next one who has news, and when nobody turns any more, one
 * who shall: so nobody is woken for nothing, and none of them finds the mutex taken by those who
 * were woken with it.  Two may be on their way at once, so that one that is slow holds up none. */

#define AWAKENING_MAX 2

/* All that anybody who waits for something about a claim can wait for. */
struct sight {
    enum phase phase;
    enum claim_question question;
    struct instant sent; /* the question */
    int standing, trouble, trouble_of_session;
    bool refused, session_is_ready;
};

struct sleeper {
    struct sleeper *next;
    const tenure_claim *claim; /* NULL: it wants to see each turn */
    struct sight sight;        /* when it fell asleep */
    bool stale, woken;         /* a turn was made since; it was told to get up */
    pthread_cond_t wake;
};

static struct sight sight_of(const tenure *t, const tenure_claim *c)
{
    struct sight s = {.session_is_ready = session_is_ready(t)};
    s.trouble_of_session = t->session.trouble.code;
    if (!c)
        return s;
    s.phase = c->phase;
    s.question = c->question;
    s.sent = c->sent;
    s.standing = atomic_load(&c->standing);
    s.trouble = c->trouble.code;
    s.refused = c->refused;
    return s;
}

static bool is_news(const struct sight *a, const struct sight *b)
{
    return a->phase != b->phase || a->question != b->question || a->standing != b->standing ||
           a->trouble != b->trouble || a->trouble_of_session != b->trouble_of_session ||
           a->sent.ms != b->sent.ms || a->refused != b->refused ||
           a->session_is_ready != b->session_is_ready;
}

static bool is_concerned(const tenure *t, const struct sleeper *s)
{
    struct sight sight = sight_of(t, s->claim);
    return s->claim ? is_news(&s->sight, &sight) : s->stale;
}

/* Another thread may have made the turn that brought news of what the one in poll() waits for, and
 * taken what that one would have woken up for. */
static void nudge_turner(tenure *t)
{
    if (!t->turner || t->nudged || !is_concerned(t, t->turner))
        return;
    t->nudged = true;
    waiter_nudge(&t->waiter);
}

/* The mutex is about to be given up. */
static void wake_next(tenure *t)
{
    struct sleeper *next = NULL, *any = NULL;
    nudge_turner(t);
    for (struct sleeper *s = t->sleepers; s && !next && t->awakening < AWAKENING_MAX; s = s->next) {
        if (!s->woken && is_concerned(t, s))
            next = s;
        else if (!s->woken)
            any = s;
    }
    if (!next && !t->turner && t->awakening == 0)
        next = any;
    if (!next)
        return;
    next->woken = true;
    t->awakening++;
    pthread_cond_signal(&next->wake);
}

static void turn_for_all(tenure *t)
{
    handle_turn(t);
    for (struct sleeper *s = t->sleepers; s; s = s->next)
        s->stale = true;
    if (t->turner)
        t->turner->stale = true;
}

/* ---- coming and going ------------------------------------------------------------------------ */

bool handle_enter(tenure *t)
{
    if (!handle_is_ours(t))
        return false;
    pthread_mutex_lock(&t->mutex);
    if (session_is_ready(t) && instant_reached(clock_now(), t->due))
        turn_for_all(t);
    return true;
}

/* An event that came with another call is work for tenure_process(): else an event loop would not
 * look for it before something else is due. */
static void tell_loop(tenure *t)
{
    if (!t->unheard || t->fetching || t->told || t->pump_runs || !atomic_load(&t->polled))
        return;
    tell(t);
}

void handle_leave(tenure *t)
{
    tell_loop(t);
    wake_next(t);
    pthread_mutex_unlock(&t->mutex);
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Another thread is in poll(): it turns for us, too. */
static void sleep_until(tenure *t, struct sleeper *s, struct instant until)
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
    pthread_cond_timedwait(&s->wake, &t->mutex, &end);
}

static void sleep_on(tenure *t, tenure_claim *c, struct instant until)
{
    struct sleeper self = {.next = t->sleepers, .claim = c, .sight = sight_of(t, c)}, **at;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&self.wake, &attr);
    pthread_condattr_destroy(&attr);
    t->sleepers = &self;
    wake_next(t);
    sleep_until(t, &self, until);
    for (at = &t->sleepers; *at != &self; at = &(*at)->next)
        continue;
    *at = self.next;
    if (self.woken)
        t->awakening--;
    pthread_cond_destroy(&self.wake);
}

/* Whoever comes while nobody turns does it; else who sleeps would miss what it waits for. */
static void wait_about(tenure *t, tenure_claim *c, struct instant until)
{
    handle_arm(t, handle_store_due(t)); /* for what was asked since the last turn */
    if (t->turner) {
        sleep_on(t, c, until);
        return;
    }
    struct sleeper self = {.claim = c, .sight = sight_of(t, c)};
    t->turner = &self;
    wake_next(t);
    pthread_mutex_unlock(&t->mutex);
    bool readable = waiter_wait(&t->waiter, until);
    pthread_mutex_lock(&t->mutex);
    t->turner = NULL;
    t->nudged = false;
    if (readable)
        waiter_drain(&t->waiter);
    turn_for_all(t);
}

void handle_wait(tenure *t, struct instant until)
{
    wait_about(t, NULL, until);
}

void claim_wait(tenure_claim *c, struct instant until)
{
    wait_about(c->handle, c, until);
}

/* ---- the public side ------------------------------------------------------------------------ */

EXPORT int tenure_fd(const tenure *t)
{
    tenure *known = (tenure *)(uintptr_t)t; /* it is the same for who calls */
    if (!atomic_exchange(&known->polled, true) && handle_is_ours(t)) {
        pthread_mutex_lock(&known->mutex);
        tell_loop(known);
        pthread_mutex_unlock(&known->mutex);
    }
    return t->waiter.fd;
}

EXPORT int tenure_process(tenure *t)
{
    if (!handle_is_ours(t))
        return TENURE_FORKED;
    pthread_mutex_lock(&t->mutex);
    waiter_drain(&t->waiter);
    turn_for_all(t);
    if (t->told && !t->pump_runs && !atomic_load(&t->polled))
        turn_for_all(t); /* nobody would hear of it before the next call */
    t->fetching = true;
    wake_next(t);
    pthread_mutex_unlock(&t->mutex);
    return 0;
}

/* Events of one claim come in this order. */
static const tenure_event_kind event_order[] = {
    TENURE_EVENT_GRANTED,       TENURE_EVENT_DOUBTFUL, TENURE_EVENT_SAFE,
    TENURE_EVENT_ASKED_TO_STOP, TENURE_EVENT_LOST,     TENURE_EVENT_REFUSED,
};

/* Why, of an event after which another one was noted. */
static const char *earlier_reason(tenure_event_kind kind)
{
    static const char *const text[] = {
        [TENURE_EVENT_GRANTED] = "granted",
        [TENURE_EVENT_DOUBTFUL] = "no renewal since half the ttl",
        [TENURE_EVENT_SAFE] = "renewed",
        [TENURE_EVENT_ASKED_TO_STOP] = "told to stop",
        [TENURE_EVENT_LOST] = "lost",
        [TENURE_EVENT_REFUSED] = "refused",
    };
    return text[kind];
}

static bool take_event(tenure_claim *c, tenure_event *ret)
{
    for (size_t i = 0; i < sizeof event_order / sizeof event_order[0]; i++) {
        unsigned bit = 1u << event_order[i];
        if (!(c->pending & bit))
            continue;
        c->pending &= ~bit;
        ret->kind = event_order[i];
        ret->claim = c;
        ret->code = ret->kind == TENURE_EVENT_LOST      ? atomic_load(&c->standing)
                    : ret->kind == TENURE_EVENT_REFUSED ? c->trouble.code
                                                        : 0;
        snprintf(ret->reason, sizeof ret->reason, "%s",
                 ret->kind == c->reason_of ? c->reason : earlier_reason(ret->kind));
        return true;
    }
    return false;
}

/* Claims are heard one after the other: else who gets what it asks for again at once, as in a store
 * of this machine, would be the only one.  New ones come in at the front, so it is remembered who
 * is next, not who was last. */
static bool next_event(tenure *t, tenure_event *ret)
{
    tenure_claim *first = t->heard_next ? t->heard_next : t->claims;
    for (tenure_claim *c = first; c;) {
        if (c->phase != PHASE_LEAVING && !c->hidden && take_event(c, ret)) {
            t->heard_next = c->next;
            return true;
        }
        c = c->next ? c->next : t->claims;
        if (c == first)
            break;
    }
    return false;
}

EXPORT int tenure_next_event(tenure *t, tenure_event *ret)
{
    if (!handle_is_ours(t))
        return TENURE_FORKED;
    pthread_mutex_lock(&t->mutex);
    bool found = next_event(t, ret);
    t->fetching = found;
    t->unheard = t->unheard && found;
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
