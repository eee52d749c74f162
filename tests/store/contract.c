/* tests/store/contract.c - what every store promises (src/store/store.h).
 *
 *     contract memory | sqlite | ephemeral | trace | slow | postgres URL | etcd URL
 *
 * ephemeral is SQLite, asked for what may be lost with its sessions, as claims are; trace and slow
 * are SQLite behind the wrappers: every call is written down; every reply takes some turns. */
#include <pthread.h>

#include "place.h"
#include "tools.h"

/* ---- records -------------------------------------------------------------------------------- */

static void a_record_is_found_as_it_was_written(void)
{
    struct store *s = fresh();
    CHECK(update(s, "a", see, NULL) == 0);
    CHECK(update(s, "a", add_one, NULL) == 1);
    CHECK(update(s, "a", add_one, NULL) == 2);
    struct store *t = again();
    CHECK(update(t, "a", see, NULL) == 2);
    CHECK(update(t, "b", see, NULL) == 0);
    shut(t);
    shut(s);
}

static void a_record_of_the_greatest_size_is_kept(void)
{
    struct store *s = fresh();
    int byte = 'x';
    CHECK(update(s, "big", fill, &byte) == 0);
    CHECK(update(s, "big", is_filled, &byte) == 1);
    byte = 'y';
    CHECK(update(s, "big", fill, &byte) == 0);
    CHECK(update(s, "big", is_filled, &byte) == 1);
    shut(s);
}

static void a_deleted_record_is_gone(void)
{
    struct store *s = fresh();
    CHECK(update(s, "a", add_one, NULL) == 1);
    CHECK(update(s, "a", erase, NULL) == 0);
    CHECK(update(s, "a", erase, NULL) == 0);
    CHECK(update(s, "a", add_one, NULL) == 1);
    shut(s);
}

static void a_decision_that_fails_writes_nothing(void)
{
    struct store *s = fresh();
    uint64_t first, second;
    CHECK(update(s, "a", grant, &first) == 1);
    CHECK(update2(s, "b", "c", write_and_refuse, NULL) == TENURE_CONFLICT);
    CHECK(update(s, "b", see, NULL) == 0 && update(s, "c", see, NULL) == 0);
    CHECK(update(s, "a", grant, &second) == 1 && second > first && second - first < 1u << 30);
    shut(s);
}

static void who_looks_first_writes_all_the_same(void)
{
    struct store *s = fresh();
    struct store_update op = {.count = 1, .key = {"a"}, .decide = see, .look_first = true};
    store_update(s, &op);
    CHECK(finish(s, &op.op) == 0 && op.verdict == 0);
    op.decide = add_one;
    store_update(s, &op);
    CHECK(finish(s, &op.op) == 0 && op.verdict == 1);
    CHECK(update(s, "a", see, NULL) == 1);
    shut(s);
}

static void *mover(void *arg)
{
    struct store *s = again();
    intptr_t wrong = 0;
    bool back = arg != NULL;
    for (int i = 0; i < rounds(300); i++)
        wrong += update2(s, back ? "b" : "a", back ? "a" : "b", move_one, NULL) != 0;
    shut(s);
    return (void *)wrong;
}

static void an_update_of_several_records_happens_as_a_whole(void)
{
    struct store *s = fresh();
    pthread_t one, two;
    void *wrong_one, *wrong_two;
    int seen = 0;
    CHECK(pthread_create(&one, NULL, mover, NULL) == 0);
    CHECK(pthread_create(&two, NULL, mover, s) == 0);
    for (int i = 0; i < rounds(100); i++)
        seen |= update2(s, "a", "b", see_both, NULL);
    CHECK(pthread_join(one, &wrong_one) == 0 && pthread_join(two, &wrong_two) == 0);
    CHECK(!wrong_one && !wrong_two && seen == 0);
    CHECK(update(s, "a", see, NULL) == 0);
    shut(s);
}

