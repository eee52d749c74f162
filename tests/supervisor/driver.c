/* tests/supervisor/driver.c - the supervisor without a store: deadlines come from options.
 *
 *     supervisor-driver [--report FILE] [--stop-in MS] [--kill-in MS] [OPTION...] -- CMD...
 *
 * With --stand-by the guardian stands by, and we stop ourselves: the command is started when
 * somebody continues us.  SIGPWR asks the tree to stop: supervisor_stop() with --ask-kill-in.
 * Every event becomes a line of FILE, "MS name key=value ...", MS on CLOCK_BOOTTIME.  The exit
 * code is the one of `tenure lock`.
 */
#include "os/clock.h"
#include "os/signals.h"
#include "supervisor/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 64, EXIT_LOST = 81, EXIT_INTERNAL = 84, RENEW_EVERY_MS = 20 };

struct driver {
    struct supervisor_options options;
    struct signals signals;
    struct supervisor *supervisor;
    bool stand_by;
    int report;
    int64_t stop_in_ms, kill_in_ms;  /* from now, or from each renewal */
    struct instant renew_until;
    int64_t ask_kill_in_ms;
    int exit_code;
    bool done;
};

static void note(const struct driver *d, const char *format, ...)
{
    char line[256];
    int n = snprintf(line, sizeof line, "%lld ", (long long)clock_now().ms);
    va_list args;
    va_start(args, format);
    n += vsnprintf(line + n, sizeof line - (size_t)n, format, args);
    va_end(args);
    line[n++] = '\n';
    if (write(d->report, line, (size_t)n) != n)
        abort();
}

static void set_deadlines(const struct driver *d, struct instant *ret_stop,
                          struct instant *ret_kill)
{
    struct instant now = clock_now();
    *ret_stop = d->stop_in_ms < 0 ? INSTANT_NEVER : instant_add(now, SPAN(d->stop_in_ms));
    *ret_kill = d->kill_in_ms < 0 ? INSTANT_NEVER : instant_add(now, SPAN(d->kill_in_ms));
}

static void open_lifeline(struct driver *d, const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        perror(path);
        exit(EXIT_USAGE);
    }
    d->options.lifeline = fd;
}

static void parse(struct driver *d, int argc, char **argv)
{
    static const struct option names[] = {
        {"report", 1, NULL, 'r'},    {"stop-in", 1, NULL, 's'},    {"kill-in", 1, NULL, 'k'},
        {"renew-for", 1, NULL, 'n'}, {"ask-kill-in", 1, NULL, 'A'},
        {"grace", 1, NULL, 'g'},     {"signal", 1, NULL, 'S'},     {"no-group", 0, NULL, 'G'},
        {"stand-by", 0, NULL, 'b'},
        {"aside", 0, NULL, 'q'},     {"lifeline", 1, NULL, 'l'},   {"margin", 1, NULL, 'm'},
        {0}};
    int c;
    struct instant now = clock_now();
    while ((c = getopt_long(argc, argv, "+", names, NULL)) != -1) {
        long value = optarg ? atol(optarg) : 0;
        switch (c) {
        case 'r': d->report = open(optarg, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600); break;
        case 's': d->stop_in_ms = value; break;
        case 'k': d->kill_in_ms = value; break;
        case 'n': d->renew_until = instant_add(now, SPAN(value)); break;
        case 'A': d->ask_kill_in_ms = value; break;
        case 'g': d->options.leftover_grace = SPAN(value); break;
        case 'S': d->options.stop_signal = (int)value; break;
        case 'G': d->options.without_group = true; break;
        case 'q': d->options.aside = true; break;
        case 'b': d->stand_by = true; break;
        case 'l': open_lifeline(d, optarg); break;
        case 'm': d->options.margin = SPAN(value); break;
        default: exit(EXIT_USAGE);
        }
    }
    if (optind == argc || d->report < 0)
        exit(EXIT_USAGE);
    d->options.argv = argv + optind;
}

