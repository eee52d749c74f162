/* SipHash-2-4 is the published one. */
#include "wire/siphash.h"

#include "tap.h"

/* The first of the authors' own vectors (vectors.h of their implementation), and that of their
 * paper: of 0, 1, 2, ... under the key 0, 1, ... 15. */
static void the_published_vectors_come_out(void)
{
    static const struct {
        size_t len;
        uint64_t hash;
    } vector[] = {{0, 0x726fdb47dd0e0e31}, {1, 0x74f839c593dc67fd}, {15, 0xa129ca6149be45e5}};
    uint8_t key[SIPHASH_KEY_BYTES], bytes[15];
    for (uint8_t i = 0; i < sizeof key; i++)
        key[i] = i;
    for (uint8_t i = 0; i < sizeof bytes; i++)
        bytes[i] = i;
    for (size_t i = 0; i < sizeof vector / sizeof vector[0]; i++)
        CHECK(siphash(key, bytes, vector[i].len) == vector[i].hash);
}

int main(void)
{
    return TAP_RUN(TAP(the_published_vectors_come_out));
}