static void *counter(void *arg)
{
    struct store *s = again();
    intptr_t failed = 0;
    (void)arg;
    for (int i = 0; i < rounds(500); i++)
        failed += update(s, "n", add_one, NULL) < 0;
    shut(s);
    return (void *)failed;
}

static void handles_that_write_at_once_lose_no_update(void)
{
    enum { HANDLES = 4 };
    struct store *s = fresh();
    pthread_t thread[HANDLES];
    void *failed;
    for (int i = 0; i < HANDLES; i++)
        CHECK(pthread_create(&thread[i], NULL, counter, NULL) == 0);
    for (int i = 0; i < HANDLES; i++)
        CHECK(pthread_join(thread[i], &failed) == 0 && !failed);
    CHECK(update(s, "n", see, NULL) == HANDLES * rounds(500));
    shut(s);
}

/* Starts an update of each name, and waits until all are done; returns how many failed. */
static int update_all(struct store *s, int names)
{
    enum { MOST = 40 };
    static char key[MOST][8];
    static int number[MOST];
    struct store_update op[MOST];
    int failed = 0;
    for (int i = 0; i < names && i < MOST; i++) {
        snprintf(key[i], sizeof key[i], "n%d", i);
        number[i] = i;
        op[i] = (struct store_update){.count = 1, .key = {key[i]}, .decide = count_or_flip};
        op[i].arg = &number[i];
        op[i].ephemeral = ephemeral;
        store_update(s, &op[i]);
    }
    for (int i = 0; i < names && i < MOST; i++)
        failed += finish(s, &op[i].op) != 0;
    return failed;
}

/* What is asked at once may travel together: nobody is harmed by another one's bad luck. */
static void updates_that_are_asked_at_once_happen_once_each(void)
{
    enum { NAMES = 40, ROUNDS = 12 };
    struct store *s = fresh(), *t = again();
    char key[8];
    int failed = 0, wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        failed += update_all(s, NAMES);
        snprintf(key, sizeof key, "n%d", 2 * round); /* what s remembers of it is wrong from now */
        failed += update(t, key, add_one, NULL) != round + 2;
    }
    for (int i = 0; i < NAMES; i++) {
        snprintf(key, sizeof key, "n%d", i);
        int expected = i % 2 != 0 ? ROUNDS % 2 : ROUNDS + (i < 2 * ROUNDS);
        wrong += update(t, key, see, NULL) != expected;
    }
    CHECK(failed == 0 && wrong == 0);
    shut(t);
    shut(s);
}

/* ---- reading -------------------------------------------------------------------------------- */

struct reading {
    char text[200];
    int limit;
    uint64_t session;
    enum liveness answer;
};

static bool note_key(void *arg, const struct store_record *record, struct facts *facts)
{
    struct reading *r = arg;
    struct instant until;
    size_t used = strlen(r->text);
    snprintf(r->text + used, sizeof r->text - used, "%s=%d ", record->key,
             (int)number_of(record));
    if (r->session != 0)
        r->answer = facts->liveness(facts->oracle, r->session, &until);
    return --r->limit != 0;
}

static const char *read_keys(struct store *s, const char *prefix, const char *after, int limit)
{
    static struct reading r;
    r = (struct reading){.limit = limit};
    struct store_read op = {.prefix = prefix, .after = after, .fn = note_key, .arg = &r};
    store_read(s, &op);
    return finish(s, &op.op) < 0 ? "failed" : r.text;
}

static void reading_goes_through_a_prefix_in_the_order_of_keys(void)
{
    struct store *s = fresh();
    static const char *const keys[] = {"b/2", "b/10", "a", "b~", "b", "c", "b/1/x", "b/1"};
    CHECK(strcmp(read_keys(s, "", NULL, 0), "") == 0);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        CHECK(update(s, keys[i], add_one, NULL) == 1);
    CHECK(strcmp(read_keys(s, "b", NULL, 0), "b=1 b/1=1 b/1/x=1 b/10=1 b/2=1 b~=1 ") == 0);
    CHECK(strcmp(read_keys(s, "b/", NULL, 0), "b/1=1 b/1/x=1 b/10=1 b/2=1 ") == 0);
    CHECK(strcmp(read_keys(s, "", NULL, 2), "a=1 b=1 ") == 0);
    CHECK(strcmp(read_keys(s, "d", NULL, 0), "") == 0);
    shut(s);
}