static void take_ended(struct driver *d, const struct supervisor_event *e)
{
    static const char *const causes[] = {"?", "itself", "asked", "deadline", "guardian"};
    note(d, "ended cause=%s status=%d left=%zu forced=%d", causes[e->cause],
         supervisor_exit_code(e->status), e->count, e->forced);
    d->exit_code = e->cause == SUPERVISOR_DEADLINE ? EXIT_LOST : supervisor_exit_code(e->status);
    d->done = true;
}

static void take_event(struct driver *d, const struct supervisor_event *e)
{
    switch (e->kind) {
    case SUPERVISOR_STARTED:
        note(d, "started pid=%d", (int)e->pid);
        break;
    case SUPERVISOR_NOT_STARTED:
        note(d, "failed errno=%d", e->error);
        fprintf(stderr, "driver: cannot run %s: %s\n", d->options.argv[0], strerror(e->error));
        d->exit_code = supervisor_exec_code(e->error);
        d->done = true;
        break;
    case SUPERVISOR_STOPPING:
        note(d, "stopping");
        break;
    case SUPERVISOR_LEFTOVERS:
        note(d, "leftovers count=%zu", e->count);
        break;
    case SUPERVISOR_STUCK:
        note(d, "stuck pid=%d count=%zu", (int)e->pid, e->count);
        break;
    case SUPERVISOR_ENDED:
        take_ended(d, e);
        break;
    }
}

static void ask(const struct driver *d)
{
    note(d, "asked");
    supervisor_stop(d->supervisor, d->ask_kill_in_ms < 0
                                       ? INSTANT_NEVER
                                       : instant_add(clock_now(), SPAN(d->ask_kill_in_ms)));
}

static void take_signals(struct driver *d)
{
    struct signals_event e;
    while (signals_next(&d->signals, &e) == 1) {
        note(d, "signal signo=%d terminal=%d", e.signo, e.from_terminal);
        if (e.signo == SIGPWR)
            ask(d);
        else if (!e.from_terminal)
            supervisor_signal(d->supervisor, e.signo);
        if (e.signo == SIGTSTP || e.signo == SIGTTIN || e.signo == SIGTTOU)
            signals_suspend(e.signo);
    }
}

static void do_due(struct driver *d)
{
    struct instant now = clock_now();
    if (d->renew_until.ms != 0 && !instant_reached(now, d->renew_until)) {
        struct instant stop, kill;
        set_deadlines(d, &stop, &kill);
        supervisor_deadline(d->supervisor, stop, kill);
    }
}

static int start(struct driver *d, tenure_error *err)
{
    struct supervisor *ready = NULL;
    if (d->stand_by) {
        int code = supervisor_stand_by(&ready, err);
        if (code < 0)
            return code;
        raise(SIGSTOP);
    }
    set_deadlines(d, &d->options.stop_at, &d->options.kill_at);
    note(d, "begin pid=%d", (int)getpid());
    return supervisor_start(&d->options, ready, &d->supervisor, err);
}

int main(int argc, char **argv)
{
    struct driver d = {.options = SUPERVISOR_OPTIONS_INIT, .report = STDERR_FILENO,
                       .stop_in_ms = -1, .kill_in_ms = -1, .ask_kill_in_ms = -1};
    tenure_error err;
    signals_look(&d.signals.origin);
    if (signals_open(&d.signals) < 0)
        return EXIT_INTERNAL;
    parse(&d, argc, argv);
    d.options.envp = environ;
    d.options.signals = &d.signals.origin;
    if (start(&d, &err) < 0) {
        fprintf(stderr, "driver: %s\n", err.text);
        return EXIT_INTERNAL;
    }
    if (d.stand_by)
        note(&d, "ordered");
    while (!d.done) {
        struct pollfd fds[] = {{.fd = d.signals.fd, .events = POLLIN},
                               {.fd = supervisor_fd(d.supervisor), .events = POLLIN}};
        poll(fds, 2, d.renew_until.ms != 0 ? RENEW_EVERY_MS : -1);
        take_signals(&d);
        struct supervisor_event e;
        while (!d.done && supervisor_process(d.supervisor, &e) == 1)
            take_event(&d, &e);
        do_due(&d);
    }
    supervisor_close(d.supervisor);
    note(&d, "closed");
    return d.exit_code;
}
