/* tests/store/etcd_limits.c - etcd limits how long the lists of a Txn are, how deep it is and how
 * many bytes it has, and takes no key twice: what is asked at once travels together only as far as
 * that allows, and nobody notices.
 *
 *     etcd_limits URL */
#include "place.h"
#include "tools.h"

enum { NAMES = 64, SESSIONS = 58 };

/* A decision that relies on some sessions, and knows who writes next. */
struct plan {
    uint64_t relied[SESSIONS], next;
    int relies;
    size_t bytes; /* of the record */
};

static int follow(void *arg, struct store_view *view)
{
    const struct plan *p = arg;
    struct instant ignored;
    for (int i = 0; i < p->relies; i++)
        view->facts.liveness(view->facts.oracle, p->relied[i], &ignored);
    memset(view->out[0].bytes, 'x', p->bytes);
    view->out[0].len = p->bytes;
    view->out[0].what = STORE_PUT;
    view->fx->next = p->next;
    view->fx->changed = true;
    return 0;
}

/* Others write this name, too: it will go apart from the others. */
static void contend(struct store *s, struct store *t, const char *name)
{
    CHECK(update(s, name, add_one, NULL) >= 0);
    CHECK(update(t, name, add_one, NULL) >= 0);
    CHECK(update(s, name, add_one, NULL) >= 0);
}

/* Asks all of it while another commit is under way, so that it goes together; returns how many
 * failed. */
static int ask_together(struct store *s, struct store_update *op, int count)
{
    struct store_update first = {.count = 1, .key = {"first"}, .decide = add_one};
    int failed = update(s, "first", add_one, NULL) < 0;
    store_update(s, &first);
    for (int i = 0; i < count; i++)
        store_update(s, &op[i]);
    failed += finish(s, &first.op) != 0;
    for (int i = 0; i < count; i++) {
        bool fine = finish(s, &op[i].op) == 0;
        if (!fine && failed++ == 0)
            printf("# %s\n", err.text);
    }
    return failed;
}

/* Of each number, since the limit is on what they are together. */
static void one_that_tells_the_next_writer_may_go_with_any_number_of_others(void)
{
    static char name[NAMES][8];
    struct store *s = fresh(), *t = again(), *u = again();
    struct store_update op[NAMES];
    struct plan alone = {.bytes = 8}, told = {.bytes = 8};
    alone.relied[alone.relies++] = session_open(s, LONG);
    told.relied[told.relies++] = alone.relied[0];
    told.relied[told.relies++] = told.next = session_open(t, LONG);
    told.relied[told.relies++] = session_open(u, LONG);
    for (int others = NAMES - 6; others < NAMES; others++) {
        for (int i = 0; i < others; i++) {
            snprintf(name[i], sizeof name[i], "%d/%d", others, i);
            CHECK(update(s, name[i], see, NULL) == 0);
            op[i] = (struct store_update){.count = 1, .key = {name[i]}, .decide = follow};
            op[i].arg = &alone;
        }
        contend(s, t, "hot");
        op[others] = (struct store_update){.count = 1, .key = {"hot"}, .decide = follow};
        op[others].arg = &told;
        CHECK(ask_together(s, op, others + 1) == 0);
    }
    shut(u);
    shut(t);
    shut(s);
}

static void long_keys_are_counted(void)
{
    static char name[NAMES][8];
    struct store *s = fresh();
    struct store_update op[NAMES];
    struct plan crowd = {.relies = SESSIONS, .bytes = 8000};
    shut(s);
    size_t len = strlen(url), room = sizeof url - 1 - len;
    memset(url + len, 'x', room < 160 ? room : 160); /* all keys begin with it */
    s = again();
    struct store *t = again();
    for (int i = 0; i < SESSIONS; i++)
        crowd.relied[i] = session_open(t, LONG) + (uint64_t)i; /* taken for alive at first */
    for (int i = 0; i < NAMES; i++) {
        snprintf(name[i], sizeof name[i], "n%d", i);
        contend(s, t, name[i]);
        op[i] = (struct store_update){.count = 1, .key = {name[i]}, .decide = follow};
        op[i].arg = &crowd;
    }
    CHECK(ask_together(s, op, NAMES) == 0);
    shut(t);
    shut(s);
}

static int erase_both(void *arg, struct store_view *view)
{
    erase(arg, view);
    view->out[1].what = STORE_DELETE;
    return 0;
}

/* What was deleted is told below one of 256 keys. */
static void two_names_may_be_deleted_that_are_told_by_one_key(void)
{
    struct store *s = fresh();
    char other[8];
    for (int i = 0; i < 4000; i++) {
        snprintf(other, sizeof other, "b%d", i);
        if (store_key_hash(other) % 256 == store_key_hash("a") % 256)
            break;
    }
    CHECK(update2(s, "a", other, add_one, NULL) == 1);
    CHECK(update2(s, "a", other, erase_both, NULL) == 0);
    CHECK(update2(s, "a", other, see_both, NULL) == 0);
    shut(s);
}

int main(int argc, char **argv)
{
    kind = "etcd";
    base = argc >= 2 ? argv[1] : "etcd://127.0.0.1";
    return TAP_RUN(TAP(one_that_tells_the_next_writer_may_go_with_any_number_of_others),
                   TAP(long_keys_are_counted),
                   TAP(two_names_may_be_deleted_that_are_told_by_one_key));
}