static void reading_goes_on_after_a_key(void)
{
    struct store *s = fresh();
    static const char *const keys[] = {"a", "b", "b/1", "b/2", "c"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        CHECK(update(s, keys[i], add_one, NULL) == 1);
    CHECK(strcmp(read_keys(s, "", "b", 2), "b/1=1 b/2=1 ") == 0);
    CHECK(strcmp(read_keys(s, "", "b/1/no-such-key", 0), "b/2=1 c=1 ") == 0);
    CHECK(strcmp(read_keys(s, "b/", "a", 0), "b/1=1 b/2=1 ") == 0);
    CHECK(strcmp(read_keys(s, "b/", "b/2", 0), "") == 0);
    CHECK(strcmp(read_keys(s, "b", "c", 0), "") == 0);
    shut(s);
}

static void who_reads_can_ask_who_is_alive(void)
{
    struct store *s = fresh();
    struct reading r = {.session = session_open(s, LONG), .answer = LIVE_GONE};
    CHECK(r.session != 0 && update(s, "a", add_one, NULL) == 1);
    struct store_read op = {.prefix = "a", .fn = note_key, .arg = &r};
    store_read(s, &op);
    CHECK(finish(s, &op.op) == 0 && r.answer == LIVE);
    CHECK(session_close(s, r.session) == 0);
    store_read(s, &op);
    CHECK(finish(s, &op.op) == 0 && r.answer == LIVE_GONE);
    shut(s);
}

/* ---- tokens --------------------------------------------------------------------------------- */

static void tokens_grow_over_deletion_and_over_opening_anew(void)
{
    struct store *s = fresh();
    uint64_t last = 0, token;
    for (int i = 0; i < 50; i++) {
        CHECK(update(s, i % 2 ? "a" : "b", grant, &token) == 1 && token > last);
        last = token;
        if (i % 5 == 0)
            CHECK(update(s, i % 2 ? "a" : "b", erase, NULL) == 0);
        if (i % 10 == 0) {
            shut(s);
            s = again();
        }
    }
    shut(s);
}

static void session_ids_are_never_used_twice_nor_zero(void)
{
    struct store *s = fresh();
    uint64_t last = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t id = session_open(s, LONG);
        CHECK(id > last);
        last = id;
        CHECK(session_close(s, id) == 0);
    }
    shut(s);
}

/* ---- sessions ------------------------------------------------------------------------------- */

static void an_open_session_is_alive_for_its_ttl_from_its_last_renewal(void)
{
    struct store *s = fresh(), *t = again();
    struct question q = {.session = session_open(s, LONG)};
    CHECK(q.session != 0);
    CHECK(update(t, "a", ask_liveness, &q) == 0 && q.answer == LIVE);
    CHECK(q.until.ms > q.now.ms && q.until.ms <= q.now.ms + LONG.ms);
    struct instant first = q.until;
    int64_t limit = clock_now().ms + LIMIT_MS;
    do {
        CHECK(session_renew(s, q.session, NULL) == 0);
        CHECK(update(t, "a", ask_liveness, &q) == 0 && q.answer == LIVE);
    } while (q.until.ms == first.ms && before(limit)); /* within the same millisecond */
    CHECK(q.until.ms > first.ms);
    shut(t);
    shut(s);
}

