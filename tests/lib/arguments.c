/* tests/lib/arguments.c - what can never be right is refused with its value and its rule, whatever
 * call it is given to, and leaves nothing behind.
 *
 *     arguments memory | arguments sqlite */
#include <limits.h>

#include "lib.h"

/* The call was refused as misuse, with all these words in its message. */
#define REFUSED(call, ...) refused((call), (const char *[]){__VA_ARGS__, NULL})

static bool refused(int code, const char *const *words)
{
    bool fine = code == TENURE_INVALID && err.code == code;
    for (const char *c = err.text; *c; c++)
        fine = fine && (unsigned char)*c >= ' ' && (unsigned char)*c < 127; /* fit to be printed */
    for (; fine && *words; words++)
        fine = strstr(err.text, *words) != NULL;
    if (!fine)
        printf("# %d: %s\n", code, err.text);
    err = (tenure_error){0};
    return fine;
}

/* N times the same byte. */
static const char *many(char byte, size_t n)
{
    static char text[2000];
    memset(text, byte, n);
    text[n] = '\0';
    return text;
}

static bool count(void *arg, const tenure_name_info *info)
{
    (void)info;
    ++*(int *)arg;
    return true;
}

static bool is_empty(tenure *t)
{
    int names = 0;
    return tenure_look(t, "", count, &names, &err) == 0 && names == 0;
}

static int open_with(tenure_options opt)
{
    tenure *t = NULL;
    int code = tenure_open(url, &opt, &t, &err);
    tenure_close(t);
    return code;
}

static void a_ttl_below_its_floor_or_above_its_ceiling_is_refused(void)
{
    static const int64_t bad[] = {0, -1, 499, 24 * 3600 * 1000 + 1, INT64_MAX, INT64_MIN};
    fresh();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tenure_options opt = TENURE_OPTIONS_INIT;
        opt.ttl_ms = bad[i];
        CHECK(REFUSED(open_with(opt), "TTL", bad[i] < 500 ? "500ms" : "1d"));
    }
}

static void options_that_make_no_sense_are_refused(void)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    fresh();
    opt.flags = 1u << 30;
    CHECK(REFUSED(open_with(opt), "flag", "0x40000000"));
    opt = (tenure_options)TENURE_OPTIONS_INIT;
    opt.size = offsetof(tenure_options, max_silence_ms);
    CHECK(REFUSED(open_with(opt), "TENURE_OPTIONS_INIT"));
    opt = (tenure_options)TENURE_OPTIONS_INIT;
    opt.max_silence_ms = -1;
    CHECK(REFUSED(open_with(opt), "max_silence_ms", "-1"));
    static const int64_t no_wait[] = {-1, 86400001, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof no_wait / sizeof no_wait[0]; i++) {
        opt = (tenure_options)TENURE_OPTIONS_INIT;
        opt.open_ms = no_wait[i];
        CHECK(REFUSED(open_with(opt), "open_ms", "86400000"));
    }
    static const char *const as[] = {"", "\xff\xfe", "two\nlines", "\xc3"};
    opt = (tenure_options)TENURE_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof as / sizeof as[0]; i++) {
        opt.as = as[i];
        CHECK(REFUSED(open_with(opt), "holder's name", "128 bytes"));
    }
    opt.as = many('x', 129);
    CHECK(REFUSED(open_with(opt), "128 bytes"));
}

/* Options as a later version of the header may have them. */
struct later {
    tenure_options known;
    int64_t more;
};

static void options_of_a_newer_program_are_taken_when_they_ask_for_nothing_new(void)
{
    tenure *t = NULL;
    struct later later = {TENURE_OPTIONS_INIT, 0};
    later.known.size = sizeof later;
    fresh();
    CHECK(tenure_open(url, &later.known, &t, &err) == 0);
    t = tenure_close(t);
    later.more = 1;
    CHECK(REFUSED(tenure_open(url, &later.known, &t, &err), "newer libtenure") && !t);
    later.known.size = SIZE_MAX;
    CHECK(REFUSED(tenure_open(url, &later.known, &t, &err), "TENURE_OPTIONS_INIT") && !t);
}

