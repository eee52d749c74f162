/* tests/store/etcd_fight.c - who loses an attempt at a record lets others go first, as many as have
 * lost to the same write.  How many that are is a guess, and a wrong one must cost little.
 *
 *     etcd_fight URL */
#include "place.h"
#include "tools.h"

enum { OTHERS = 1000, AT_ONCE_MS = 1500 };
enum { TIMES = 10, FEW_OTHERS = 100, SOON_MS = 1200 };

/* Adds one to a two only, so it has nothing more to write when it has lost. */
static int add_to_two(void *arg, struct store_view *view)
{
    return number_of(&view->in[0]) == 2 ? add_one(arg, view) : see(arg, view);
}

/* Somebody loses to a write that is old by then, when many of other names have come since: what he
 * leaves looks as if as many had lost. */
static void whoever_was_late_holds_up_nobody_who_is_late_as_well(void)
{
    struct store *s = fresh(), *t = again(), *u = again();
    CHECK(update(s, "job", add_one, NULL) == 1);
    CHECK(update(t, "job", add_one, NULL) == 2);
    CHECK(update(u, "job", add_one, NULL) == 3);
    CHECK(update(s, "job", add_one, NULL) == 4);
    for (int i = 0; i < OTHERS; i++)
        CHECK(update(s, "other", add_one, NULL) == i + 1);
    CHECK(update(t, "job", add_to_two, NULL) == 4);
    int64_t began = clock_now().ms;
    CHECK(update(u, "job", add_one, NULL) == 5);
    CHECK(clock_now().ms - began < AT_ONCE_MS);
    shut(u);
    shut(t);
    shut(s);
}

/* The one who holds goes without a successor: there is nobody left to be let go first. */
static void whoever_lets_others_go_first_hears_that_the_name_is_free(void)
{
    struct store *s = fresh(), *t = again(), *u = again();
    int64_t waited = 0;
    CHECK(session_open(u, LONG) != 0); /* so that it hears of what is deleted */
    for (int i = 0; i < TIMES; i++) {
        struct store_update op = {.count = 1, .key = {"job"}, .decide = add_one};
        CHECK(update(s, "job", add_one, NULL) == 1);
        CHECK(update(t, "job", add_one, NULL) == 2);
        CHECK(update(u, "job", add_one, NULL) == 3);
        CHECK(update(s, "job", add_one, NULL) == 4);
        for (int k = 0; k < FEW_OTHERS; k++)
            CHECK(update(s, "other", add_one, NULL) > 0);
        CHECK(update(t, "job", add_to_two, NULL) == 4);
        int64_t began = clock_now().ms;
        store_update(u, &op);
        for (int turn = 0; turn < 2 && !op.op.done; turn++) { /* its attempt has failed */
            rest(u, began + LIMIT_MS);
            u->ops->process(u);
        }
        CHECK(update(s, "job", erase, NULL) == 0);
        CHECK(finish(u, &op.op) == 0);
        waited += clock_now().ms - began;
        CHECK(update(u, "job", erase, NULL) == 0);
        CHECK(update(t, "job", see, NULL) == 0 && update(s, "job", see, NULL) == 0);
    }
    CHECK(waited < SOON_MS);
    shut(u);
    shut(t);
    shut(s);
}

int main(int argc, char **argv)
{
    kind = "etcd";
    base = argc >= 2 ? argv[1] : "etcd://127.0.0.1";
    return TAP_RUN(TAP(whoever_was_late_holds_up_nobody_who_is_late_as_well),
                   TAP(whoever_lets_others_go_first_hears_that_the_name_is_free));
}
