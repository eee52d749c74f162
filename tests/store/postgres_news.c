/* tests/store/postgres_news.c - what a neighbour tells is believed when it can write to the store,
 * for whom it is meant, and as far as it can be true (GRANTS in store/store.h).  No server runs:
 * nothing here asks one. */
#include <stdlib.h>
#include <string.h>

#include "store/postgres_engine.h"
#include "tap.h"

#define NAME "job"
#define OLD 1001u
#define NEW 1002u
#define SESSION 7u
#define VERDICT 5

static struct pg_store from, to;
static char news[NEIGHBOURS_NEWS_MAX];
static size_t len;

/* What the decision of `to` says and asks. */
static struct {
    bool granted, undisturbed, writes;
    uint64_t asks[2];
    char saw[16];
} does;

static int decide(void *arg, struct store_view *view)
{
    struct instant until;
    (void)arg;
    memcpy(does.saw, view->in[0].bytes, view->in[0].len);
    for (int i = 0; i < 2; i++) {
        if (does.asks[i] != 0)
            view->facts.liveness(view->facts.oracle, does.asks[i], &until);
    }
    view->granted = does.granted;
    view->undisturbed = does.undisturbed;
    if (does.writes) {
        view->out[0].what = STORE_PUT;
        view->out[0].len = 1;
        memcpy(view->out[0].bytes, "x", 1);
    }
    return VERDICT;
}

static void forget(struct pg_store *s)
{
    cache_forget(&s->records);
    cache_forget(&s->sessions);
    fence_set_free(&s->fences);
    free(s->relied.at);
    free(s->buffer[0]);
    memset(s, 0, sizeof *s);
}

static void know(struct pg_store *s, uint64_t version, const char *bytes)
{
    known_record_set(s, NAME, version, 10, bytes, strlen(bytes));
}

/* `from` has granted something to the session of `to`, which knows the record of before. */
static bool is_granted(void)
{
    struct work w = {.kind = WORK_UPDATE, .count = 1, .key = {(char[]){NAME}}};
    forget(&from);
    forget(&to);
    from.stamp = to.stamp = 3;
    from.has_bell_key = to.has_bell_key = true;
    memset(from.bell_key, 0x5a, sizeof from.bell_key);
    memset(to.bell_key, 0x5a, sizeof to.bell_key);
    to.session = SESSION;
    to.greeted = true;
    to.buffer[0] = malloc(STORE_RECORD_MAX);
    known_session_set(&to, &(struct known_session){
                               .head.id = SESSION, .beat = 1, .ttl_ms = 60000,
                               .expires = INSTANT(60000)});
    know(&to, OLD, "waits");
    know(&from, NEW, "holds");
    w.version[0] = NEW;
    w.queued = true;
    len = news_write(&from, &w, SESSION, news);
    memset(&does, 0, sizeof does);
    does.granted = does.undisturbed = true;
    does.asks[0] = SESSION;
    return to.buffer[0] && len > 0;
}

static bool is_known(uint64_t version)
{
    const struct known_record *k = known_record(&to, NAME);
    return k && k->version == version && k->told == (version == NEW);
}

static bool is_told_of_a_grant(void)
{
    struct store_update op = {.count = 1, .key = {NAME}, .decide = decide};
    struct work w = {.kind = WORK_UPDATE, .count = 1, .key = {(char[]){NAME}}, .op = &op.op};
    bool told = news_tell_grant(&to, &w);
    told = told && w.verdict == VERDICT;
    bytes_free(&w.data[0]);
    free(w.ring);
    return told;
}

static void a_grant_that_a_neighbour_tells_of_needs_no_look(void)
{
    CHECK(is_granted() && !is_told_of_a_grant());
    news_take(&to, news, len);
    CHECK(is_known(NEW) && is_told_of_a_grant() && memcmp(does.saw, "holds", 5) == 0);
}

/* Each of these could rest on what is no more. */
static void nothing_else_is_decided_on_news_alone(void)
{
    struct { bool granted, undisturbed, writes; uint64_t other; } wrong[] = {
        {false, true, false, 0},  /* it waits, or is gone */
        {true, false, false, 0},  /* it may have been told to stop, or its record be deleted */
        {true, true, true, 0},    /* there is more to do */
        {true, true, false, 8},   /* nobody knows whether another one lives */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(is_granted());
        does.granted = wrong[i].granted;
        does.undisturbed = wrong[i].undisturbed;
        does.writes = wrong[i].writes;
        does.asks[1] = wrong[i].other;
        news_take(&to, news, len);
        CHECK(is_known(NEW) && !is_told_of_a_grant());
    }
}

