#include "wire/siphash.h"

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t little_endian(const uint8_t *at, size_t count)
{
    uint64_t n = 0;
    for (size_t i = 0; i < count; i++)
        n |= (uint64_t)at[i] << (8 * i);
    return n;
}

static uint64_t turn(uint64_t n, int bits)
{
    return n << bits | n >> (64 - bits);
}

static void rounds(struct state *s, int count)
{
    while (count-- > 0) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = turn(s->v1, 13) ^ s->v0;
        s->v3 = turn(s->v3, 16) ^ s->v2;
        s->v0 = turn(s->v0, 32) + s->v3;
        s->v2 += s->v1;
        s->v3 = turn(s->v3, 21) ^ s->v0;
        s->v1 = turn(s->v1, 17) ^ s->v2;
        s->v2 = turn(s->v2, 32);
    }
}

static void take(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    rounds(s, 2);
    s->v0 ^= word;
}

uint64_t siphash(const uint8_t key[SIPHASH_KEY_BYTES], const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    size_t rest = len % 8;
    uint64_t k0 = little_endian(key, 8), k1 = little_endian(key + 8, 8);
    struct state s = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                      k1 ^ 0x7465646279746573};
    for (const uint8_t *end = at + len - rest; at < end; at += 8)
        take(&s, little_endian(at, 8));
    take(&s, little_endian(at, rest) | (uint64_t)(len & 0xff) << 56);
    s.v2 ^= 0xff;
    rounds(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