static void an_expired_session_is_dead_for_ever(void)
{
    struct store *s = fresh(), *t = again();
    uint64_t id = session_open(s, SPAN(30));
    int64_t limit = clock_now().ms + LIMIT_MS;
    CHECK(id != 0);
    while (liveness_of(t, id) == LIVE && before(limit))
        continue;
    CHECK(liveness_of(t, id) == LIVE_EXPIRED);
    CHECK(session_renew(s, id, NULL) == TENURE_LOST && err.text[0]);
    CHECK(liveness_of(t, id) != LIVE && liveness_of(s, id) != LIVE);
    CHECK(session_renew(s, id, NULL) == TENURE_LOST);
    uint64_t next = session_open(s, LONG);
    CHECK(next > id && liveness_of(t, next) == LIVE && liveness_of(t, id) != LIVE);
    shut(t);
    shut(s);
}

static void a_closed_session_is_gone_for_ever(void)
{
    struct store *s = fresh(), *t = again();
    uint64_t id = session_open(s, LONG);
    CHECK(id != 0 && session_close(s, id) == 0);
    CHECK(liveness_of(t, id) == LIVE_GONE);
    CHECK(session_close(s, id) == 0);
    CHECK(session_renew(s, id, NULL) == TENURE_LOST);
    CHECK(liveness_of(t, id) == LIVE_GONE);
    shut(t);
    shut(s);
}

static void a_session_that_never_was_is_gone(void)
{
    struct store *s = fresh();
    CHECK(liveness_of(s, 12345) == LIVE_GONE);
    CHECK(session_renew(s, 12345, NULL) == TENURE_LOST);
    shut(s);
}

static void the_session_of_a_closed_handle_is_gone(void)
{
    struct store *s = fresh(), *t = again();
    struct question q = {.session = session_open(s, LONG)};
    CHECK(q.session != 0 && liveness_of(t, q.session) == LIVE);
    shut(s);
    CHECK(update(t, "a", ask_and_write, &q) == 1 && q.answer == LIVE_GONE);
    CHECK(liveness_of(t, q.session) == LIVE_GONE);
    shut(t);
}

static void who_was_told_to_stop_hears_it_once_with_a_renewal(void)
{
    struct store *s = fresh(), *t = again();
    uint64_t id = session_open(s, LONG);
    bool noticed = true;
    CHECK(session_renew(s, id, &noticed) == 0 && !noticed);
    CHECK(update(t, "a", tell, &id) == 1);
    CHECK(session_renew(s, id, &noticed) == 0 && noticed);
    CHECK(session_renew(s, id, &noticed) == 0 && !noticed);
    shut(t);
    shut(s);
}

/* ---- hints ---------------------------------------------------------------------------------- */

static void a_bell_is_heard_by_the_session_it_is_rung_for(void)
{
    struct store *s = fresh(), *t = again(), *u = again();
    uint64_t id = session_open(s, LONG);
    uint64_t other = session_open(u, LONG);
    CHECK(id != 0 && other != 0);
    CHECK(update(t, "a/b", ring_at, &id) == 1);
    CHECK(heard(s, "a/b", LIMIT_MS));
    drain(s);
    CHECK(update(s, "c", ring_at, &id) == 1); /* also for oneself */
    CHECK(heard(s, "c", LIMIT_MS));
    shut(u);
    shut(t);
    shut(s);
}

static int see_grant(void *arg, struct store_view *view)
{
    ask_liveness(arg, view);
    view->granted = true;
    return see(NULL, view);
}

/* P3: what a session was told before its last renewal is not overlooked (GRANTS in store.h). */
static void a_grant_that_was_heard_of_is_not_older_than_the_last_renewal(void)
{
    struct store *s = fresh(), *t = again();
    struct question q = {.session = session_open(s, LONG)};
    CHECK(update(t, "a", ring_at, &q.session) == 1);
    CHECK(heard(s, "a", LIMIT_MS));
    CHECK(update(s, "a", see_grant, &q) == 1 && q.answer == LIVE);
    CHECK(update(t, "a", add_one, NULL) == 2); /* and nobody is rung */
    CHECK(session_renew(s, q.session, NULL) == 0);
    CHECK(update(s, "a", see_grant, &q) == 2);
    shut(t);
    shut(s);
}

