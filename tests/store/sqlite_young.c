/* tests/store/sqlite_young.c - sessions that have no row yet. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "page.h"

#define PURGE_EVERY 61 /* as in store/sqlite_session.c */

/* ---- young sessions ------------------------------------------------------------------------- */

static void a_session_has_a_row_from_its_first_renewal_on(void)
{
    fresh();
    struct store *s = open_store(), *other = open_store();
    uint64_t id = session_open(s, LONG);
    CHECK(id != 0 && count_young() == 1 && count_rows() == 0 && liveness_of(other, id) == LIVE);
    CHECK(session_renew(s, id, NULL) == 0);
    CHECK(count_young() == 0 && count_rows() == 1 && liveness_of(other, id) == LIVE);
    CHECK(session_renew(s, id, NULL) == 0 && count_rows() == 1);
    CHECK(session_close(s, id) == 0 && count_rows() == 0);
    CHECK(liveness_of(other, id) == LIVE_GONE && session_renew(s, id, NULL) == TENURE_LOST);
    shut(other);
    shut(s);
}

static void a_short_session_costs_no_commit(void)
{
    fresh();
    struct store *s = open_store(), *other = open_store();
    uint64_t before = page().commits, id = session_open(s, LONG);
    ephemeral = true;
    CHECK(update(s, "a", add_one, NULL) == 1 && liveness_of(other, id) == LIVE);
    CHECK(session_close(s, id) == 0 && liveness_of(other, id) == LIVE_GONE);
    ephemeral = false;
    CHECK(page().commits == before);
    shut(other);
    shut(s);
}

static uint64_t hold_session(void)
{
    return session_open(open_store(), LONG);
}

/* Who asks clears it away, without a commit. */
static void who_died_young_is_gone_at_once(void)
{
    struct question q;
    fresh();
    struct store *s = open_store();
    end(child(hold_session, &q.session));
    CHECK(count_young() == 1);
    uint64_t before = page().commits;
    ephemeral = true;
    CHECK(update(s, "a", ask_and_write, &q) == 1 && q.answer == LIVE_GONE);
    ephemeral = false;
    CHECK(count_young() == 0 && page().commits == before);
    CHECK(liveness_of(s, q.session) == LIVE_GONE);
    shut(s);
}

/* P7: who is found dead while the page is emptied does not live on in the row that it gets then,
 * with no FIFO left to say that its process has ended. */
static void who_died_young_is_gone_also_when_the_page_is_emptied(void)
{
    struct store *s[GATE_YOUNG + 2];
    struct question q;
    int count = 0;
    fresh();
    struct store *other = open_store();
    pid_t pid = child(hold_session, &q.session);
    while (count_young() < GATE_YOUNG) {
        s[count] = open_store();
        CHECK(session_open(s[count++], LONG) != 0);
    }
    end(pid);
    uint64_t token;
    while ((page().token + 1) % PURGE_EVERY != 0)
        CHECK(update(other, "t", grant, &token) >= 0);
    CHECK(count_young() == GATE_YOUNG && session_open(other, LONG) != 0 && count_young() == 0);
    CHECK(liveness_of(other, q.session) == LIVE_GONE);
    while (count > 0)
        shut(s[--count]);
    shut(other);
}

static void who_expired_young_has_expired_also_when_there_is_no_room(void)
{
    struct store *s[GATE_YOUNG + 2];
    fresh();
    struct store *first = open_store();
    uint64_t id = session_open(first, SPAN(50));
    int64_t limit = clock_now().ms + LIMIT_MS;
    while (liveness_of(first, id) == LIVE && before(limit))
        usleep(5000);
    CHECK(liveness_of(first, id) == LIVE_EXPIRED && count_rows() == 0);
    for (int i = 0; i < GATE_YOUNG + 2; i++) {
        s[i] = open_store();
        CHECK(session_open(s[i], LONG) != 0);
    }
    CHECK(liveness_of(first, id) == LIVE_EXPIRED && count_rows() > 1);
    for (int i = 0; i < GATE_YOUNG + 2; i++)
        shut(s[i]);
    shut(first);
}

static void there_may_be_more_than_the_page_has_room_for(void)
{
    enum { MANY = 2 * GATE_YOUNG + 10 };
    struct store *s[MANY];
    uint64_t id[MANY];
    fresh();
    struct store *other = open_store();
    for (int i = 0; i < MANY; i++) {
        s[i] = open_store();
        id[i] = session_open(s[i], LONG);
        CHECK(id[i] != 0);
    }
    for (int i = 0; i < MANY; i++)
        CHECK(liveness_of(other, id[i]) == LIVE && session_renew(s[i], id[i], NULL) == 0);
    for (int i = 0; i < MANY; i++)
        CHECK(session_close(s[i], id[i]) == 0 && liveness_of(other, id[i]) == LIVE_GONE);
    CHECK(count_young() == 0 && count_rows() == 0);
    for (int i = 0; i < MANY; i++)
        shut(s[i]);
    shut(other);
}

