/* cli/guard_serve.c - tenure guard serve: the checker that proxies ask about HTTP requests. */
#include "cli/guard.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/parse.h"
#include "cli/say.h"
#ifdef TENURE_HTTP
#include "http/server.h"
#include "os/signals.h"

/* Until somebody ends us.  A hang-up is nothing to a service: there is nothing to read anew. */
static void wait_for_end(struct signals *signals)
{
    struct signals_event e;
    for (;;) {
        struct pollfd p = {.fd = signals->fd, .events = POLLIN};
        int n = poll(&p, 1, -1);
        assert(n >= 0 || errno == EINTR || errno == ENOMEM);
        while (signals_next(signals, &e)) {
            if (e.signo == SIGTERM || e.signo == SIGINT || e.signo == SIGQUIT)
                return;
            if (e.signo == SIGTSTP || e.signo == SIGTTIN || e.signo == SIGTTOU)
                signals_suspend(e.signo);
        }
    }
}

static void say_trouble(void *arg, const char *why)
{
    (void)arg;
    if (why)
        say_error("no mark can rise, and what needs one to is refused: %s", why);
    else
        say_change("marks can rise again");
}

static int serve(const struct http_server_options *options, struct signals *signals)
{
    struct http_server *server;
    tenure_error err;
    int code = http_server_open(options, &server, &err);
    if (code < 0) {
        say_error("%s", err.text);
        return exit_of(code);
    }
    if (http_server_is_exposed(server))
        say_change("other machines can reach this address: without TLS, whoever listens in on them "
                   "learns the secret");
    say_change("checking requests at %s, %zu guard%s", http_server_url(server),
               http_server_guards(server), http_server_guards(server) == 1 ? "" : "s");
    wait_for_end(signals);
    http_server_close(server);
    return EXIT_FINE;
}

int command_guard_serve(struct invocation *inv)
{
    struct signals signals;
    struct http_server_options options = {
        .target = inv->operand[0] ? inv->operand[0] : "http://127.0.0.1",
        .marks_file = inv->value[OPT_MARKS].text,
        .secret_file = inv->value[OPT_SECRET].text,
        .trouble = say_trouble,
    };
    signals_look(&signals.origin);
    int rc = signals_open(&signals); /* before there are threads */
    if (rc < 0) {
        say_error("cannot take signals: %s", strerror(-rc));
        return EXIT_INTERNAL;
    }
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of that write */
    int code = serve(&options, &signals);
    signals_close(&signals);
    return code;
}
#else
int command_guard_serve(struct invocation *inv)
{
    (void)inv;
    say_error("guard serve: built without libmicrohttpd or libcurl");
    return EXIT_USAGE;
}
#endif
