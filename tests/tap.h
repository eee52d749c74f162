/* tests/tap.h - the test harness: TAP on stdout, one line per case.
 *
 * A case is a function; its name in the list is the promise that it guards.  CHECK() notes the
 * first thing that is not so and leaves the function.
 *
 *     static void a_stale_token_is_refused(void) { CHECK(f(1) == 2); }
 *     int main(void) { return TAP_RUN(TAP(a_stale_token_is_refused)); }
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *tap_failure; /* text of the failed CHECK of the running case */
static int tap_line;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            tap_failure = #cond;                                                                   \
            tap_line = __LINE__;                                                                   \
            return;                                                                                \
        }                                                                                          \
    } while (0)

struct tap_case {
    const char *name;
    void (*run)(void);
};

#define TAP(function) {#function, function}
#define TAP_RUN(...)                                                                               \
    tap_run((const struct tap_case[]){__VA_ARGS__},                                                \
            sizeof((const struct tap_case[]){__VA_ARGS__}) / sizeof(struct tap_case))

static inline void tap_print_name(const char *name)
{
    for (; *name; name++)
        putchar(*name == '_' ? ' ' : *name);
}

static inline int tap_run(const struct tap_case *cases, size_t n)
{
    int failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..%zu\n", n);
    for (size_t i = 0; i < n; i++) {
        tap_failure = NULL;
        cases[i].run();
        printf("%sok %zu - ", tap_failure ? "not " : "", i + 1);
        tap_print_name(cases[i].name);
        if (tap_failure) {
            printf("\n# line %d: %s\n", tap_line, tap_failure);
            failed++;
        } else {
            putchar('\n');
        }
    }
    return failed > 0;
}

#endif