static void a_young_one_that_is_told_to_stop_hears_it_with_its_first_renewal(void)
{
    bool noticed = false;
    fresh();
    struct store *s = open_store(), *other = open_store();
    uint64_t id = session_open(s, LONG);
    CHECK(update(other, "a", tell, &id) == 1 && count_young() == 1);
    CHECK(session_renew(s, id, &noticed) == 0 && noticed);
    CHECK(session_renew(s, id, &noticed) == 0 && !noticed);
    shut(other);
    shut(s);
}

/* P12: a full disk takes nobody's tenure. */
static void a_young_one_is_renewed_where_it_is_when_there_is_no_room_for_its_row(void)
{
    uint64_t id = 0;
    int rows = -1, most = 1000;
    bool noticed = false;
    fresh();
    struct store *s = open_store(), *other = open_store();
    CHECK(sqlite3_exec(sqlite_of(s)->db, "PRAGMA max_page_count = 1", NULL, NULL, NULL) ==
          SQLITE_OK); /* as many as there are */
    for (char key[8] = "n"; most > 0 && update(s, key, add_one, NULL) == 1; most--)
        snprintf(key, sizeof key, "n%d", most);
    while (count_rows() != rows && most-- > 0) {
        rows = count_rows();
        id = session_open(s, LONG);
        CHECK(id != 0 && session_renew(s, id, NULL) == 0);
    }
    struct question before_ = {.session = id}, after = {.session = id};
    CHECK(most > 0 && count_young() == 1 && update(other, "a", ask_liveness, &before_) == 0);
    usleep(2000);
    CHECK(session_renew(s, id, NULL) == 0 && count_rows() == rows);
    CHECK(update(other, "a", ask_liveness, &after) == 0 && after.answer == LIVE &&
          after.until.ms > before_.until.ms);
    CHECK(update(other, "a", tell, &id) == 1);
    CHECK(session_renew(s, id, &noticed) == 0 && noticed);
    CHECK(sqlite3_exec(sqlite_of(s)->db, "PRAGMA max_page_count = 100000", NULL, NULL, NULL) ==
              SQLITE_OK &&
          session_renew(s, id, &noticed) == 0 && !noticed && count_rows() == rows + 1);
    shut(other);
    shut(s);
}

/* Somebody died when the row was committed, and the place not yet free. */
static bool leave_both(uint64_t id)
{
    char text[160];
    uint32_t moving = 1;
    snprintf(text, sizeof text,
             "INSERT INTO item(id, ttl, expires, noticed) VALUES(%llu, 60000, 1000000000000, 0)",
             (unsigned long long)id);
    return meddle(text) == SQLITE_OK &&
           set_page(offsetof(struct gate_page, moving), &moving, sizeof moving);
}

/* P1: whoever has ended does not come back by its row, which nobody would know to be dead. */
static void a_session_with_place_and_row_ends_with_both(void)
{
    struct question q;
    fresh();
    struct store *s = open_store(), *other = open_store();
    uint64_t id = session_open(s, LONG);
    CHECK(leave_both(id) && liveness_of(other, id) == LIVE);
    CHECK(session_close(s, id) == 0);
    CHECK(liveness_of(other, id) == LIVE_GONE && count_rows() == 0 && count_young() == 0);
    end(child(hold_session, &q.session));
    CHECK(leave_both(q.session));
    ephemeral = true;
    CHECK(update(other, "a", ask_and_write, &q) == 1 && q.answer == LIVE_GONE);
    ephemeral = false;
    CHECK(liveness_of(other, q.session) == LIVE_GONE && count_rows() == 0 && count_young() == 0);
    CHECK(page().moving == 0);
    shut(other);
    shut(s);
}

/* ---- looking from outside ------------------------------------------------------------------- */

static _Atomic unsigned reads; /* so often the records were read */
static _Atomic bool reads_no_more;
static _Atomic unsigned missed; /* living sessions that were taken for gone */

static bool ask_of_record(void *arg, const struct store_record *record, struct facts *facts)
{
    struct instant until;
    uint64_t session = number_of(record);
    (void)arg;
    if (session != 0 && facts->liveness(facts->oracle, session, &until) != LIVE)
        missed++;
    return true;
}

