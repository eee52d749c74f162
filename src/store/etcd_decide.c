/* store/etcd_decide.c - a decision on what is known, and what it relied on. */
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"
#include "store/room.h"

/* ---- who is alive ---------------------------------------------------------------------------- */

bool etcd_relies_on(const struct etcd_work *w, uint64_t session)
{
    for (size_t i = 0; i < w->relies; i++) {
        if (w->relied[i] == session)
            return true;
    }
    return false;
}

static void rely(struct etcd_oracle *o, uint64_t session)
{
    struct etcd_work *w = o->w;
    if (etcd_relies_on(w, session))
        return;
    void *at = w->relied;
    if (!room_for_one_more(&at, w->relies, &w->relies_cap, sizeof *w->relied)) {
        o->failed = true;
        return;
    }
    w->relied = at;
    w->relied[w->relies++] = session;
}

/* A session that we know nothing of is taken for alive; the commit compares. */
enum liveness etcd_liveness(void *oracle, uint64_t session, struct instant *ret_until)
{
    struct etcd_oracle *o = oracle;
    const struct etcd_known_session *k = etcd_session_known(o->s, session);
    *ret_until = o->now;
    if (k && k->state != SESSION_ALIVE)
        return k->state == SESSION_EXPIRED ? LIVE_EXPIRED : LIVE_GONE;
    bool counted = o->s->census == o->s->answer; /* all that there are were just told */
    if (counted && (!k || k->head.stamp != o->s->answer))
        return LIVE_GONE;
    *ret_until = instant_add(o->now, k ? k->ttl : SPAN(TIMING_TTL_DEFAULT_MS));
    if (o->w)
        rely(o, session);
    if (!k || k->head.stamp != o->s->answer)
        o->all_fresh = false;
    return LIVE;
}

/* One commit compares with so many sessions only: first with our own and with those that are told
 * of the outcome, because nobody else can have been granted anything (P2).  Of the others it is
 * enough that they lived when we last looked, as if they had died right after the commit. */
static void put_first(struct etcd_work *w, size_t *at, uint64_t session)
{
    for (size_t i = *at; i < w->relies; i++) {
        if (w->relied[i] == session) {
            w->relied[i] = w->relied[*at];
            w->relied[(*at)++] = session;
            return;
        }
    }
}

static void choose_relied(struct etcd_store *s, struct etcd_work *w)
{
    size_t first = 0;
    if (w->relies <= ETCD_RELY_MAX)
        return;
    put_first(w, &first, s->own.id);
    for (size_t i = 0; i < w->rings; i++)
        put_first(w, &first, w->ring[i]);
    for (size_t i = ETCD_RELY_MAX; i < w->relies; i++)
        w->census = w->census || !etcd_session_known(s, w->relied[i]);
    w->relies = ETCD_RELY_MAX;
}

/* ---- what it wants written ------------------------------------------------------------------- */

static void forget_outcome(struct etcd_work *w)
{
    for (int i = 0; i < STORE_KEYS_MAX; i++) {
        free(w->out[i].bytes);
        w->out[i] = (struct store_write){STORE_KEEP};
    }
    w->relies = w->rings = 0;
    w->next_writer = w->notice = 0;
    w->writes = w->census = w->granted = false;
    w->bytes = 0;
}

/* A copy of the bytes, behind the stamp. */
static bool stamped(struct etcd_work *w, int i, const void *bytes, size_t len)
{
    uint8_t *to = malloc(ETCD_STAMP_BYTES + len);
    if (!to)
        return false;
    etcd_stamp_encode(&w->stamp[i], to);
    memcpy(to + ETCD_STAMP_BYTES, bytes, len);
    w->out[i].bytes = to;
    w->out[i].len = ETCD_STAMP_BYTES + len;
    w->out[i].what = STORE_PUT;
    w->bytes += w->out[i].len;
    return true;
}

/* Keeps what the decision wrote; its buffers serve the next one.  A name with a fence is written in
 * any case. */
