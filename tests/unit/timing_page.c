/* Executes docs/timing.md: each table after "<!-- executed: NAME -->" must be what the rules do,
 * row by row.  The path of the page is the argument. */
#include <stdlib.h>

#include "core/pulse.h"
#include "tap.h"

#define ROWS_MAX 32

struct row {
    int64_t at;
    char event[16];
};

struct table {
    int count;
    struct row row[ROWS_MAX];
};

static const char *page_path;

/* ---- the page ------------------------------------------------------------------------------ */

static void table_add(struct table *t, int64_t at, const char *event)
{
    if (t->count == ROWS_MAX)
        abort();
    struct row *row = &t->row[t->count++];
    row->at = at;
    snprintf(row->event, sizeof row->event, "%s", event);
}

/* Reads the table that follows the marker; empty when there is none. */
static struct table page_table(const char *name)
{
    struct table t = {0};
    char line[512], marker[64], event[16];
    long long at;
    bool within = false;
    snprintf(marker, sizeof marker, "<!-- executed: %s -->", name);
    FILE *f = fopen(page_path, "r");
    if (f == NULL)
        abort();
    while (fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "<!-- executed", 13) == 0 || line[0] == '#')
            within = strncmp(line, marker, strlen(marker)) == 0;
        else if (within && sscanf(line, "| %lld | %15[a-z] |", &at, event) == 2)
            table_add(&t, at, event);
    }
    (void)fclose(f); /* it was only read */
    return t;
}

static bool tables_equal(const struct table *page, const struct table *code)
{
    for (int i = 0; i < page->count || i < code->count; i++) {
        const struct row *p = &page->row[i], *c = &code->row[i];
        if (i >= page->count || i >= code->count || p->at != c->at ||
            strcmp(p->event, c->event) != 0) {
            printf("# row %d: the page says %lld %s, the code %lld %s\n", i + 1,
                   i < page->count ? (long long)p->at : -1, i < page->count ? p->event : "-",
                   i < code->count ? (long long)c->at : -1, i < code->count ? c->event : "-");
            return false;
        }
    }
    return page->count > 0;
}

/* ---- the rules ----------------------------------------------------------------------------- */

struct scenario {
    int64_t latency_ms;   /* of an answer */
    int first, last;      /* attempts that are never answered, from 1 on; 0: none */
    int64_t paused_at;    /* nothing runs from here on; 0: never */
    int64_t until;        /* the end of the story */
};

struct story {
    struct pulse pulse;
    struct table table;
    int attempts;
    int64_t answer_at; /* 0: none is on its way */
    bool stopped, killed;
};

static void story_answer(struct story *s, int64_t now)
{
    bool doubtful = s->pulse.state == PULSE_DOUBTFUL;
    s->answer_at = 0;
    pulse_answered(&s->pulse, INSTANT(now), PULSE_RENEWED);
    table_add(&s->table, now, "answered");
    if (doubtful && s->pulse.state == PULSE_SAFE)
        table_add(&s->table, now, "safe");
}

static void story_supervise(struct story *s, int64_t now)
{
    int64_t since = now - s->pulse.sent.ms;
    if (!s->stopped && since >= s->pulse.timing.stop.ms)
        table_add(&s->table, now, "stop"), s->stopped = true;
    if (!s->killed && since >= s->pulse.timing.kill.ms)
        table_add(&s->table, now, "kill"), s->killed = true;
}

static void story_step(struct story *s, const struct scenario *sc, int64_t now)
{
    if (s->answer_at == now && now != 0)
        story_answer(s, now);
    struct pulse_plan plan = pulse_step(&s->pulse, INSTANT(now));
    if (plan.abandon)
        table_add(&s->table, now, "abandon");
    if (plan.renew) {
        table_add(&s->table, now, "renew");
        pulse_sent(&s->pulse, INSTANT(now));
        s->attempts++;
        bool lost = s->attempts >= sc->first && s->attempts <= sc->last;
        s->answer_at = lost ? 0 : now + sc->latency_ms;
    }
    if (plan.after == PULSE_LOST && plan.before != PULSE_LOST)
        table_add(&s->table, now, "lost");
    else if (plan.after == PULSE_DOUBTFUL && plan.before == PULSE_SAFE)
        table_add(&s->table, now, "doubtful");
    story_supervise(s, now);
}