static void news_are_no_answer_of_the_server(void)
{
    CHECK(is_granted());
    news_take(&to, news, len);
    CHECK(known_record(&to, NAME)->head.stamp != to.stamp);
    know(&to, NEW, "holds"); /* and an answer is no news */
    CHECK(!is_told_of_a_grant());
}

/* Somebody of the same user who cannot ask the database, as in another container. */
static void who_does_not_know_the_key_is_not_believed(void)
{
    CHECK(is_granted());
    to.bell_key[3] ^= 1;
    news_take(&to, news, len);
    CHECK(is_known(OLD));
    to.bell_key[3] ^= 1;
    for (size_t i = 0; i < len; i++) {
        news[i] ^= 0x10;
        news_take(&to, news, len);
        news[i] ^= 0x10;
        news_take(&to, news, i);
        CHECK(is_known(OLD));
    }
    to.has_bell_key = false;
    memset(to.bell_key, 0, sizeof to.bell_key);
    news_take(&to, news, len);
    CHECK(is_known(OLD));
}

static void what_is_meant_for_another_session_is_not_taken(void)
{
    CHECK(is_granted());
    to.session = SESSION + 1;
    news_take(&to, news, len);
    CHECK(is_known(OLD));
}

/* The server that answers next may lack the last commits of the one before. */
static void who_has_lost_its_connection_asks(void)
{
    CHECK(is_granted());
    news_take(&to, news, len);
    to.greeted = false;
    CHECK(!is_told_of_a_grant());
    to.greeted = true;
    CHECK(is_told_of_a_grant());
}

/* The answer will say whether the record is as it was when it was asked. */
static void news_do_not_cross_a_question_about_the_same_name(void)
{
    struct work asks = {.kind = WORK_UPDATE, .count = 1, .key = {(char[]){NAME}}};
    CHECK(is_granted());
    to.flight = &asks;
    news_take(&to, news, len);
    CHECK(is_known(OLD));
    to.flight = NULL;
    news_take(&to, news, len);
    to.flight = &asks;
    CHECK(is_known(NEW) && !is_told_of_a_grant());
}

/* A write of ours may be under way (P2). */
static void a_name_with_a_fence_is_asked_about(void)
{
    char *key[] = {(char[]){NAME}};
    CHECK(is_granted());
    fence_raise(&to.fences, key, 1);
    news_take(&to, news, len);
    CHECK(is_known(NEW) && !is_told_of_a_grant());
}

static void news_are_of_what_was_written_and_fit(void)
{
    struct work w = {.kind = WORK_UPDATE, .count = 1, .key = {(char[]){NAME}}};
    static char much[8193];
    CHECK(is_granted());
    w.version[0] = NEW;
    CHECK(news_write(&from, &w, SESSION, news) == 0); /* it may be about to ask */
    w.queued = true;
    w.version[0] = OLD; /* somebody has written since */
    CHECK(news_write(&from, &w, SESSION, news) == 0);
    w.version[0] = NEW;
    known_record_set(&from, NAME, NEW, 10, much, sizeof much);
    CHECK(news_write(&from, &w, SESSION, news) == 0);
    known_record_set(&from, NAME, NEW, 10, much, sizeof much - 1);
    CHECK(news_write(&from, &w, SESSION, news) > 8192);
    from.has_bell_key = false; /* the store has functions of before */
    CHECK(news_write(&from, &w, SESSION, news) == 0);
}

int main(void)
{
    int code = TAP_RUN(TAP(a_grant_that_a_neighbour_tells_of_needs_no_look),
                       TAP(nothing_else_is_decided_on_news_alone),
                       TAP(news_are_no_answer_of_the_server),
                       TAP(who_does_not_know_the_key_is_not_believed),
                       TAP(what_is_meant_for_another_session_is_not_taken),
                       TAP(who_has_lost_its_connection_asks),
                       TAP(news_do_not_cross_a_question_about_the_same_name),
                       TAP(a_name_with_a_fence_is_asked_about),
                       TAP(news_are_of_what_was_written_and_fit));
    forget(&from);
    forget(&to);
    return code;
}
