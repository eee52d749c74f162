/* tests/unit/cli_exit.c - no two results share an exit code (P6). */
#include <tenure/error.h>

#include "cli/exit.h"
#include "tap.h"

static const int codes[] = {
#define CODE(name, value, class, sentence) value,
    TENURE_ERROR_TABLE(CODE)
#undef CODE
};
enum { CODES = sizeof codes / sizeof codes[0] };

static void nothing_that_failed_is_0(void)
{
    CHECK(exit_of(0) == EXIT_FINE && exit_of(1) == EXIT_FINE);
    for (int i = 0; i < CODES; i++)
        CHECK(exit_of(codes[i]) != EXIT_FINE);
    CHECK(exit_of(-9999) == EXIT_INTERNAL);
}

static void a_code_of_ours_is_none_that_commands_use(void)
{
    for (int i = 0; i < CODES; i++)
        CHECK(exit_of(codes[i]) >= EXIT_USAGE && exit_of(codes[i]) < EXIT_NOT_EXECUTABLE);
}

/* NOT_OWNED is the one exception: to who shows a token, "it does not stand" is a loss. */
static void two_classes_never_share_a_code(void)
{
    for (int i = 0; i < CODES; i++) {
        for (int j = 0; j < CODES; j++) {
            if (codes[i] == TENURE_NOT_OWNED || codes[j] == TENURE_NOT_OWNED)
                continue;
            bool same = tenure_class(codes[i]) == tenure_class(codes[j]);
            CHECK(same == (exit_of(codes[i]) == exit_of(codes[j])));
        }
    }
}

static void unsure_is_neither_refused_nor_unreachable(void)
{
    CHECK(exit_of(TENURE_UNSURE) == EXIT_UNSURE);
    CHECK(exit_of(TENURE_HELD) == EXIT_REFUSED && exit_of(TENURE_TIMED_OUT) == EXIT_REFUSED);
    CHECK(exit_of(TENURE_UNREACHABLE) == EXIT_UNREACHABLE);
    CHECK(exit_of(TENURE_LOST) == EXIT_LOST && exit_of(TENURE_NOT_OWNED) == EXIT_LOST);
}

int main(void)
{
    return TAP_RUN(TAP(nothing_that_failed_is_0), TAP(a_code_of_ours_is_none_that_commands_use),
                   TAP(two_classes_never_share_a_code),
                   TAP(unsure_is_neither_refused_nor_unreachable));
}
