#include <string.h>

#include "store/etcd_engine.h"

#define OTHERS_FIRST_MS 4 /* and twice as long as a commit of ours took of late; */
#define OTHERS_FIRST_MAX_MS 50
#define TURN_MS 2 /* longer than our attempt took: for each who goes first, if nothing is heard */
#define PASS_MAX_MS 250 /* and not longer: how many they are is a guess */

/* ---- after an attempt ------------------------------------------------------------------------ */

void etcd_fight_else(struct etcd_store *s, struct etcd_txn *t, const struct etcd_work *w)
{
    etcd_key lost = etcd_bucket_key(s, "lost/", w->key[0]);
    etcd_txn_else_range(t, lost, (etcd_key){0});
    etcd_txn_else_put(t, lost);
}

/* Whether that was written before our attempt was under way: we had not heard of it. */
static bool was_there(const struct etcd_store *s, const struct etcd_record *r, struct span took)
{
    struct span ignored;
    struct instant now = etcd_record_now(s, r, clock_now(), &ignored);
    return instant_diff(r->stamp.now, now).ms > took.ms;
}

/* Each who loses makes a revision.  So those between the write that it lost to and the last who
 * lost before it are as many as lost; or more, when other names were written meanwhile: far more,
 * when that write is old. */
static int64_t count_ahead(const struct etcd_store *s, const struct etcd_record *r,
                           struct span took, const Etcd__RangeResponse *before)
{
    int64_t last = before && before->n_kvs == 1 ? before->kvs[0]->mod_revision : 0;
    if (!r || r->version <= 0 || last <= r->version || was_there(s, r, took))
        return 0;
    return last - r->version;
}

/* Who asks again as soon as it has lost is behind those who heard of the same write, and may lose
 * to one of them each time.  So from the second time on it goes with them, at the next write. */
static int64_t least_ahead(const struct etcd_work *w)
{
    return w->loss.attempts > 1;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void etcd_fight_lost(struct etcd_store *s, struct etcd_work *w, struct span took,
                     const Etcd__RangeResponse *before)
{
    const struct etcd_record *first = etcd_record_known(s, w->key[0]);
    if (!w->writes)
        return;
    w->loss.attempts++;
    w->loss.ahead = 0;
    if (w->count == 1)
        w->loss.ahead = larger(count_ahead(s, first, took, before), least_ahead(w));
    w->loss.written = first ? first->written : 0;
    w->loss.since = clock_now();
    w->loss.took = took;
    w->loss.follows = w->loss.follows || w->loss.ahead > 0;
    for (int i = 0; i < w->count; i++) {
        struct etcd_record *r = etcd_record_known(s, w->key[i]);
        if (r)
            r->hot = true;
    }
}

void etcd_fight_won(struct etcd_store *s, const struct etcd_work *w)
{
    for (int i = 0; i < w->count && w->writes && w->next_writer != 0; i++) {
        struct etcd_record *r = etcd_record_known(s, w->key[i]);
        if (!r)
            continue;
        r->crowded = w->loss.attempts > 0;
        if (w->rings > 0 && w->loss.attempts == 0)
            r->hot = false; /* who asks when it gives back meets nobody */
    }
}

/* ---- before the next ------------------------------------------------------------------------- */

static bool waits_until(struct etcd_store *s, struct instant until)
{
    if (instant_reached(clock_now(), until))
        return false;
    s->held_back = instant_min(s->held_back, until);
    return true;
}

/* Who was just granted a name lets the one write first who gave it back, of which it is told
 * (etcd_bell.c), and a second one when its own turn to ask has shown that there are more: else that
 * one would lose to each release.  But only as long as that proves right. */
static struct instant others_until(const struct etcd_store *s, const struct etcd_record *r)
{
    int64_t first = 2 * s->commit.ms + OTHERS_FIRST_MS;
    if (r->version == r->rung)
        return instant_add(r->heard,
                           SPAN(first < OTHERS_FIRST_MAX_MS ? first : OTHERS_FIRST_MAX_MS));
    if (r->version == r->told && r->crowded)
        return instant_add(r->seen, SPAN(1 + s->commit.ms / 4));
    return INSTANT(0);
}

static bool lets_others_come(struct etcd_store *s, struct etcd_record *r)
{
    if (!r->hot)
        return false;
    bool waits = waits_until(s, others_until(s, r));
    if (!waits && r->version == r->rung)
        r->hot = false; /* nobody came */
    return waits;
}

/* Whether another one of ours, perhaps a hand-over, can only be sent after it. */
static bool is_in_the_way(const struct etcd_work *w)
{
    for (const struct etcd_work *o = w->next; o; o = o->next) {
        for (int i = 0; i < o->count; i++) {
            if (o->hash[i] == w->hash[0])
                return true;
        }
    }
    return false;
}

/* How often others wrote since: they may have deleted it, and then it is counted anew. */
static int64_t writes_since(const struct etcd_loss *l, const struct etcd_record *r)
{
    return r->written < l->written ? 1 + r->written : r->written - l->written;
}

static bool lets_others_pass(struct etcd_store *s, struct etcd_work *w, const struct etcd_record *r)
{
    struct etcd_loss *l = &w->loss;
    bool passed = r->version == 0 || writes_since(l, r) >= l->ahead;
    if (l->ahead == 0 || passed || w->rings > 0 || is_in_the_way(w))
        return false;
    int64_t ms = l->took.ms + l->ahead * (l->took.ms + TURN_MS);
    int64_t most = smaller(s->patience.ms / 4, PASS_MAX_MS);
    if (waits_until(s, instant_add(l->since, SPAN(smaller(ms, most)))))
        return true;
    l->ahead = 0;
    l->stale = true;
    return false;
}

bool etcd_fight_waits(struct etcd_store *s, struct etcd_work *w)
{
    struct etcd_record *r = etcd_record_known(s, w->key[0]);
    if (w->count != 1 || !r)
        return false;
    return lets_others_come(s, r) || lets_others_pass(s, w, r);
}

/* ---- hearing of it --------------------------------------------------------------------------- */

/* Who follows that name, or any. */
static const struct etcd_work *follower(const struct etcd_store *s, const char *name)
{
    const struct etcd_work *list[] = {s->queue, s->flight};
    for (int i = 0; i < 2; i++) {
        for (const struct etcd_work *w = list[i]; w; w = w->next) {
            if (w->loss.follows && w->op && (!name || strcmp(name, w->key[0]) == 0))
                return w;
        }
    }
    return NULL;
}

const struct etcd_work *etcd_fight_followed(const struct etcd_store *s)
{
    const struct etcd_work *w = s->followed ? follower(s, s->followed) : NULL;
    return w ? w : follower(s, NULL);
}
