#include "cli/probe.h"

#include <stddef.h>

#include "cli/parse.h"
#include "cli/say.h"
#include "os/clock.h"

/* Nobody waits for a probe that cannot be killed: the work has a deadline, and its guardian stays
 * with what is left. */
#define CLOSE_WAIT_MS 100

void probe_open(struct probe *p, const struct run *r, char *const *envp)
{
    *p = (struct probe){.command = option_text(r->inv, OPT_PROBE, NULL), .envp = envp};
    p->next = p->command ? instant_add(clock_now(), r->timing.renew) : INSTANT_NEVER;
}

int probe_fd(const struct probe *p)
{
    return p->running ? supervisor_fd(p->running) : -1;
}

static void judge(struct probe *p, struct run *r, bool healthy, const char *why)
{
    p->passed = p->passed || healthy;
    if (healthy == !p->failing)
        return;
    p->failing = !healthy;
    tenure_withhold(r->t, p->failing);
    if (p->failing)
        say_change("%s: the probe %s; not renewing while it fails", r->name, why);
    else
        say_change("%s: the probe succeeds again", r->name);
}

static void start(struct probe *p, struct run *r)
{
    static char sh[] = "sh", c[] = "-c";
    char *argv[] = {sh, c, (char *)(uintptr_t)p->command, NULL};
    struct supervisor_options opt = SUPERVISOR_OPTIONS_INIT;
    tenure_error err;
    opt.argv = argv;
    opt.envp = p->envp;
    opt.signals = &r->signals.origin;
    opt.leftover_grace = SPAN(0);
    p->limit = opt.kill_at = instant_add(clock_now(), r->timing.renew);
    opt.close_wait = SPAN(CLOSE_WAIT_MS);
    opt.without_group = true;
    opt.aside = true;
    p->next = instant_add(clock_now(), r->timing.renew);
    if (supervisor_start(&opt, NULL, &p->running, &err) < 0) {
        p->running = NULL;
        say_detail("%s", err.text);
        judge(p, r, false, "cannot be started");
    }
}

static void finish(struct probe *p, struct run *r)
{
    struct supervisor_event e;
    while (p->running && supervisor_process(p->running, &e) > 0) {
        if (e.kind != SUPERVISOR_ENDED && e.kind != SUPERVISOR_NOT_STARTED)
            continue;
        bool late = e.kind == SUPERVISOR_ENDED && e.cause != SUPERVISOR_BY_ITSELF;
        bool healthy = e.kind == SUPERVISOR_ENDED && !late && e.status == 0;
        p->running = supervisor_close(p->running);
        judge(p, r, healthy, late ? "takes too long" : "fails");
    }
}

struct instant probe_turn(struct probe *p, struct run *r)
{
    finish(p, r);
    if (p->command && !p->running && instant_reached(clock_now(), p->next))
        start(p, r);
    if (!p->running)
        return p->next;
    /* Whether it can be killed then is another question: the answer did not come. */
    if (!instant_reached(clock_now(), p->limit))
        return p->limit;
    judge(p, r, false, "takes too long");
    return INSTANT_NEVER;
}

void probe_close(struct probe *p, struct run *r)
{
    p->running = supervisor_close(p->running);
    if (p->failing)
        tenure_withhold(r->t, false);
    r->sick_terms = !p->failing || !r->cut ? 0 : p->passed ? 1 : r->sick_terms + 1;
    p->failing = false;
}
