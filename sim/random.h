/* sim/random.h - the one source of chance: everything that a run does follows from its seed. */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t random_next(struct random *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 0 to n - 1; n > 0. */
static inline uint64_t random_below(struct random *r, uint64_t n)
{
    return random_next(r) % n;
}

/* lo to hi, both included. */
static inline int64_t random_range(struct random *r, int64_t lo, int64_t hi)
{
    return lo + (int64_t)random_below(r, (uint64_t)(hi - lo) + 1);
}

static inline bool random_chance(struct random *r, unsigned permille)
{
    return random_below(r, 1000) < permille;
}

#endif