static void a_url_with_a_typo_is_refused_with_what_is_known(void)
{
    static const char *const bad[] = {"", "sqllite:x.db", "x.db", "sqlite", "sqlite:", ":x",
                                      "sqlite:x?fs=all", "sqlite:x\ny", "sqlite://host/x"};
    fresh();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        tenure *t = NULL;
        CHECK(REFUSED(tenure_open(bad[i], NULL, &t, &err), i == 0 ? "empty" : "sqlite"));
        CHECK(t == NULL && REFUSED(tenure_raise(bad[i], 1, &err), i == 0 ? "empty" : "sqlite"));
    }
}

/* Every call that takes a name takes the same names. */
static bool every_call_refuses(tenure *t, const char *name, const char *word)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c = NULL;
    tenure_token token = 0;
    return REFUSED(tenure_ask(t, name, &terms, &c, &err), word) &&
           REFUSED(tenure_acquire(t, name, &terms, &c, &err), word) &&
           REFUSED(tenure_lease_take(t, name, "o", 1000, &token, &err), word) &&
           REFUSED(tenure_lease_renew(t, name, 1, 1000, &err), word) &&
           REFUSED(tenure_lease_drop(t, name, 1, &err), word) &&
           REFUSED(tenure_evict(t, name, 1, "o", "r", &err), word) &&
           REFUSED(tenure_resign(t, name, "o", &token, &err), word) &&
           REFUSED(tenure_transfer(t, name, "b", "o", 0, &token, &err), word) && c == NULL &&
           token == 0;
}

static void a_name_that_is_none_is_refused_by_every_call(void)
{
    fresh();
    tenure *t = open_as("a", 0);
    CHECK(every_call_refuses(t, "", "at least one byte"));
    CHECK(every_call_refuses(t, NULL, "at least one byte"));
    CHECK(every_call_refuses(t, "a//b", "segment is empty"));
    CHECK(every_call_refuses(t, "/a", "segment is empty"));
    CHECK(every_call_refuses(t, "a/", "segment is empty"));
    CHECK(every_call_refuses(t, "a/../b", "\"..\""));
    CHECK(every_call_refuses(t, "a b", "0x20"));
    CHECK(every_call_refuses(t, "a\xff", "0xff"));
    CHECK(every_call_refuses(t, "caf\xc3\xa9", "0xc3"));
    CHECK(every_call_refuses(t, "a\x1b[2J", "0x1b"));
    CHECK(every_call_refuses(t, many('n', 256), "255 bytes"));
    CHECK(is_empty(t));
    tenure_close(t);
}

static bool ask_refuses(tenure *t, tenure_terms terms, const char *word)
{
    tenure_claim *c = NULL;
    return REFUSED(tenure_ask(t, "a", &terms, &c, &err), word) &&
           REFUSED(tenure_acquire(t, "a", &terms, &c, &err), word) && c == NULL;
}

static void terms_that_make_no_sense_are_refused(void)
{
    const tenure_terms fine = TENURE_TERMS_INIT;
    tenure_terms bad;
    fresh();
    tenure *t = open_as("a", 0);
#define BAD(member, value, word) (bad = fine, bad.member = (value), ask_refuses(t, bad, word))
    CHECK(BAD(size, 0, "TENURE_TERMS_INIT"));
    CHECK(BAD(kind, (tenure_kind)0, "kind 0") && BAD(kind, TENURE_LEASE, "kind 2"));
    CHECK(BAD(permits, 0, "0 permits") && BAD(permits, 257, "1 to 256"));
    CHECK(BAD(permits, UINT_MAX, "1 to 256"));
    CHECK(BAD(priority, 1001, "1001") && BAD(priority, INT_MIN, "-1000 to 1000"));
    CHECK(BAD(wait_ms, -2, "-2") && BAD(wait_ms, INT64_MIN, "TENURE_FOREVER"));
    CHECK(BAD(value, many('v', 1025), "1025 bytes") && BAD(value, "\xc3\x28", "UTF-8"));
    CHECK(BAD(value, "two\nlines", "control"));
    bad = fine;
    bad.shared = true;
    bad.permits = 2;
    CHECK(ask_refuses(t, bad, "shared"));
    bad = fine;
    bad.kind = TENURE_ELECTION;
    bad.shared = true;
    CHECK(ask_refuses(t, bad, "one leader"));
    CHECK(is_empty(t));
    tenure_close(t);
}