static int keep_outcome(struct etcd_store *s, struct etcd_work *w, const struct store_view *view)
{
    for (int i = 0; i < view->count; i++) {
        const struct store_write *out = &view->out[i];
        const struct store_record *in = &view->in[i];
        bool fenced = out->what == STORE_KEEP && fence_stands(&s->fences, w->key[i]);
        if (out->what == STORE_PUT && (out->len == 0 || out->len > STORE_RECORD_MAX))
            return TENURE_INTERNAL;
        if (out->what == STORE_PUT && !stamped(w, i, out->bytes, out->len))
            return TENURE_NO_MEMORY;
        if (fenced && in->bytes && !stamped(w, i, in->bytes, in->len))
            return TENURE_NO_MEMORY;
        if (out->what == STORE_DELETE || (fenced && !in->bytes))
            w->out[i].what = STORE_DELETE;
        w->writes = w->writes || w->out[i].what != STORE_KEEP;
    }
    w->notice = view->fx->notice;
    w->next_writer = view->fx->next;
    for (uint32_t i = 0; i < view->fx->ring_count; i++) {
        void *at = w->ring;
        if (!room_for_one_more(&at, w->rings, &w->rings_cap, sizeof *w->ring))
            return TENURE_NO_MEMORY;
        w->ring = at;
        w->ring[w->rings++] = view->fx->ring[i];
    }
    return 0;
}

/* ---- deciding -------------------------------------------------------------------------------- */

static void stamp_now(struct etcd_store *s, struct etcd_work *w, int i, struct instant now)
{
    w->stamp[i] = (struct etcd_stamp){.now = now, .tick = etcd_clock_tick(&s->clock, clock_now())};
}

/* Puts the records into the view; false when one is not known. */
static bool show(struct etcd_store *s, struct etcd_work *w, struct store_view *view, bool *fresh)
{
    struct facts *f = &view->facts;
    f->now = INSTANT(0);
    view->own_clocks = true;
    for (int i = 0; i < w->count; i++) {
        const struct etcd_record *r = etcd_record_known(s, w->key[i]);
        struct span behind;
        if (!r || r->version < 0)
            return false;
        struct instant now = etcd_record_now(s, r, clock_now(), &behind);
        if (now.ms > f->now.ms)
            f->now = now;
        if (behind.ms > f->behind.ms)
            f->behind = behind;
        view->clock[i].now = now;
        view->clock[i].behind = behind;
        *fresh = *fresh && r->head.stamp == s->answer;
        w->version[i] = r->version;
        view->in[i] = (struct store_record){w->key[i], r->head.bytes, r->head.len};
        view->out[i] = (struct store_write){.what = STORE_KEEP, .bytes = s->buffer[i]};
    }
    return true;
}

static bool has_foreign(struct etcd_store *s, const struct etcd_work *w)
{
    for (int i = 0; i < w->count; i++) {
        const struct etcd_record *r = etcd_record_known(s, w->key[i]);
        if (r && r->foreign)
            return true;
    }
    return false;
}

bool etcd_decide(struct etcd_store *s, struct etcd_work *w, bool *ret_confirmed)
{
    struct store_update *op = (struct store_update *)(void *)w->op;
    struct etcd_oracle oracle = {.s = s, .w = w, .all_fresh = true};
    struct store_view view = {.count = w->count, .fx = &s->fx};
    bool fresh = true;
    forget_outcome(w);
    s->fx.changed = false;
    s->fx.ring_count = 0;
    s->fx.next = s->fx.notice = 0;
    /* A commit gets a higher revision than any that we have seen, and grants less than 1024 times;
     * so no token is above its commit's own floor, and the next decision begins there (P1). */
    view.facts.token_floor = etcd_floor_at(s, s->revision);
    view.facts.wall_ms = clock_wall_ms();
    view.facts.liveness = etcd_liveness;
    view.facts.oracle = &oracle;
    view.facts.grants_max = ETCD_GRANTS_MAX;
    view.facts.unheard = true; /* a lease does not tell when it was last kept alive */
    if (!show(s, w, &view, &fresh))
        return false;
    oracle.now = view.facts.now;
    for (int i = 0; i < w->count; i++)
        stamp_now(s, w, i, view.clock[i].now);
    w->verdict = has_foreign(s, w) ? TENURE_CORRUPT : op->decide(op->arg, &view);
    if (s->fx.notice != 0) { /* its seat is counted from the commit: store/etcd_clock.h */
        for (int i = 0; i < w->count; i++)
            w->stamp[i].tick.clock = 0;
    }
    if (w->verdict >= 0) {
        int code = oracle.failed ? TENURE_NO_MEMORY : keep_outcome(s, w, &view);
        w->verdict = code < 0 ? code : w->verdict;
    }
    if (w->verdict < 0)
        w->writes = false;
    w->granted = view.granted;
    choose_relied(s, w);
    *ret_confirmed = !w->writes && ((fresh && oracle.all_fresh) ||
                                    w->verdict == TENURE_NO_MEMORY);
    return true;
}
