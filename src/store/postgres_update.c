/* store/postgres_update.c - a decision on what is known, what is sent of it, what comes back. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "store/postgres_engine.h"

#define DELETED UINT64_MAX
#define CLOCK_SLACK_MS 20 /* a decision may be off the server's clock by this and two trips */

/* ---- versions and tokens -------------------------------------------------------------------- */

/* Random bits, and one that keeps it from being a version with a meaning; 0 when the kernel gives
 * none. */
static uint64_t new_version(struct pg_store *s)
{
    if (s->randoms == 0) {
        if (getrandom(s->random, sizeof s->random, 0) != (ssize_t)sizeof s->random)
            return 0;
        s->randoms = sizeof s->random / sizeof s->random[0];
    }
    return s->random[--s->randoms] >> 2 | (uint64_t)1 << 61;
}

/* The floor that a decision starts from: one below a token that is ours alone. */
static uint64_t floor_for(const struct pg_store *s, const struct known_record *k)
{
    uint64_t floor = s->tokens > 0 ? s->token[0] - 1 : 0;
    if (floor < s->floor)
        floor = s->floor;
    return k && floor < k->floor ? k->floor : floor;
}

static void use_token(struct pg_store *s)
{
    s->tokens_used++;
    if (s->tokens > 0)
        memmove(s->token, s->token + 1, --s->tokens * sizeof s->token[0]);
}

/* ---- deciding ------------------------------------------------------------------------------- */

static void forget_outcome(struct work *w)
{
    for (int i = 0; i < STORE_KEYS_MAX; i++) {
        w->data[i].len = 0;
        w->version[i] = 0;
    }
    w->ring_count = 0;
    w->granted = w->writes = w->queued = false;
    w->done = false;
}

/* Keeps what the decision wrote: the buffers serve the next one.  A name with a fence gets a new
 * version in any case. */
static bool keep_outcome(struct pg_store *s, struct work *w, const struct store_view *view)
{
    for (int i = 0; i < view->count; i++) {
        const struct store_write *out = &view->out[i];
        if (out->what == STORE_KEEP && !fence_stands(&s->fences, w->key[i]))
            continue;
        w->writes = true;
        w->version[i] = out->what == STORE_DELETE ? DELETED : new_version(s);
        if (w->version[i] == 0)
            return false;
        if (out->what == STORE_PUT)
            bytes_put(&w->data[i], out->bytes, out->len);
        if (w->data[i].failed)
            return false;
    }
    w->floor = view->facts.token_floor;
    if (view->fx->ring_count == 0)
        return true;
    uint64_t *ring = realloc(w->ring, view->fx->ring_count * sizeof *ring);
    if (!ring)
        return false;
    memcpy(ring, view->fx->ring, view->fx->ring_count * sizeof *ring);
    for (uint32_t i = 0; i < view->fx->ring_count; i++)
        w->queued = w->queued || ring[i] == view->fx->next;
    w->ring = ring;
    w->ring_count = view->fx->ring_count;
    return true;
}

static int check_out(const struct store_view *view)
{
    for (int i = 0; i < view->count; i++) {
        const struct store_write *out = &view->out[i];
        if (out->what == STORE_PUT && (out->len == 0 || out->len > STORE_RECORD_MAX))
            return TENURE_INTERNAL;
    }
    return 0;
}

static void begin_decision(struct pg_store *s, struct work *w)
{
    forget_outcome(w);
    s->relied.count = 0;
    s->relied.all_fresh = true;
    s->relied.failed = false;
    s->fx.changed = false;
    s->fx.ring_count = 0;
    s->fx.next = s->fx.notice = 0;
}

