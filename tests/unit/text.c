#include "core/text.h"
#include "core/name.h"
#include "tap.h"

static enum name_flaw flaw_of(const char *name)
{
    return name_check(text_of(name), NULL);
}

static void well_formed_utf8_is_clean(void)
{
    CHECK(text_is_clean(text_of("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92")));
    CHECK(text_is_clean(text_of("")));
}

static void overlong_surrogate_and_cut_utf8_is_not_clean(void)
{
    CHECK(!text_is_clean(text_of("\xc0\xaf")));
    CHECK(!text_is_clean(text_of("\xe0\x80\xaf")));
    CHECK(!text_is_clean(text_of("\xed\xa0\x80")));
    CHECK(!text_is_clean(text_of("\xf4\x90\x80\x80")));
    CHECK(!text_is_clean(text_of("\xe2\x82")));
    CHECK(!text_is_clean(text_of("\x80")));
}

static void control_characters_are_not_clean(void)
{
    CHECK(!text_is_clean(text_of("a\nb")));
    CHECK(!text_is_clean((struct text){"a\0b", 3}));
    CHECK(!text_is_clean(text_of("\x7f")));
}

static void ordinary_names_are_accepted(void)
{
    CHECK(flaw_of("a") == NAME_FINE);
    CHECK(flaw_of("billing/invoices") == NAME_FINE);
    CHECK(flaw_of("a.b_c-d:e@f+g=h,i~j%2F/...") == NAME_FINE);
}

static void odd_names_are_refused_by_their_rule(void)
{
    CHECK(flaw_of("") == NAME_EMPTY);
    CHECK(flaw_of("/a") == NAME_EMPTY_SEGMENT);
    CHECK(flaw_of("a/") == NAME_EMPTY_SEGMENT);
    CHECK(flaw_of("a//b") == NAME_EMPTY_SEGMENT);
    CHECK(flaw_of("a/./b") == NAME_DOT_SEGMENT);
    CHECK(flaw_of("..") == NAME_DOT_SEGMENT);
    CHECK(flaw_of("a b") == NAME_BAD_BYTE);
    CHECK(flaw_of("caf\xc3\xa9") == NAME_BAD_BYTE);
    CHECK(name_check((struct text){"a\0b", 3}, NULL) == NAME_BAD_BYTE);
}

static void the_byte_at_fault_is_told(void)
{
    size_t at = 99;
    CHECK(name_check(text_of("ab/c*d"), &at) == NAME_BAD_BYTE && at == 4);
    CHECK(name_check(text_of("ab//d"), &at) == NAME_EMPTY_SEGMENT && at == 3);
}

static void names_have_at_most_255_bytes(void)
{
    char name[257];
    memset(name, 'x', sizeof name);
    CHECK(name_check((struct text){name, 255}, NULL) == NAME_FINE);
    CHECK(name_check((struct text){name, 256}, NULL) == NAME_TOO_LONG);
}

int main(void)
{
    return TAP_RUN(TAP(well_formed_utf8_is_clean),
                   TAP(overlong_surrogate_and_cut_utf8_is_not_clean),
                   TAP(control_characters_are_not_clean), TAP(ordinary_names_are_accepted),
                   TAP(odd_names_are_refused_by_their_rule), TAP(the_byte_at_fault_is_told),
                   TAP(names_have_at_most_255_bytes));
}
