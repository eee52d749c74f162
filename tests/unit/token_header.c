#include "wire/token_header.h"
#include "tap.h"

static enum token_header_flaw flaw_of(const char *value)
{
    struct text name;
    uint64_t token;
    return token_header_parse(text_of(value), &name, &token);
}

static void a_name_and_a_token_are_read(void)
{
    struct text name;
    uint64_t token;
    CHECK(token_header_parse(text_of("billing/invoices 42"), &name, &token) == 0);
    CHECK(text_equal(name, text_of("billing/invoices")) && token == 42);
    CHECK(token_header_parse(text_of(" \ta 9223372036854775807 "), &name, &token) == 0);
    CHECK(text_equal(name, text_of("a")) && token == INT64_MAX);
}

static void what_is_no_token_is_told_from_what_is_no_name(void)
{
    CHECK(flaw_of("") == TOKEN_HEADER_EMPTY);
    CHECK(flaw_of(" \t ") == TOKEN_HEADER_EMPTY);
    CHECK(flaw_of("billing/invoices") == TOKEN_HEADER_NO_TOKEN);
    CHECK(flaw_of("42") == TOKEN_HEADER_NO_TOKEN);
    CHECK(flaw_of("billing//invoices 42") == TOKEN_HEADER_BAD_NAME);
    CHECK(flaw_of("a\xff 42") == TOKEN_HEADER_BAD_NAME);
}

static void a_token_has_one_spelling(void)
{
    static const char *const bad[] = {"a 0", "a -1", "a +1", "a 042", "a 4e1", "a 0x2a", "a 42.0",
                                      "a  42", "a 42 43", "a 42,b 43", "a \t42", "a 42x",
                                      "a 9223372036854775808", "a 18446744073709551617",
                                      "a 99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(flaw_of(bad[i]) == TOKEN_HEADER_BAD_TOKEN);
}

static void what_was_there_stays_on_a_flaw(void)
{
    struct text name = text_of("before");
    uint64_t token = 7;
    CHECK(token_header_parse(text_of("a 0"), &name, &token) == TOKEN_HEADER_BAD_TOKEN);
    CHECK(text_equal(name, text_of("before")) && token == 7);
}

int main(void)
{
    return TAP_RUN(TAP(a_name_and_a_token_are_read),
                   TAP(what_is_no_token_is_told_from_what_is_no_name),
                   TAP(a_token_has_one_spelling), TAP(what_was_there_stays_on_a_flaw));
}
