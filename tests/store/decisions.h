/* tests/store/decisions.h - decisions that the cases make, as a rule on records of one number. */
#ifndef TESTS_STORE_DECISIONS_H
#define TESTS_STORE_DECISIONS_H

#include <string.h>

#include "store/store.h"

static inline uint64_t number_of(const struct store_record *r)
{
    uint64_t n = 0;
    if (r->len == sizeof n)
        memcpy(&n, r->bytes, sizeof n);
    return n;
}

static inline void put_number(struct store_view *view, int i, uint64_t n)
{
    memcpy(view->out[i].bytes, &n, sizeof n);
    view->out[i].len = sizeof n;
    view->out[i].what = STORE_PUT;
    view->fx->changed = true;
}

/* Adds one to each record; returns the first. */
static inline int add_one(void *arg, struct store_view *view)
{
    (void)arg;
    for (int i = 0; i < view->count; i++)
        put_number(view, i, number_of(&view->in[i]) + 1);
    return (int)number_of(&view->in[0]) + 1;
}

static inline int see(void *arg, struct store_view *view)
{
    (void)arg;
    return (int)number_of(&view->in[0]);
}

static inline int erase(void *arg, struct store_view *view)
{
    (void)arg;
    view->out[0].what = STORE_DELETE;
    view->fx->changed = true;
    return 0;
}

/* Draws a token into *arg. */
static inline int grant(void *arg, struct store_view *view)
{
    uint64_t *token = arg;
    *token = ++view->facts.token_floor;
    put_number(view, 0, *token);
    return 1;
}

struct question {
    uint64_t session;
    enum liveness answer;
    struct instant until, now;
};

static inline int ask_liveness(void *arg, struct store_view *view)
{
    struct question *q = arg;
    q->answer = view->facts.liveness(view->facts.oracle, q->session, &q->until);
    q->now = view->facts.now;
    return 0;
}

/* The same, and writes: so the store may also forget who is gone. */
static inline int ask_and_write(void *arg, struct store_view *view)
{
    ask_liveness(arg, view);
    return add_one(NULL, view);
}

/* Rings the bell of the session *arg. */
static inline int ring_at(void *arg, struct store_view *view)
{
    view->fx->ring[view->fx->ring_count++] = *(uint64_t *)arg;
    return add_one(NULL, view);
}

static inline int tell(void *arg, struct store_view *view)
{
    view->fx->notice = *(uint64_t *)arg;
    return add_one(NULL, view);
}

static inline int fill(void *arg, struct store_view *view)
{
    memset(view->out[0].bytes, *(int *)arg, STORE_RECORD_MAX);
    view->out[0].len = STORE_RECORD_MAX;
    view->out[0].what = STORE_PUT;
    return 0;
}

static inline int is_filled(void *arg, struct store_view *view)
{
    const unsigned char *at = view->in[0].bytes;
    if (view->in[0].len != STORE_RECORD_MAX)
        return 0;
    return at[0] == *(int *)arg && memcmp(at, at + 1, STORE_RECORD_MAX - 1) == 0;
}

static inline int write_and_refuse(void *arg, struct store_view *view)
{
    add_one(arg, view);
    view->facts.token_floor += 1u << 30; /* more than any store leaves out */
    return TENURE_CONFLICT;
}

/* Moves one from the first record to the second; returns what they are together. */
static inline int move_one(void *arg, struct store_view *view)
{
    (void)arg;
    uint64_t a = number_of(&view->in[0]), b = number_of(&view->in[1]);
    put_number(view, 0, a - 1);
    put_number(view, 1, b + 1);
    return (int)(a + b);
}

static inline int see_both(void *arg, struct store_view *view)
{
    (void)arg;
    return (int)(number_of(&view->in[0]) + number_of(&view->in[1]));
}

/* Even names are counted, odd ones deleted where they are there and made where they are not. */
static inline int count_or_flip(void *arg, struct store_view *view)
{
    bool flips = *(const int *)arg % 2 != 0;
    return flips && view->in[0].bytes ? erase(NULL, view) : add_one(NULL, view);
}

#endif