bool update_decide(struct pg_store *s, struct work *w, bool *ret_confirmed)
{
    struct store_update *op = update_of(w);
    struct pg_oracle oracle = {.s = s, .now = clock_guess(s)};
    struct store_view view = {.count = op->count, .fx = &s->fx};
    bool fresh = true;
    begin_decision(s, w);
    view.facts = (struct facts){
        .now = oracle.now,
        .wall_ms = clock_wall_ms(),
        .liveness = pg_liveness,
        .oracle = &oracle,
    };
    for (int i = 0; i < w->count; i++) {
        struct known_record *k = known_record(s, w->key[i]);
        if (!k)
            return false;
        uint64_t floor = floor_for(s, k);
        if (floor > view.facts.token_floor)
            view.facts.token_floor = floor;
        fresh = fresh && k->head.stamp == s->stamp;
        view.in[i] = (struct store_record){op->key[i], k->head.bytes, k->head.len};
        view.out[i] = (struct store_write){.what = STORE_KEEP, .bytes = s->buffer[i]};
    }
    uint64_t floor = view.facts.token_floor;
    w->verdict = op->decide(op->arg, &view);
    if (w->verdict >= 0 && check_out(&view) < 0)
        w->verdict = TENURE_INTERNAL;
    if (w->verdict >= 0 && !keep_outcome(s, w, &view))
        w->verdict = TENURE_NO_MEMORY;
    if (s->relied.failed)
        w->verdict = TENURE_NO_MEMORY;
    w->granted = view.granted && view.undisturbed;
    if (w->verdict < 0)
        w->writes = false;
    if (w->writes && w->floor > floor)
        use_token(s);
    fresh = (fresh && s->relied.all_fresh) || w->verdict == TENURE_NO_MEMORY;
    *ret_confirmed = !w->writes && fresh;
    return true;
}

/* The order of the keys is the order of locks. */
static void sort_keys(struct work *w)
{
    for (int i = 0; i < w->count; i++) {
        int at = i;
        while (at > 0 && strcmp(w->key[w->order[at - 1]], w->key[i]) > 0) {
            w->order[at] = w->order[at - 1];
            at--;
        }
        w->order[at] = i;
    }
}

void pg_update(struct store *store, struct store_update *op)
{
    struct pg_store *s = pg_of(store);
    struct work *w = work_new(s, WORK_UPDATE, &op->op);
    if (!w)
        return;
    for (int i = 0; i < op->count; i++) {
        w->key[i] = strdup(op->key[i]);
        if (!w->key[i]) {
            work_finish(s, w, TENURE_NO_MEMORY);
            return;
        }
        w->count++;
    }
    sort_keys(w);
    if (news_tell_grant(s, w)) {
        op->verdict = w->verdict;
        work_finish(s, w, 0);
        return;
    }
    work_queue(s, w);
    request_next(s);
}

/* ---- sending -------------------------------------------------------------------------------- */

enum column { KEYS, SEEN, FRESH, DATA, FLOORS, FLOORS_AFTER, NOTICES, FROMS, IDS, MODES, BEATS };

static void add_key(struct pg_store *s, const struct work *w, int i, bool known, uint64_t floor)
{
    struct pg_params *p = &s->params;
    const char *key = w->key[i];
    const struct known_record *k = known_record(s, key);
    bool writes = known && w->writes && w->version[i] != 0;
    params_add_bytes(p, KEYS, key, strlen(key));
    params_add_i64(p, SEEN, known && k ? (int64_t)k->version : -1);
    params_add_i64(p, FRESH, !writes ? 0 : w->version[i] == DELETED ? -1 : (int64_t)w->version[i]);
    if (writes && w->version[i] != DELETED && w->data[i].len > 0)
        params_add_bytes(p, DATA, w->data[i].at, w->data[i].len);
    else
        params_add_null(p, DATA);
    params_add_i64(p, FLOORS, (int64_t)floor);
    bool fences = writes && w->data[i].len == 0;
    uint64_t fence = s->high > s->floor + 1 ? s->high : s->floor + 1; /* above all we ever had */
    params_add_i64(p, FLOORS_AFTER, (int64_t)(fences && k && k->version == 0 ? fence : w->floor));
}

