/* tests/store/wrappers.c - what trace and faulty add to a store. */
#include "store/faulty.h"
#include "store/trace.h"
#include "tools.h"

static struct store *memory(void)
{
    const struct store_options opt = {.create = true};
    struct store *s;
    if (store_open("memory:", &opt, &s, &err) < 0)
        abort();
    return s;
}

static struct store *faulty(struct faulty_rule rule, uint64_t seed)
{
    struct store *s = faulty_wrap(memory(), &rule, 1, seed);
    if (!s)
        abort();
    return s;
}

static void what_is_refused_did_not_happen(void)
{
    struct store *s = faulty((struct faulty_rule){.call = FAULTY_UPDATE, .from = 2, .times = 1}, 1);
    CHECK(update(s, "a", add_one, NULL) == 1);
    CHECK(update(s, "a", add_one, NULL) == TENURE_UNREACHABLE);
    CHECK(update(s, "a", add_one, NULL) == 2);
    shut(s);
}

static void what_is_unsure_happened_when_its_reply_was_lost(void)
{
    struct store *s = faulty(
        (struct faulty_rule){.call = FAULTY_UPDATE, .fault = FAULT_LOSE, .times = 1}, 1);
    CHECK(update(s, "a", add_one, NULL) == TENURE_UNSURE);
    CHECK(update(s, "a", see, NULL) == 1);
    shut(s);
}

static void a_slow_reply_is_of_something_done_and_a_late_call_of_nothing_yet(void)
{
    static const struct faulty_rule rules[] = {
        {.call = FAULTY_UPDATE, .fault = FAULT_SLOW, .times = 1, .turns = 3},
        {.call = FAULTY_UPDATE, .fault = FAULT_LATE, .from = 2, .times = 1, .turns = 3},
    };
    struct store *s = faulty_wrap(memory(), rules, 2, 1);
    CHECK(s);
    struct store_update slow = {.count = 1, .key = {"a"}, .decide = add_one};
    struct store_update late = {.count = 1, .key = {"a"}, .decide = add_one};
    store_update(s, &slow);
    store_update(s, &late);
    CHECK(!slow.op.done && !late.op.done);
    CHECK(update(s, "a", see, NULL) == 1);
    for (int i = 0; i < 3; i++) {
        CHECK(!slow.op.done && !late.op.done);
        s->ops->process(s);
    }
    CHECK(slow.op.done && slow.verdict == 1 && late.op.done && late.verdict == 2);
    shut(s);
}

static void a_late_call_that_is_abandoned_never_happens(void)
{
    struct store *s = faulty((struct faulty_rule){.call = FAULTY_UPDATE, .fault = FAULT_LATE,
                                                  .times = 1, .turns = 2}, 1);
    struct store_update op = {.count = 1, .key = {"a"}, .decide = add_one};
    store_update(s, &op);
    s->ops->abandon(s, &op.op);
    CHECK(op.op.done && op.op.code == TENURE_UNSURE);
    for (int i = 0; i < 5; i++)
        s->ops->process(s);
    CHECK(update(s, "a", see, NULL) == 0);
    shut(s);
}

static void a_session_that_was_called_dead_stays_dead(void)
{
    struct store *s = faulty(
        (struct faulty_rule){.call = FAULTY_RENEW, .fault = FAULT_DEAD, .times = 1}, 1);
    uint64_t id = session_open(s, LONG);
    CHECK(id != 0 && session_renew(s, id, NULL) == TENURE_LOST);
    CHECK(session_renew(s, id, NULL) == TENURE_LOST && liveness_of(s, id) == LIVE_GONE);
    shut(s);
}

static void a_call_that_happens_twice_gives_its_second_answer(void)
{
    struct store *s = faulty(
        (struct faulty_rule){.call = FAULTY_UPDATE, .fault = FAULT_TWICE, .times = 1}, 1);
    CHECK(update(s, "a", add_one, NULL) == 2);
    CHECK(update(s, "a", add_one, NULL) == 3);
    shut(s);
}

/* Which of 64 calls fail, as bits. */
static uint64_t failures(uint64_t seed)
{
    struct store *s = faulty((struct faulty_rule){.percent = 30}, seed);
    uint64_t bits = 0;
    for (int i = 0; i < 64; i++)
        bits |= (uint64_t)(update(s, "a", see, NULL) < 0) << i;
    shut(s);
    return bits;
}

static void the_same_seed_fails_at_the_same_calls(void)
{
    CHECK(failures(7) == failures(7) && failures(7) != failures(8));
    CHECK(failures(7) != 0 && failures(7) != UINT64_MAX);
}

static void a_lost_hint_is_not_given(void)
{
    struct store *s = faulty((struct faulty_rule){.call = FAULTY_HINT, .fault = FAULT_LOSE,
                                                  .times = 1}, 1);
    uint64_t id = session_open(s, LONG);
    struct store_hint hint;
    CHECK(update(s, "a", ring_at, &id) == 1 && !s->ops->next_hint(s, &hint));
    CHECK(update(s, "a", ring_at, &id) == 2 && s->ops->next_hint(s, &hint));
    shut(s);
}

static void a_trace_has_a_line_for_each_call_and_its_end(void)
{
    static const struct faulty_rule slow = {.call = FAULTY_CLOSE, .fault = FAULT_SLOW,
                                            .turns = 2};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    CHECK(out);
    struct store *inner = faulty_wrap(memory(), &slow, 1, 1);
    CHECK(inner);
    struct store *s = trace_wrap(inner, out);
    CHECK(s);
    uint64_t id = session_open(s, SPAN(1000));
    CHECK(update2(s, "a", "b", add_one, NULL) == 1);
    CHECK(session_renew(s, 99, NULL) == TENURE_LOST);
    CHECK(session_close(s, id) == 0);
    shut(s);
    CHECK(fclose(out) == 0);
    CHECK(strcmp(text, "open 1000ms -> 1\n"
                       "update a b -> 1\n"
                       "renew 99 -> LOST: session 99 is dead: it was ended\n"
                       "close 1 -> ...\n"
                       "close 1 => done\n") == 0);
    free(text);
}

int main(void)
{
    return TAP_RUN(TAP(what_is_refused_did_not_happen),
                   TAP(what_is_unsure_happened_when_its_reply_was_lost),
                   TAP(a_slow_reply_is_of_something_done_and_a_late_call_of_nothing_yet),
                   TAP(a_late_call_that_is_abandoned_never_happens),
                   TAP(a_session_that_was_called_dead_stays_dead),
                   TAP(a_call_that_happens_twice_gives_its_second_answer),
                   TAP(the_same_seed_fails_at_the_same_calls), TAP(a_lost_hint_is_not_given),
                   TAP(a_trace_has_a_line_for_each_call_and_its_end));
}
