/* store/postgres_life.c - who is alive, and the clocks that this hangs on.
 *
 * A session is dead when somebody has written so (postgres.sql).  Its holder has stopped by its own
 * clock before anybody may do that, whatever the server's wall clock does meanwhile: it stops ttl,
 * less the drift bound, after it *sent* its last successful renewal.  To declare it dead, one of
 * these must hold:
 *
 *   watched    we have seen the same beat for its whole ttl, on our own CLOCK_BOOTTIME
 *   expired    it has expired on the server's clock, and that clock has kept step with ours since
 *              before the renewal: no step can have come in between
 *   suspect    it was found expired, this was written down, and it stayed silent for a ttl more.
 *              For those who only look in: it takes two steps within two ttl to fool them.
 *
 * The first needs no server's clock at all, so a step delays no take-over by who waits for longer
 * than to ttl after its first look. */
#include "store/postgres_engine.h"
#include "store/room.h"

#define STEP_SLACK_MS 5  /* the two clocks are read in whole milliseconds */
#define LOOK_AGAIN_MS 200 /* at who has expired, but may not be declared dead yet */

/* ---- the server's clock --------------------------------------------------------------------- */

static int64_t percent(int64_t ms)
{
    return (ms * TIMING_DRIFT_PERCENT + 99) / 100;
}

/* Whether the server's clock moved by as much as ours, between two readings. */
static bool in_step(const struct server_clock *c, struct instant at, struct instant sent,
                    struct instant received)
{
    int64_t moved = instant_diff(c->at, at).ms;
    int64_t least = instant_diff(c->received, sent).ms;
    int64_t most = instant_diff(c->sent, received).ms;
    return moved >= least - percent(least) - STEP_SLACK_MS &&
           moved <= most + percent(most) + STEP_SLACK_MS;
}

void clock_heard(struct pg_store *s, struct instant at, struct instant sent)
{
    struct server_clock *c = &s->clock;
    struct instant received = clock_now();
    if (!c->known || !in_step(c, at, sent, received))
        c->since = at; /* from here on */
    c->known = true;
    c->at = at;
    c->sent = sent;
    c->received = received;
    c->round_ms = instant_diff(sent, received).ms;
}

struct instant clock_guess(const struct pg_store *s)
{
    return instant_add(s->clock.at, instant_diff(s->clock.received, clock_now()));
}

/* ---- what we remember ----------------------------------------------------------------------- */

struct known_session *known_session(struct pg_store *s, uint64_t id)
{
    return cache_find(&s->sessions, id, NULL);
}

void known_session_set(struct pg_store *s, const struct known_session *seen)
{
    uint64_t id = seen->head.id;
    struct known_session *k = known_session(s, id);
    if (!k)
        k = cache_add(&s->sessions, id, NULL, sizeof *k, s->stamp);
    if (!k)
        return;
    k->head.stamp = s->stamp;
    if (k->state != KNOWN_ALIVE)
        return; /* final */
    bool news = k->beat != seen->beat;
    k->suspect = seen->suspect;
    if (seen->state != KNOWN_ALIVE) {
        k->state = seen->state;
        k->expires = seen->expires;
        return;
    }
    if (!news)
        return;
    k->beat = seen->beat;
    k->ttl_ms = seen->ttl_ms;
    k->expires = seen->expires;
    k->first_seen = clock_now();
    struct instant renewed = instant_add(seen->expires, SPAN(-seen->ttl_ms));
    k->trusted = s->clock.known && renewed.ms >= s->clock.since.ms;
}

/* ---- judging -------------------------------------------------------------------------------- */

bool life_is_over(const struct pg_store *s, const struct known_session *k)
{
    if (k->state != KNOWN_ALIVE)
        return true;
    if (k->suspect)
        return true;
    int64_t watched = instant_diff(k->first_seen, clock_now()).ms;
    if (watched >= k->ttl_ms + percent(k->ttl_ms))
        return true;
    struct instant renewed = instant_add(k->expires, SPAN(-k->ttl_ms));
    return k->trusted && renewed.ms >= s->clock.since.ms &&
           instant_reached(clock_guess(s), k->expires);
}

static void rely(struct pg_store *s, uint64_t session, enum rely_mode mode, uint64_t beat)
{
    struct reliances *r = &s->relied;
    for (size_t i = r->count; i > 0 && i + 8 > r->count; i--) {
        if (r->at[i - 1].session == session)
            return;
    }
    void *at = r->at;
    if (!room_for_one_more(&at, r->count, &r->cap, sizeof *r->at)) {
        r->failed = true;
        return;
    }
    r->at = at;
    r->at[r->count++] = (struct reliance){session, mode, beat};
}

enum liveness pg_liveness(void *oracle, uint64_t session, struct instant *ret_until)
{
    struct pg_oracle *o = oracle;
    struct known_session *k = known_session(o->s, session);
    *ret_until = o->now;
    if (o->looks && (!k || k->head.stamp != o->s->stamp))
        return LIVE_GONE; /* a reader has just been told of all that there are */
    if (!k) {
        rely(o->s, session, RELY_ASK, 0);
        o->s->relied.all_fresh = false;
        *ret_until = instant_add(o->now, SPAN(1));
        return LIVE;
    }
    if (k->state == KNOWN_ALIVE || k->expires.ms != 0)
        *ret_until = k->expires;
    if (k->state == KNOWN_GONE)
        return LIVE_GONE;
    if (k->state == KNOWN_DEAD)
        return LIVE_EXPIRED;
    if (!o->looks && life_is_over(o->s, k)) {
        rely(o->s, session, RELY_DECLARE, k->beat);
        o->s->relied.all_fresh = false;
        return LIVE_EXPIRED;
    }
    rely(o->s, session, RELY_ALIVE, k->beat);
    if (k->head.stamp != o->s->stamp)
        o->s->relied.all_fresh = false;
    if (!o->looks && instant_reached(o->now, k->expires))
        *ret_until = instant_add(o->now, SPAN(LOOK_AGAIN_MS));
    return LIVE;
}