static struct table tell(struct scenario sc)
{
    struct story s = {0};
    struct timing t;
    if (timing_derive(SPAN(10000), SPAN(-1), &t, NULL) != TIMING_FINE)
        abort();
    pulse_start(&s.pulse, &t, INSTANT(0));
    int64_t end = sc.paused_at > 0 ? sc.paused_at : sc.until;
    for (int64_t now = 0; now <= end && s.pulse.state != PULSE_LOST; now++)
        story_step(&s, &sc, now);
    if (sc.paused_at > 0) {
        table_add(&s.table, pulse_deadline(&s.pulse).ms, "deadline");
        table_add(&s.table, s.pulse.sent.ms + t.ttl.ms, "store");
        if (pulse_step(&s.pulse, INSTANT(sc.until)).after == PULSE_LOST)
            table_add(&s.table, sc.until, "lost");
    }
    if (s.pulse.state == PULSE_LOST && sc.paused_at == 0) {
        table_add(&s.table, s.pulse.sent.ms + t.ttl.ms, "store");
        table_add(&s.table, s.pulse.sent.ms + timing_gap_max(&t).ms, "notice");
    }
    return s.table;
}

static bool page_tells(const char *name, struct scenario sc)
{
    struct table page = page_table(name), code = tell(sc);
    return tables_equal(&page, &code);
}

/* ---- the cases ----------------------------------------------------------------------------- */

static void the_settings_are_those_of_the_page(void)
{
    struct timing t;
    CHECK(timing_derive(SPAN(10000), SPAN(-1), &t, NULL) == TIMING_FINE);
    struct table page = page_table("settings"), code = {0};
    table_add(&code, t.ttl.ms, "ttl");
    table_add(&code, t.renew.ms, "renew");
    table_add(&code, t.attempt.ms, "attempt");
    table_add(&code, t.doubt.ms, "doubt");
    table_add(&code, t.deadline.ms, "deadline");
    table_add(&code, t.grace.ms, "grace");
    table_add(&code, t.margin.ms, "margin");
    table_add(&code, t.stop.ms, "stop");
    table_add(&code, t.kill.ms, "kill");
    table_add(&code, timing_gap_max(&t).ms, "gap");
    table_add(&code, timing_overlap_max(&t).ms, "overlap");
    CHECK(tables_equal(&page, &code));
}

/* P3, P4 */
static void a_silent_store_ends_as_the_page_says(void)
{
    CHECK(page_tells("silent", (struct scenario){.first = 1, .last = 99, .until = 20000}));
}

static void a_lost_answer_ends_as_the_page_says(void)
{
    CHECK(page_tells("one-lost", (struct scenario){
                                     .latency_ms = 2, .first = 1, .last = 1, .until = 9000}));
}

static void two_lost_answers_end_as_the_page_says(void)
{
    CHECK(page_tells("two-lost", (struct scenario){
                                     .latency_ms = 3, .first = 1, .last = 2, .until = 10100}));
}

static void slow_answers_end_as_the_page_says(void)
{
    CHECK(page_tells("slow", (struct scenario){.latency_ms = 1500, .until = 9000}));
}

static void a_pause_ends_as_the_page_says(void)
{
    CHECK(page_tells("paused",
                     (struct scenario){.latency_ms = 3, .paused_at = 4000, .until = 20000}));
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    page_path = argv[1];
    return TAP_RUN(TAP(the_settings_are_those_of_the_page),
                   TAP(a_silent_store_ends_as_the_page_says),
                   TAP(a_lost_answer_ends_as_the_page_says),
                   TAP(two_lost_answers_end_as_the_page_says),
                   TAP(slow_answers_end_as_the_page_says), TAP(a_pause_ends_as_the_page_says));
}