static void a_grant_that_was_heard_of_is_gone_with_its_record(void)
{
    struct store *s = fresh(), *t = again();
    struct question q = {.session = session_open(s, LONG)};
    CHECK(update(t, "a", ring_at, &q.session) == 1);
    CHECK(heard(s, "a", LIMIT_MS));
    bool told = store_vigil(s) != 0;
    CHECK(update(t, "a", erase, NULL) == 0);
    do /* a hint may be for nothing, but one comes */
        CHECK(!told || heard(s, "a", LIMIT_MS));
    while (told && update(s, "a", see_grant, &q) != 0);
    shut(t);
    shut(s);
}

static void more_bells_than_anybody_takes_lose_no_wake_up(void)
{
    struct store *s = fresh(), *t = again();
    uint64_t id = session_open(s, LONG);
    char key[16];
    for (int i = 0; i < rounds(1000); i++) {
        snprintf(key, sizeof key, "k/%d", i);
        CHECK(update(t, key, ring_at, &id) == 1);
    }
    CHECK(heard(s, "k/0", LIMIT_MS)); /* by name, or by "look at everything" */
    shut(t);
    shut(s);
}

static void the_end_of_a_watched_session_gives_a_hint(void)
{
    struct store *s = fresh(), *t = again(), *u = again();
    uint64_t own = session_open(s, LONG), first = session_open(t, LONG);
    uint64_t second = session_open(u, LONG);
    CHECK(own != 0 && first != 0 && second != 0);
    s->ops->watch_sessions(s, "x", &first, 1);
    s->ops->watch_sessions(s, "y", (uint64_t[]){first, second}, 2);
    drain(s);
    CHECK(session_close(u, second) == 0);
    CHECK(heard(s, "y", LIMIT_MS));
    shut(t);
    CHECK(heard(s, "x", LIMIT_MS));
    shut(u);
    shut(s);
}

static void watching_who_has_ended_gives_a_hint(void)
{
    struct store *s = fresh(), *t = again();
    uint64_t own = session_open(s, LONG), id = session_open(t, LONG);
    CHECK(own != 0 && id != 0);
    shut(t);
    s->ops->watch_sessions(s, "x", &id, 1);
    CHECK(heard(s, "x", LIMIT_MS));
    shut(s);
}

static void who_watches_no_more_is_not_told(void)
{
    struct store *s = fresh(), *t = again(), *u = again();
    uint64_t id = session_open(t, LONG), other = session_open(u, LONG);
    CHECK(id != 0 && other != 0);
    s->ops->watch_sessions(s, "x", &id, 1);
    s->ops->watch_sessions(s, "y", &other, 1);
    s->ops->watch_sessions(s, "x", NULL, 0);
    drain(s);
    shut(t);
    shut(u);
    struct store_hint hint;
    bool told_x = false, told_y = false;
    int64_t limit = clock_now().ms + LIMIT_MS;
    while (!told_y && before(limit)) {
        s->ops->process(s);
        while (s->ops->next_hint(s, &hint)) {
            told_x = told_x || (!hint.all && hint.key_hash == store_key_hash("x"));
            told_y = told_y || hint.all || hint.key_hash == store_key_hash("y");
        }
    }
    CHECK(told_y && !told_x);
    shut(s);
}

