/* cli/doctor.c - tenure doctor: what is unsafe on this host and in this store. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/exit.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/timing.h"
#include "core/timing.h"
#include "os/host.h"

static void show_finding(void *arg, bool fine, const char *text)
{
    bool *unsafe = arg;
    printf("%-4s  %s\n", fine ? "ok" : "warn", text);
    *unsafe |= !fine;
}

/* Whether somebody has said which store: then it is wrong when there is none. */
static bool is_named(const struct invocation *inv)
{
    const char *environment = getenv("TENURE_STORE");
    return option_given(inv, OPT_STORE) || (environment && *environment);
}

/* To look at a mistyped store must not make it. */
static int examine_store(const struct invocation *inv, const struct timing *timing, bool *unsafe)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    char where[CLIENT_WHERE_BYTES];
    tenure_error err;
    tenure *t;
    opt.ttl_ms = timing->ttl.ms;
    opt.flags = TENURE_EXISTING;
    int code = tenure_open(option_text(inv, OPT_STORE, NULL), &opt, &t, &err);
    if (code == TENURE_ABSENT && !is_named(inv)) {
        puts("Store");
        show_finding(unsafe, true, "there is none yet: what needs it first makes it");
        return EXIT_FINE;
    }
    if (code < 0)
        return client_fail(&err);
    printf("Store %s\n", client_where(t, where));
    code = tenure_examine(t, show_finding, unsafe, &err) < 0 ? client_fail(&err) : EXIT_FINE;
    tenure_close(t);
    return code;
}

int command_doctor(struct invocation *inv)
{
    bool unsafe = false;
    struct timing timing;
    int code = timing_settings(inv, &timing);
    if (code != EXIT_FINE)
        return code;
    puts("Host");
    host_examine(show_finding, &unsafe);
    code = examine_store(inv, &timing, &unsafe);
    puts("Timing");
    timing_print(&timing);
    return output_finish(code == EXIT_FINE && unsafe ? EXIT_UNSAFE : code);
}
