#include "cli/timing.h"

#include <stdio.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "core/timing.h"
#include "wire/duration.h"

struct words {
    char text[DURATION_BYTES];
};

static const char *word(struct span s, struct words *w)
{
    return duration_format(s, w->text);
}

/* The settings broke `flaw`; `fine` holds the numbers that follow from the TTL alone. */
static int refuse(const struct invocation *inv, enum timing_flaw flaw, const struct timing *fine,
                  struct span grace, struct span bound)
{
    struct words g, b, m, t, d, h;
    if (flaw == TIMING_GRACE_TOO_SHORT)
        return usage_fail(inv,
                          "--grace %s: grace >= 2 x kill margin does not hold, %s < 2 x %s = %s "
                          "(ttl %s): there must be time between TERM and KILL",
                          word(grace, &g), word(grace, &h), word(fine->margin, &m),
                          word(bound, &b), word(fine->ttl, &t));
    return usage_fail(inv,
                      "--grace %s: grace <= deadline - doubt does not hold, %s > %s - %s = %s "
                      "(ttl %s): CMD would be stopped before there is any doubt",
                      word(grace, &g), word(grace, &h), word(fine->deadline, &m),
                      word(fine->doubt, &d), word(bound, &b), word(fine->ttl, &t));
}

int timing_settings(const struct invocation *inv, struct timing *ret)
{
    struct words t, b;
    struct span bound = SPAN(0), none = SPAN(-1);
    struct span ttl = option_span(inv, OPT_TTL, SPAN(TIMING_TTL_DEFAULT_MS));
    struct span grace = option_span(inv, OPT_GRACE, none);
    struct timing fine;
    enum timing_flaw flaw = timing_derive(ttl, none, &fine, &bound);
    if (flaw != TIMING_FINE)
        return usage_fail(inv, "--ttl %s: it does not go with the bound %s", word(ttl, &t),
                          word(bound, &b));
    flaw = timing_derive(ttl, grace, ret, &bound);
    return flaw == TIMING_FINE ? EXIT_FINE : refuse(inv, flaw, &fine, grace, bound);
}

static void line(const char *name, struct span s, const char *meaning)
{
    struct words w;
    printf("  %-9s %9s  %s\n", name, word(s, &w), meaning);
}

void timing_print(const struct timing *t)
{
    struct words ttl;
    printf("TTL %s. Times since the last successful renewal was sent:\n", word(t->ttl, &ttl));
    line("renew", t->renew, "the next renewal is sent; then again whenever one failed");
    line("doubt", t->doubt, "no renewal succeeded: doubtful, prepare to stop");
    line("stop", t->stop, "the command is asked to stop");
    line("kill", t->kill, "what is left of it is killed");
    line("deadline", t->deadline, "for its holder the tenure is over");
    line("store", t->ttl, "after the receipt: the store may let the next one in");
    puts("What follows:");
    line("attempt", t->attempt, "one renewal may take so long");
    line("grace", t->grace, "from stop to deadline");
    line("margin", t->margin, "from kill to deadline");
    line("gap", timing_gap_max(t),
         "without a holder at most, when a host vanishes and somebody waits");
    line("overlap", timing_overlap_max(t),
         "with two at most, while clocks drift less than 1 % and nobody is paused");
}

static void print_json(const struct timing *t)
{
    json_t *o = json_object();
    output_set_number(o, "ttl_ms", t->ttl.ms);
    output_set_number(o, "renew_ms", t->renew.ms);
    output_set_number(o, "attempt_ms", t->attempt.ms);
    output_set_number(o, "doubt_ms", t->doubt.ms);
    output_set_number(o, "stop_ms", t->stop.ms);
    output_set_number(o, "kill_ms", t->kill.ms);
    output_set_number(o, "deadline_ms", t->deadline.ms);
    output_set_number(o, "store_ms", t->ttl.ms);
    output_set_number(o, "grace_ms", t->grace.ms);
    output_set_number(o, "margin_ms", t->margin.ms);
    output_set_number(o, "notice_ms", TIMING_NOTICE_MS);
    output_set_number(o, "drift_percent", TIMING_DRIFT_PERCENT);
    output_set_number(o, "gap_max_ms", timing_gap_max(t).ms);
    output_set_number(o, "overlap_max_ms", timing_overlap_max(t).ms);
    output_json(o, false);
}

int command_timing(struct invocation *inv)
{
    struct timing t;
    int code = timing_settings(inv, &t);
    if (code != EXIT_FINE)
        return code;
    if (option_given(inv, OPT_JSON))
        print_json(&t);
    else
        timing_print(&t);
    return output_finish(EXIT_FINE);
}