static void add_sessions(struct pg_store *s, int *total)
{
    struct pg_params *p = &s->params;
    for (size_t i = 0; i < s->relied.count; i++) {
        const struct reliance *r = &s->relied.at[i];
        params_add_i64(p, IDS, (int64_t)r->session);
        params_add_i32(p, MODES, (int32_t)r->mode);
        params_add_i64(p, BEATS, (int64_t)r->beat);
    }
    *total += (int)s->relied.count;
    params_add_i32(p, FROMS, *total);
}

/* Who is told to stop must not have been renewed since we learnt of its last renewal: its holder
 * would count from that one (store.h, NOTICE). */
static uint64_t tell(struct pg_store *s, const struct work *w)
{
    if (!w->writes)
        return 0;
    for (size_t i = 0; i < s->relied.count && s->fx.notice != 0; i++) {
        if (s->relied.at[i].session == s->fx.notice && s->relied.at[i].mode == RELY_ALIVE)
            s->relied.at[i].mode = RELY_UNRENEWED;
    }
    return s->fx.notice;
}

/* Only who asks and who is granted something must not die before the commit: locks on all that
 * are looked at would cost more than the rest.  Those come first: apply() has short ways for them.
 * A look is told of them alone, unless that has not been enough once. */
static void spare_locks(struct pg_store *s, const struct work *w)
{
    size_t locked = 0;
    for (size_t i = 0; i < s->relied.count; i++) {
        struct reliance *r = &s->relied.at[i];
        bool matters = r->mode != RELY_ALIVE || r->session == s->session ||
                       (!w->writes && w->looked);
        for (uint32_t n = 0; n < w->ring_count && !matters; n++)
            matters = w->ring[n] == r->session;
        if (!matters)
            r->mode = RELY_SEEN;
        if (r->mode == RELY_ALIVE) {
            struct reliance one = *r;
            *r = s->relied.at[locked];
            s->relied.at[locked++] = one;
        }
    }
}

/* Decides anew, with what is known now, and adds what came of it. */
static void add_work(struct pg_store *s, struct work *w, int *total)
{
    bool confirmed;
    uint64_t floor = 0;
    for (int i = 0; i < w->count; i++) {
        uint64_t f = floor_for(s, known_record(s, w->key[i]));
        floor = f > floor ? f : floor;
    }
    bool known = update_decide(s, w, &confirmed);
    uint64_t notice = known ? tell(s, w) : 0;
    spare_locks(s, w);
    for (int i = 0; i < w->count; i++)
        add_key(s, w, w->order[i], known, floor);
    params_add_i64(&s->params, NOTICES, (int64_t)notice);
    if (!known)
        s->relied.count = 0;
    add_sessions(s, total);
}

void update_batch(struct pg_store *s, struct work *batch)
{
    static const enum pg_type types[] = {
        PG_TEXT_ARRAY, PG_INT8_ARRAY, PG_INT8_ARRAY, PG_BYTEA_ARRAY, PG_INT8_ARRAY, PG_INT8_ARRAY,
        PG_INT8_ARRAY, PG_INT4_ARRAY, PG_INT8_ARRAY, PG_INT4_ARRAY,  PG_INT8_ARRAY,
    };
    struct pg_params *p = &s->params;
    int total = 0;
    params_clear(p);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        params_array(p, types[i]);
    params_add_i32(p, FROMS, 0);
    for (struct work *w = batch; w; w = w->next)
        add_work(s, w, &total);
    size_t want = s->tokens_used < 4 ? 4 : s->tokens_used + s->tokens_used / 2;
    if (want > PG_TOKENS_MAX)
        want = PG_TOKENS_MAX;
    params_i64(p, clock_guess(s).ms);
    params_i64(p, CLOCK_SLACK_MS + 2 * s->clock.round_ms);
    params_i64(p, (int64_t)s->high);
    params_i32(p, s->tokens < want / 2 + 1 ? (int32_t)(want - s->tokens) : 0);
    s->tokens_used = 0;
}

