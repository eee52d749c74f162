/* tests/unit/entry.c - entries of the configuration: the rule of a change, and their bytes. */
#include "wire/entry.h"
#include "tap.h"
#include "world.h"

#include <stdlib.h>

static struct entry entry;
static unsigned char buf[ENTRY_BYTES_MAX], again[ENTRY_BYTES_MAX];

static void clear(void)
{
    world_reset();
    memset(&entry, 0, sizeof entry);
}

static enum entry_verdict put(struct claim *held, const struct entry_terms *terms,
                              const char *value)
{
    struct facts f = world_facts();
    struct text text = text_of(value);
    enum entry_verdict v = entry_change(&entry, held, &f, terms, value ? &text : NULL);
    if (v == ENTRY_DONE)
        world.floor = f.token_floor;
    if (!entry_check(&entry) || (v != ENTRY_DONE && f.token_floor != world.floor))
        abort(); /* whatever else a case looks at */
    return v;
}

static const struct entry_terms none = {.by = {"me", 2}};

static void versions_grow_also_over_a_deletion(void)
{
    clear();
    uint64_t last = 0;
    for (int i = 0; i < 40; i++) {
        CHECK(put(NULL, &none, i % 3 == 2 ? NULL : "x") == ENTRY_DONE);
        CHECK(entry.change[0].version > last);
        last = entry.change[0].version;
    }
    CHECK(entry.change_count == ENTRY_CHANGES_MAX);
    world.floor = 1000; /* somebody else drew a token */
    CHECK(put(NULL, &none, "x") == ENTRY_DONE && entry_version(&entry) == 1001);
}

static void a_version_that_was_not_seen_changes_nothing(void)
{
    clear();
    struct entry_terms at = {.at = true, .version = 0};
    CHECK(put(NULL, &at, "x") == ENTRY_DONE);
    uint64_t version = entry_version(&entry);
    CHECK(put(NULL, &at, "y") == ENTRY_CHANGED && entry_version(&entry) == version);
    at.version = version + 1;
    CHECK(put(NULL, &at, "y") == ENTRY_CHANGED && put(NULL, &at, NULL) == ENTRY_CHANGED);
    at.version = version;
    CHECK(put(NULL, &at, NULL) == ENTRY_DONE && !entry_exists(&entry));
    CHECK(entry_version(&entry) == 0 && put(NULL, &at, "y") == ENTRY_CHANGED);
    at.version = 0; /* it is not there */
    CHECK(put(NULL, &at, "z") == ENTRY_DONE && entry_version(&entry) > version);
}

static void what_is_not_there_is_not_deleted(void)
{
    clear();
    CHECK(put(NULL, &none, NULL) == ENTRY_ABSENT && entry.change_count == 0);
}

static void only_the_tenure_that_stands_may_write(void)
{
    clear();
    CHECK(world_stand(1) == VERDICT_HELD && world_stand(2) == VERDICT_WAITING);
    uint64_t epoch = world.claim.ticket[0].token;
    struct entry_terms terms = {.name = text_of("cl"), .epoch = epoch};
    CHECK(put(&world.claim, &terms, "x") == ENTRY_DONE && entry.change[0].epoch == epoch);
    terms.epoch = epoch + 1;
    CHECK(put(&world.claim, &terms, "y") == ENTRY_NOT_HELD);
    terms.epoch = epoch;
    world.state[1] = LIVE_GONE; /* dead, and nobody has noticed yet */
    CHECK(put(&world.claim, &terms, "y") == ENTRY_NOT_HELD);
    world.state[1] = LIVE;
    world.now = world.until[1]; /* silent for its ttl */
    CHECK(put(&world.claim, &terms, "y") == ENTRY_NOT_HELD && entry.value.at[0] == 'x');
}

static void a_refusal_of_the_tenure_comes_before_that_of_the_version(void)
{
    clear();
    struct entry_terms terms = {.at = true, .version = 7, .name = text_of("cl"), .epoch = 3};
    CHECK(put(&world.claim, &terms, "x") == ENTRY_NOT_HELD);
}

static void what_is_written_reads_back_the_same(void)
{
    clear();
    static char big[ENTRY_VALUE_BYTES_MAX];
    memset(big, 0xff, sizeof big);
    struct entry read;
    for (int i = 0; i < 20; i++)
        CHECK(put(NULL, &none, "x") == ENTRY_DONE);
    entry.value = (struct text){big, sizeof big};
    entry.change[0].bytes = sizeof big;
    size_t len = entry_encode(&entry, buf, sizeof buf);
    CHECK(len > sizeof big && entry_decode(buf, len, &read) == RECORD_FINE);
    CHECK(read.change_count == ENTRY_CHANGES_MAX && text_equal(read.value, entry.value));
    CHECK(entry_encode(&read, again, sizeof again) == len && memcmp(buf, again, len) == 0);
    CHECK(entry_encode(&entry, buf, len - 1) == 0);
}

static void an_entry_that_is_cut_or_goes_on_is_refused(void)
{
    clear();
    struct entry read;
    CHECK(put(NULL, &none, "value") == ENTRY_DONE && put(NULL, &none, "other") == ENTRY_DONE);
    size_t len = entry_encode(&entry, buf, sizeof buf);
    for (size_t n = 1; n < len; n++)
        CHECK(entry_decode(buf, n, &read) != RECORD_FINE);
    buf[len] = 0;
    CHECK(entry_decode(buf, len + 1, &read) == RECORD_TRAILING);
    CHECK(entry_decode(NULL, 0, &read) == RECORD_FINE && read.change_count == 0);
    buf[0] = 0x47;
    CHECK(entry_decode(buf, len, &read) == RECORD_FOREIGN);
}

int main(void)
{
    return TAP_RUN(TAP(versions_grow_also_over_a_deletion),
                   TAP(a_version_that_was_not_seen_changes_nothing),
                   TAP(what_is_not_there_is_not_deleted),
                   TAP(only_the_tenure_that_stands_may_write),
                   TAP(a_refusal_of_the_tenure_comes_before_that_of_the_version),
                   TAP(what_is_written_reads_back_the_same),
                   TAP(an_entry_that_is_cut_or_goes_on_is_refused));
}
