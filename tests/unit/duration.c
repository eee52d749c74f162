#include "wire/duration.h"
#include "tap.h"

static int64_t ms_of(const char *s)
{
    struct span d = SPAN(-1);
    return duration_parse(text_of(s), &d) == DURATION_FINE ? d.ms : -1;
}

static enum duration_flaw flaw_of(const char *s)
{
    struct span d;
    return duration_parse(text_of(s), &d);
}

static void durations_are_read_with_their_unit(void)
{
    CHECK(ms_of("500ms") == 500 && ms_of("10s") == 10000 && ms_of("2m") == 120000);
    CHECK(ms_of("24h") == 86400000 && ms_of("7d") == 604800000);
    CHECK(ms_of("1.5s") == 1500 && ms_of("0.25m") == 15000);
}

static void a_bare_number_is_seconds(void)
{
    CHECK(ms_of("5") == 5000 && ms_of("0") == 0 && ms_of("0.5") == 500);
}

static void everything_else_is_refused_by_its_rule(void)
{
    CHECK(flaw_of("") == DURATION_EMPTY);
    CHECK(flaw_of("-1") == DURATION_NOT_A_NUMBER);
    CHECK(flaw_of("+1") == DURATION_NOT_A_NUMBER);
    CHECK(flaw_of(".5s") == DURATION_NOT_A_NUMBER);
    CHECK(flaw_of("1.s") == DURATION_NOT_A_NUMBER);
    CHECK(flaw_of("1.2345s") == DURATION_NOT_A_NUMBER);
    CHECK(flaw_of("1e3") == DURATION_BAD_UNIT);
    CHECK(flaw_of("10 s") == DURATION_BAD_UNIT);
    CHECK(flaw_of("10S") == DURATION_BAD_UNIT);
    CHECK(flaw_of("1h30m") == DURATION_BAD_UNIT);
    CHECK(flaw_of("0.5ms") == DURATION_TOO_FINE);
    CHECK(flaw_of("9223372036854775808") == DURATION_TOO_LONG);
    CHECK(flaw_of("999999999999d") == DURATION_TOO_LONG);
    CHECK(flaw_of("3661d") == DURATION_TOO_LONG);
}

static void short_ones_are_written_so_that_they_read_back(void)
{
    static const int64_t each[] = {0, 1, 499, 500, 1000, 9900, 59999, 60000, 3600000, 86400000};
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        char buf[DURATION_BYTES];
        CHECK(ms_of(duration_format(SPAN(each[i]), buf)) == each[i]);
    }
}

static void every_span_can_be_written(void)
{
    char buf[DURATION_BYTES];
    CHECK(strcmp(duration_format(SPAN(INT64_MAX), buf), "never") == 0);
    CHECK(strcmp(duration_format(SPAN(-1500), buf), "-1.500s") == 0);
    CHECK(strlen(duration_format(SPAN(INT64_MIN), buf)) < DURATION_BYTES);
    CHECK(strcmp(duration_format(SPAN(5400000), buf), "1h30m") == 0);
}

int main(void)
{
    return TAP_RUN(TAP(durations_are_read_with_their_unit), TAP(a_bare_number_is_seconds),
                   TAP(everything_else_is_refused_by_its_rule),
                   TAP(short_ones_are_written_so_that_they_read_back),
                   TAP(every_span_can_be_written));
}
