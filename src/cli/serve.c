/* cli/serve.c - a term with a command: one loop over signals, the library and the supervisor. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/end.h"
#include "cli/environment.h"
#include "cli/exit.h"
#include "cli/guard.h"
#include "cli/parse.h"
#include "cli/probe.h"
#include "cli/run.h"
#include "cli/say.h"
#include "os/clock.h"
#include "supervisor/supervisor.h"

struct service {
    struct run *r;
    struct supervisor *s;
    struct probe probe;
    bool must_report; /* the command runs, and the store does not know yet that we serve */
    bool told_to_stop, told_to_die;
    bool over;        /* the tree is gone */
    int code;
};

/* When the command is asked to stop and killed, should no renewal succeed any more. */
static void deadlines(const struct run *r, struct instant *ret_stop, struct instant *ret_kill)
{
    struct instant deadline = INSTANT(tenure_claim_deadline(r->claim));
    *ret_stop = instant_add(deadline, SPAN(-r->timing.grace.ms));
    *ret_kill = instant_add(deadline, SPAN(-r->timing.margin.ms));
}

static int start(struct service *v, char *const *envp)
{
    struct supervisor_options opt = SUPERVISOR_OPTIONS_INIT;
    struct run *r = v->r;
    tenure_error err;
    char session[24], self[] = "/proc/self/exe", word[] = END_WORD;
    char *const last_words[] = {self, word, session, NULL};
    opt.argv = r->inv->argv;
    opt.envp = envp;
    opt.signals = &r->signals.origin;
    opt.lifeline = tenure_lifeline(r->t);
    snprintf(session, sizeof session, "%" PRIu64, tenure_session(r->t));
    if (opt.lifeline < 0)
        opt.last_words = last_words;
    opt.stop_signal = (int)option_number(r->inv, OPT_SIGNAL, SIGTERM);
    opt.leftover_grace = r->timing.grace;
    opt.margin = r->timing.margin;
    deadlines(r, &opt.stop_at, &opt.kill_at);
    int code = supervisor_start(&opt, r->ready, &v->s, &err);
    r->ready = NULL;
    if (opt.lifeline >= 0)
        close(opt.lifeline);
    if (code < 0) {
        say_error("cannot start %s: %s", r->inv->argv[0], err.text);
        return exit_of(code);
    }
    return EXIT_FINE;
}

/* What the library says, told to the supervisor. */
static void follow_tenure(struct service *v)
{
    struct run *r = v->r;
    struct instant stop, kill;
    bool lost = run_turn(r);
    if (lost && !v->told_to_die) {
        r->cut = v->told_to_die = true;
        supervisor_stop(v->s, clock_now());
    } else if (r->cut && !v->told_to_stop) {
        supervisor_stop(v->s, INSTANT_NEVER); /* it has until the deadline */
    }
    v->told_to_stop = r->cut;
    if (!lost) {
        deadlines(r, &stop, &kill);
        supervisor_deadline(v->s, stop, kill);
    }
}

static void ended(struct service *v, const struct supervisor_event *e)
{
    v->over = true;
    v->code = supervisor_exit_code(e->status);
    if (e->cause == SUPERVISOR_DEADLINE || e->cause == SUPERVISOR_ASKED)
        v->r->cut = true;
    if (e->cause == SUPERVISOR_GUARDIAN_DIED) {
        say_error("the guardian of %s was killed, and the command with it", v->r->inv->argv[0]);
        v->code = EXIT_INTERNAL;
    }
}

static void follow_supervisor(struct service *v)
{
    struct supervisor_event e;
    const char *command = v->r->inv->argv[0];
    while (!v->over && supervisor_process(v->s, &e) > 0) {
        switch (e.kind) {
        case SUPERVISOR_STARTED:
            v->must_report = v->r->kind == TENURE_ELECTION;
            break;
        case SUPERVISOR_NOT_STARTED:
            say_error("cannot run %s: %s", command, strerror(e.error));
            v->over = true;
            v->code = supervisor_exec_code(e.error);
            break;
        case SUPERVISOR_STOPPING:
            say_change("%s: stopping %s%s", v->r->name, command,
                       v->told_to_stop || v->told_to_die ? "" : ", not renewed in time");
            break;
        case SUPERVISOR_LEFTOVERS:
            say_change("%s has ended and left %zu process%s behind: ending %s", command, e.count,
                       e.count == 1 ? "" : "es", e.count == 1 ? "it" : "them");
            break;
        case SUPERVISOR_STUCK:
            say_error("%zu process%s of %s cannot be ended, as %d; %s is kept until then", e.count,
                      e.count == 1 ? "" : "es", command, (int)e.pid, v->r->name);
            break;
        case SUPERVISOR_ENDED:
            ended(v, &e);
            break;
        }
    }
}

/* Whether a signal is meant for us, too: then we do not stand again when the term is over.  TERM
 * is; the others a command may use for something else, unless it is being stopped anyway. */
static bool asks_us_to_end(int signo, bool cut)
{
    return signo == SIGTERM || (cut && (signo == SIGINT || signo == SIGHUP || signo == SIGQUIT));
}

/* Signals are the command's.  What the terminal sent to the whole group it has already. */
static void follow_signals(struct service *v)
{
    struct signals_event e;
    while (signals_next(&v->r->signals, &e)) {
        if (!e.from_terminal)
            supervisor_signal(v->s, e.signo);
        if (asks_us_to_end(e.signo, v->r->cut))
            v->r->ended_by = e.signo;
        if (e.signo == SIGTSTP || e.signo == SIGTTIN || e.signo == SIGTTOU)
            signals_suspend(e.signo);
    }
}

static void wait_for_news(struct service *v, struct instant until)
{
    struct pollfd p[] = {{.fd = v->r->signals.fd, .events = POLLIN},
                         {.fd = tenure_fd(v->r->t), .events = POLLIN},
                         {.fd = supervisor_fd(v->s), .events = POLLIN},
                         {.fd = probe_fd(&v->probe), .events = POLLIN}};
    (void)poll(p, 4, run_poll_ms(until)); /* EINTR, ENOMEM: look again */
}

static void loop(struct service *v)
{
    for (;;) {
        follow_supervisor(v);
        if (!v->over)
            follow_tenure(v);
        run_report(v->r, &v->must_report); /* also when its work took no time */
        if (v->over)
            return;
        follow_signals(v);
        wait_for_news(v, probe_turn(&v->probe, v->r));
    }
}

int serve_term(struct run *r)
{
    struct service v = {.r = r};
    if (run_turn(r) || r->cut) { /* it ended while the guard was told */
        r->cut = true;
        return EXIT_LOST;
    }
    struct environment environment;
    if (!environment_make(r->t, r->claim, r->kind,
                          guard_takes_pgoptions(option_text(r->inv, OPT_GUARD, NULL)),
                          &environment)) {
        say_error("out of memory");
        return EXIT_INTERNAL;
    }
    int code = start(&v, environment.entry);
    if (code == EXIT_FINE) {
        probe_open(&v.probe, r, environment.entry);
        loop(&v);
        probe_close(&v.probe, r);
        code = v.code;
    }
    v.s = supervisor_close(v.s);
    environment_free(&environment);
    return code;
}