/* ---- the answer ----------------------------------------------------------------------------- */

/* The first is number 1. */
static struct work *nth(struct work *batch, int n)
{
    while (batch && n > 1) {
        batch = batch->next;
        n--;
    }
    return batch;
}

static void take_written(struct pg_store *s, const struct work *w, int i)
{
    const char *key = w->key[i];
    struct known_record *k = known_record(s, key);
    uint64_t floor = k && k->floor > w->floor ? k->floor : w->floor;
    if (w->version[i] == DELETED) {
        known_record_set(s, key, 0, 0, NULL, 0);
    } else if (w->data[i].len > 0) {
        known_record_set(s, key, w->version[i], floor, w->data[i].at, w->data[i].len);
    } else if (k) { /* a fence */
        k->version = k->version == 0 ? 0 : w->version[i];
        k->head.stamp = s->stamp;
    }
    fence_remove(&s->fences, key);
}

/* It happened: what was written is what is there. */
static void take_done(struct pg_store *s, struct work *w)
{
    w->done = true;
    for (int i = 0; i < w->count; i++) {
        struct known_record *k = known_record(s, w->key[i]);
        if (w->writes && w->version[i] != 0)
            take_written(s, w, i);
        else if (k)
            k->head.stamp = s->stamp;
    }
}

/* It did not happen: what is there instead. */
static void take_not_done(struct pg_store *s, struct work *w, const PGresult *r, int row)
{
    int64_t n = answer_i64(r, row, 4);
    if (n < 0 || n >= w->count)
        return;
    const char *key = w->key[w->order[n]];
    uint64_t version = answer_u64(r, row, 2), floor = answer_u64(r, row, 3);
    struct known_record *k = known_record(s, key);
    if (!pq.PQgetisnull(r, row, 6))
        known_record_set(s, key, version, floor, pq.PQgetvalue(r, row, 6),
                         (size_t)pq.PQgetlength(r, row, 6));
    else if (k && k->version == version)
        k->head.stamp = s->stamp;
    else if (version == 0)
        known_record_set(s, key, 0, 0, NULL, 0);
}

static void ring(struct pg_store *s, const struct work *w)
{
    for (int i = 0; i < w->count; i++) {
        for (uint32_t n = 0; n < w->ring_count; n++)
            hint_ring(s, w, w->ring[n], store_key_hash(w->key[i]));
    }
}

void update_settle(struct pg_store *s, struct work *w)
{
    bool confirmed = false, happened = w->done && w->writes;
    if (happened)
        ring(s, w);
    if (!w->op) {
        work_free(w);
        return;
    }
    struct store_update *op = update_of(w);
    bool tried = w->writes;
    if (happened) {
        op->verdict = w->verdict;
        work_finish(s, w, 0);
    } else if (update_decide(s, w, &confirmed) && confirmed) {
        if (w->verdict >= 0)
            op->verdict = w->verdict;
        work_finish(s, w, w->verdict < 0 ? w->verdict : 0);
    } else {
        w->lost += tried;
        w->looked = !tried;
        work_queue(s, w);
    }
}

void update_take(struct pg_store *s, struct work *batch, const PGresult *r)
{
    s->stamp++;
    answer_take(s, r);
    for (int row = 0; row < pq.PQntuples(r); row++) {
        int kind = answer_i32(r, row, 0);
        struct work *w = kind == 2 || kind == 3 ? nth(batch, answer_i32(r, row, 1)) : NULL;
        if (w && kind == 2)
            take_done(s, w);
        else if (w)
            take_not_done(s, w, r, row);
    }
}

void update_answered(struct pg_store *s, struct work *batch, const PGresult *r)
{
    update_take(s, batch, r);
    while (batch) {
        struct work *next = batch->next;
        update_settle(s, batch);
        batch = next;
    }
}