static void an_observer_hears_of_every_change(void)
{
    struct store *s = fresh(), *t = again();
    CHECK(s->ops->watch_all(s, true, &err) == 0);
    for (int i = 0; i < 20; i++) {
        drain(s);
        CHECK(update(t, "a", add_one, NULL) == i + 1);
        CHECK(heard(s, "a", LIMIT_MS));
    }
    CHECK(s->ops->watch_all(s, false, &err) == 0);
    shut(t);
    shut(s);
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void the_descriptor_is_the_same_for_the_life_of_a_handle(void)
{
    struct store *s = fresh();
    int fd = s->ops->fd(s);
    CHECK(fd >= 0);
    uint64_t id = session_open(s, LONG);
    CHECK(s->ops->watch_all(s, true, &err) == 0 && s->ops->fd(s) == fd);
    CHECK(session_close(s, id) == 0 && session_open(s, LONG) != 0 && s->ops->fd(s) == fd);
    shut(s);
}

static void its_url_opens_the_same_store(void)
{
    struct store *s = fresh();
    CHECK(update(s, "a", add_one, NULL) == 1);
    snprintf(url, sizeof url, "%s", s->ops->url(s));
    struct store *t = again();
    CHECK(update(t, "a", add_one, NULL) == 2);
    CHECK(strcmp(t->ops->url(t), url) == 0);
    shut(t);
    shut(s);
}

static void an_abandoned_operation_is_done_and_its_outcome_unknown(void)
{
    struct store *s = fresh();
    struct store_update op = {.count = 1, .key = {"a"}, .decide = add_one};
    store_update(s, &op);
    if (!op.op.done) {
        s->ops->abandon(s, &op.op);
        CHECK(op.op.done && op.op.code == TENURE_UNSURE);
    }
    CHECK(update(s, "b", add_one, NULL) == 1);
    shut(s);
}

static void count_finding(void *arg, bool fine, const char *text)
{
    (void)fine;
    if (text && *text)
        ++*(int *)arg;
}

static void it_tells_what_is_unsafe(void)
{
    struct store *s = fresh();
    int findings = 0;
    s->ops->examine(s, count_finding, &findings);
    CHECK(findings > 0);
    shut(s);
}

int main(int argc, char **argv)
{
    kind = argc >= 2 ? argv[1] : "memory";
    base = argc >= 3 ? argv[2] : NULL;
    ephemeral = strcmp(kind, "ephemeral") == 0 || strcmp(kind, "slow") == 0;
    sink = fopen("/dev/null", "w");
    if (!sink)
        return 2;
    int failed = TAP_RUN(
        TAP(a_record_is_found_as_it_was_written), TAP(a_record_of_the_greatest_size_is_kept),
        TAP(a_deleted_record_is_gone), TAP(a_decision_that_fails_writes_nothing),
        TAP(who_looks_first_writes_all_the_same),
        TAP(an_update_of_several_records_happens_as_a_whole),
        TAP(handles_that_write_at_once_lose_no_update),
        TAP(updates_that_are_asked_at_once_happen_once_each),
        TAP(reading_goes_through_a_prefix_in_the_order_of_keys),
        TAP(reading_goes_on_after_a_key), TAP(who_reads_can_ask_who_is_alive),
        TAP(tokens_grow_over_deletion_and_over_opening_anew),
        TAP(session_ids_are_never_used_twice_nor_zero),
        TAP(an_open_session_is_alive_for_its_ttl_from_its_last_renewal),
        TAP(an_expired_session_is_dead_for_ever), TAP(a_closed_session_is_gone_for_ever),
        TAP(a_session_that_never_was_is_gone), TAP(the_session_of_a_closed_handle_is_gone),
        TAP(who_was_told_to_stop_hears_it_once_with_a_renewal),
        TAP(a_bell_is_heard_by_the_session_it_is_rung_for),
        TAP(a_grant_that_was_heard_of_is_not_older_than_the_last_renewal),
        TAP(a_grant_that_was_heard_of_is_gone_with_its_record),
        TAP(more_bells_than_anybody_takes_lose_no_wake_up),
        TAP(the_end_of_a_watched_session_gives_a_hint),
        TAP(watching_who_has_ended_gives_a_hint), TAP(who_watches_no_more_is_not_told),
        TAP(an_observer_hears_of_every_change),
        TAP(the_descriptor_is_the_same_for_the_life_of_a_handle),
        TAP(its_url_opens_the_same_store),
        TAP(an_abandoned_operation_is_done_and_its_outcome_unknown),
        TAP(it_tells_what_is_unsafe));
    fclose(sink);
    scratch_remove();
    return failed;
}
