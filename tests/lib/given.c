/* tests/lib/given.c - structs that a program was compiled with, in a library of another version. */
#include <stdint.h>
#include <tenure/tenure.h>

#include "lib/given.h"
#include "tap.h"

/* Options as a later version of the header may have them. */
struct later {
    tenure_options known;
    int64_t more;
};

#define LATER_INIT {TENURE_OPTIONS_INIT, 7}

static tenure_error err;

static int take(struct later *ret, const tenure_options *old)
{
    return given_take(ret, sizeof *ret, GIVEN_LEAST(tenure_options, max_silence_ms), old,
                      "LATER_INIT", &err);
}

static void what_an_older_program_does_not_know_of_is_as_by_default(void)
{
    struct later now = LATER_INIT;
    tenure_options old = TENURE_OPTIONS_INIT;
    old.ttl_ms = 1234;
    old.as = "me";
    CHECK(take(&now, &old) == 0);
    CHECK(now.known.ttl_ms == 1234 && strcmp(now.known.as, "me") == 0);
    CHECK(now.more == 7 && now.known.size == sizeof now);
}

static void a_size_that_no_version_had_is_refused_and_nothing_is_taken(void)
{
    static const size_t bad[] = {0, 8, GIVEN_LEAST(tenure_options, max_silence_ms) - 1, 1 << 20,
                                 SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct later now = LATER_INIT;
        tenure_options old = TENURE_OPTIONS_INIT;
        old.size = bad[i];
        old.ttl_ms = 1234;
        CHECK(take(&now, &old) == TENURE_INVALID && strstr(err.text, "LATER_INIT"));
        CHECK(now.known.ttl_ms == 10000);
    }
}

/* No initialiser sets the padding behind the last field, and an older library refuses what is not
 * zero there. */
static void nothing_is_behind_the_last_field(void)
{
    CHECK(sizeof(tenure_options) == GIVEN_LEAST(tenure_options, open_ms));
    CHECK(sizeof(void *) < 8 || sizeof(tenure_terms) == GIVEN_LEAST(tenure_terms, unused));
}

int main(void)
{
    return TAP_RUN(TAP(what_an_older_program_does_not_know_of_is_as_by_default),
                   TAP(a_size_that_no_version_had_is_refused_and_nothing_is_taken),
                   TAP(nothing_is_behind_the_last_field));
}