static void a_lease_of_no_length_or_no_owner_is_refused(void)
{
    static const int64_t bad[] = {0, -1, 499, 366ll * 24 * 3600 * 1000 + 1, INT64_MAX, INT64_MIN};
    tenure_token token = 0;
    fresh();
    tenure *t = open_as("a", 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK(REFUSED(tenure_lease_take(t, "x", "o", bad[i], &token, &err), "500ms to 366d"));
        CHECK(REFUSED(tenure_lease_renew(t, "x", 1, bad[i], &err), "500ms to 366d"));
    }
    CHECK(REFUSED(tenure_lease_take(t, "x", "", 1000, &token, &err), "owner"));
    CHECK(REFUSED(tenure_lease_take(t, "x", "\xff", 1000, &token, &err), "owner", "UTF-8"));
    CHECK(REFUSED(tenure_lease_take(t, "x", many('o', 129), 1000, &token, &err), "129 bytes"));
    CHECK(token == 0 && is_empty(t));
    tenure_close(t);
}

static void an_operator_says_who_and_why_in_text(void)
{
    tenure_token token = 0;
    fresh();
    tenure *t = open_as("a", 0);
    CHECK(REFUSED(tenure_evict(t, "x", 1, many('b', 129), "r", &err), "129 bytes"));
    CHECK(REFUSED(tenure_evict(t, "x", 1, "o", many('r', 201), &err), "reason", "201 bytes"));
    CHECK(REFUSED(tenure_evict(t, "x", 1, "o", "\x01", &err), "reason", "control"));
    CHECK(REFUSED(tenure_resign(t, "x", "\xff", &token, &err), "UTF-8"));
    CHECK(REFUSED(tenure_transfer(t, "x", NULL, "o", 0, &token, &err), "candidate"));
    CHECK(REFUSED(tenure_transfer(t, "x", "", "o", 0, &token, &err), "candidate"));
    CHECK(REFUSED(tenure_transfer(t, "x", many('t', 129), "o", 0, &token, &err), "128 bytes"));
    CHECK(REFUSED(tenure_transfer(t, "x", "b", "o", -2, &token, &err), "-2"));
    CHECK(token == 0 && is_empty(t));
    tenure_close(t);
}

static void a_value_that_is_too_long_does_not_replace_the_published_one(void)
{
    fresh();
    tenure *t = open_as("a", 0);
    tenure_claim *c;
    CHECK(acquire(t, "x", 0, &c) == 0);
    CHECK(REFUSED(tenure_publish(c, many('v', 1025), &err), "1025 bytes"));
    CHECK(REFUSED(tenure_publish(c, "\xff", &err), "UTF-8"));
    CHECK(tenure_check(c) == TENURE_STANDING);
    tenure_close(t);
}

int main(int argc, char **argv)
{
    is_sqlite = argc > 1 && strcmp(argv[1], "sqlite") == 0;
    return TAP_RUN(TAP(a_ttl_below_its_floor_or_above_its_ceiling_is_refused),
                   TAP(options_that_make_no_sense_are_refused),
                   TAP(options_of_a_newer_program_are_taken_when_they_ask_for_nothing_new),
                   TAP(a_url_with_a_typo_is_refused_with_what_is_known),
                   TAP(a_name_that_is_none_is_refused_by_every_call),
                   TAP(terms_that_make_no_sense_are_refused),
                   TAP(a_lease_of_no_length_or_no_owner_is_refused),
                   TAP(an_operator_says_who_and_why_in_text),
                   TAP(a_value_that_is_too_long_does_not_replace_the_published_one));
}