static void *reader(void *arg)
{
    struct store_read look = {.prefix = "", .fn = ask_of_record};
    struct store *s = arg;
    while (!reads_no_more) {
        look.op.done = false;
        store_read(s, &look);
        reads++;
    }
    return NULL;
}

static int name_session(void *arg, struct store_view *view)
{
    put_number(view, 0, *(uint64_t *)arg);
    return 1;
}

/* As `tenure status` does: whoever a record names came before the record. */
static void who_looks_from_outside_never_misses_who_lives(void)
{
    enum { ROUNDS = 1500, OPEN = 8 };
    struct store *s[OPEN] = {NULL};
    uint64_t id_at[OPEN];
    unsigned read_at[OPEN];
    pthread_t thread;
    int64_t limit = clock_now().ms + LIMIT_MS;
    fresh();
    struct store *other = open_store();
    CHECK(pthread_create(&thread, NULL, reader, other) == 0);
    for (int i = 0; i < ROUNDS && before(limit); i++) {
        int at = i % OPEN, renews = (i + OPEN - 3) % OPEN;
        if (s[at]) { /* once what it was named in has been read to the end */
            while (reads < read_at[at] + 2 && before(limit))
                continue;
            shut(s[at]);
        }
        s[at] = open_store();
        uint64_t id = session_open(s[at], LONG);
        ephemeral = i % 4 != 0;
        CHECK(update(s[at], "a", name_session, &id) == 1);
        id_at[at] = id;
        read_at[(i + OPEN - 1) % OPEN] = reads; /* the one before is named no more */
        if (i >= OPEN && i % 3 == 0)            /* no session is renewed as soon as it is open */
            CHECK(session_renew(s[renews], id_at[renews], NULL) == 0);
    }
    ephemeral = false;
    reads_no_more = true;
    CHECK(pthread_join(thread, NULL) == 0 && reads > 0);
    CHECK(missed == 0);
    for (int i = 0; i < OPEN; i++)
        shut(s[i]);
    shut(other);
}

static int open_with_descriptors(rlim_t most)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
        _exit(setrlimit(RLIMIT_NOFILE, &limit) == 0 ? -open_code() : 0);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? -WEXITSTATUS(status) : 0;
}

/* P1, P3: who cannot see who is alive, after the gate was lost, does not take it for nobody. */
static void a_young_one_behind_a_lost_gate_counts_whoever_looks(void)
{
    fresh();
    struct store *s = open_store();
    CHECK(session_open(s, LONG) != 0 && count_rows() == 0);
    for (rlim_t most = 4; most < 40; most++) {
        unlink(companion("-gate"));
        CHECK(open_with_descriptors(most) != 0 && open_code() == TENURE_BUSY);
    }
    shut(s);
}

static struct store *between;

/* Somebody comes in when a reader has begun, and has no snapshot yet. */
static int come_between(unsigned type, void *arg, void *statement, void *text)
{
    (void)type, (void)arg, (void)statement, (void)text;
    if (between)
        return 0;
    between = open_store();
    uint64_t id = session_open(between, LONG);
    return update(between, "a", name_session, &id) == 1 ? 0 : 1;
}

static void who_comes_in_before_the_snapshot_is_seen(void)
{
    struct store_read look = {.prefix = "", .fn = ask_of_record};
    fresh();
    struct store *s = open_store();
    missed = 0;
    CHECK(sqlite3_trace_v2(sqlite_of(s)->db, SQLITE_TRACE_STMT, come_between, NULL) == SQLITE_OK);
    store_read(s, &look);
    CHECK(look.op.code == 0 && between && update(s, "a", see, NULL) != 0);
    CHECK(missed == 0);
    shut(between);
    shut(s);
}

int main(void)
{
    int failed = TAP_RUN(
        TAP(a_session_has_a_row_from_its_first_renewal_on),
        TAP(a_short_session_costs_no_commit),
        TAP(who_died_young_is_gone_at_once),
        TAP(who_died_young_is_gone_also_when_the_page_is_emptied),
        TAP(who_expired_young_has_expired_also_when_there_is_no_room),
        TAP(there_may_be_more_than_the_page_has_room_for),
        TAP(a_young_one_that_is_told_to_stop_hears_it_with_its_first_renewal),
        TAP(a_young_one_is_renewed_where_it_is_when_there_is_no_room_for_its_row),
        TAP(a_session_with_place_and_row_ends_with_both),
        TAP(who_looks_from_outside_never_misses_who_lives),
        TAP(who_comes_in_before_the_snapshot_is_seen),
        TAP(a_young_one_behind_a_lost_gate_counts_whoever_looks));
    scratch_remove();
    return failed;
}
