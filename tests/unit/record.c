#include "wire/record.h"
#include "world.h"
#include "tap.h"

#include <stdlib.h>

static unsigned char buf[256 * 1024];
static struct claim decoded;

static void build(int tickets)
{
    world_reset();
    for (uint64_t s = 1; s <= 5; s++) {
        world.now += 700;
        world_stand(s);
        world_leave(s);
    }
    for (int s = 10; s < 10 + tickets; s++)
        world_stand((uint64_t)s);
}

static void what_is_written_reads_back_the_same(void)
{
    build(20);
    size_t len = record_encode(&world.claim, buf, sizeof buf);
    CHECK(len > 0 && record_decode(buf, len, &decoded) == RECORD_FINE);
    CHECK(decoded.ticket_count == 20 && decoded.past_count == 5);
    CHECK(decoded.last_token == world.claim.last_token);
    CHECK(decoded.ticket[3].asked.ms == world.claim.ticket[3].asked.ms);
    CHECK(decoded.ticket[0].until.ms == INSTANT_NEVER.ms);
    CHECK(text_equal(decoded.past[2].as, world.claim.past[2].as));
    static unsigned char again[sizeof buf];
    CHECK(record_encode(&decoded, again, sizeof again) == len && memcmp(buf, again, len) == 0);
}

static void no_bytes_are_a_record_that_was_never_used(void)
{
    CHECK(record_decode(NULL, 0, &decoded) == RECORD_FINE && decoded.ticket_count == 0);
}

static void a_record_that_is_cut_anywhere_is_refused(void)
{
    build(3);
    size_t len = record_encode(&world.claim, buf, sizeof buf);
    for (size_t n = 1; n < len; n++)
        CHECK(record_decode(buf, n, &decoded) != RECORD_FINE);
}

static void trailing_bytes_are_refused(void)
{
    build(3);
    size_t len = record_encode(&world.claim, buf, sizeof buf);
    buf[len] = 0;
    CHECK(record_decode(buf, len + 1, &decoded) == RECORD_TRAILING);
}

static void another_version_is_told_from_damage(void)
{
    build(1);
    size_t len = record_encode(&world.claim, buf, sizeof buf);
    buf[2]++;
    CHECK(record_decode(buf, len, &decoded) == RECORD_FOREIGN);
    CHECK(record_decode("SQLite", 6, &decoded) == RECORD_FOREIGN);
}

static void what_does_not_fit_is_not_written(void)
{
    build(10);
    size_t len = record_encode(&world.claim, buf, sizeof buf);
    for (size_t cap = 0; cap < len; cap += 7)
        CHECK(record_encode(&world.claim, buf, cap) == 0);
}

static void damaged_records_never_decode_into_broken_claims(void)
{
    unsigned seed = 1;
    for (int run = 0; run < 20000; run++) {
        build(4);
        size_t len = record_encode(&world.claim, buf, sizeof buf);
        for (int flips = 1 + rand_r(&seed) % 3; flips > 0; flips--)
            buf[(size_t)rand_r(&seed) % len] ^= (unsigned char)(1u << rand_r(&seed) % 8);
        if (record_decode(buf, len, &decoded) == RECORD_FINE)
            CHECK(claim_check(&decoded));
    }
}

static void a_held_claim_takes_less_than_300_bytes(void)
{
    world_reset();
    world.now = 1LL << 40;
    world.floor = 1ULL << 40;
    world_lock(1);
    CHECK(record_encode(&world.claim, buf, sizeof buf) < 100);
}

int main(void)
{
    return TAP_RUN(TAP(what_is_written_reads_back_the_same),
                   TAP(no_bytes_are_a_record_that_was_never_used),
                   TAP(a_record_that_is_cut_anywhere_is_refused), TAP(trailing_bytes_are_refused),
                   TAP(another_version_is_told_from_damage), TAP(what_does_not_fit_is_not_written),
                   TAP(damaged_records_never_decode_into_broken_claims),
                   TAP(a_held_claim_takes_less_than_300_bytes));
}
