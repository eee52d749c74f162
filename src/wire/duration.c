#include "wire/duration.h"

#include <inttypes.h>
#include <stdio.h>

struct unit {
    const char *name;
    int64_t ms;
};

static const struct unit units[] = {
    {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Thousandths of the number at the start; *ret_used is how many bytes it took. */
static enum duration_flaw number_parse(struct text t, int64_t *ret_thousandths, size_t *ret_used)
{
    int64_t n = 0;
    size_t i = 0;
    for (; i < t.len && is_digit(t.at[i]); i++) {
        n = n * 10 + (t.at[i] - '0');
        if (n > DURATION_MAX_MS)
            return DURATION_TOO_LONG;
    }
    if (i == 0)
        return DURATION_NOT_A_NUMBER;
    n *= 1000;
    if (i < t.len && t.at[i] == '.') {
        int64_t weight = 100;
        size_t first = ++i;
        for (; i < t.len && is_digit(t.at[i]); i++, weight /= 10)
            n += (t.at[i] - '0') * weight;
        if (i == first || i - first > 3)
            return DURATION_NOT_A_NUMBER;
    }
    *ret_thousandths = n;
    *ret_used = i;
    return DURATION_FINE;
}

enum duration_flaw duration_parse(struct text t, struct span *ret)
{
    if (t.len == 0)
        return DURATION_EMPTY;
    int64_t thousandths;
    size_t used;
    enum duration_flaw flaw = number_parse(t, &thousandths, &used);
    if (flaw != DURATION_FINE)
        return flaw;
    struct text rest = {t.at + used, t.len - used};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (!text_equal(rest, text_of(units[i].name)))
            continue;
        int64_t scaled;
        if (__builtin_mul_overflow(thousandths, units[i].ms, &scaled) ||
            scaled / 1000 > DURATION_MAX_MS)
            return DURATION_TOO_LONG;
        if (scaled % 1000 != 0)
            return DURATION_TOO_FINE;
        *ret = SPAN(scaled / 1000);
        return DURATION_FINE;
    }
    return DURATION_BAD_UNIT;
}

const char *duration_flaw_text(enum duration_flaw flaw)
{
    switch (flaw) {
    case DURATION_FINE:
        return "it is fine";
    case DURATION_EMPTY:
        return "a duration has at least one digit, as in 10s";
    case DURATION_NOT_A_NUMBER:
        return "a duration starts with a plain number, as in 500ms, 10s, 1.5m";
    case DURATION_BAD_UNIT:
        return "the units are ms, s, m, h and d; a bare number is seconds";
    case DURATION_TOO_LONG:
        return "a duration is at most 3660d";
    case DURATION_TOO_FINE:
        return "a duration is a whole number of milliseconds";
    }
    return "it is not a duration";
}

const char *duration_format(struct span s, char buf[DURATION_BYTES])
{
    int64_t ms = s.ms;
    if (ms == INT64_MAX)
        return memcpy(buf, "never", sizeof "never");
    const char *sign = ms < 0 ? "-" : "";
    uint64_t n = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    if (n < 1000)
        snprintf(buf, DURATION_BYTES, "%s%" PRIu64 "ms", sign, n);
    else if (n < 60000 && n % 1000 != 0)
        snprintf(buf, DURATION_BYTES, "%s%" PRIu64 ".%03" PRIu64 "s", sign, n / 1000, n % 1000);
    else if (n < 60000)
        snprintf(buf, DURATION_BYTES, "%s%" PRIu64 "s", sign, n / 1000);
    else if (n < 3600000 && n / 1000 % 60 != 0)
        snprintf(buf, DURATION_BYTES, "%s%" PRIu64 "m%" PRIu64 "s", sign, n / 60000, n / 1000 % 60);
    else if (n < 3600000)
        snprintf(buf, DURATION_BYTES, "%s%" PRIu64 "m", sign, n / 60000);
    else if (n < 86400000 && n / 60000 % 60 != 0)
        snprintf(buf, DURATION_BYTES, "%s%" PRIu64 "h%" PRIu64 "m", sign, n / 3600000,
                 n / 60000 % 60);
    else if (n < 86400000)
        snprintf(buf, DURATION_BYTES, "%s%" PRIu64 "h", sign, n / 3600000);
    else if (n / 3600000 % 24 != 0)
        snprintf(buf, DURATION_BYTES, "%s%" PRIu64 "d%" PRIu64 "h", sign, n / 86400000,
                 n / 3600000 % 24);
    else
        snprintf(buf, DURATION_BYTES, "%s%" PRIu64 "d", sign, n / 86400000);
    return buf;
}
