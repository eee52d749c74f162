#include "cli/client.h"

#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/say.h"
#include "core/timing.h"
#include "os/clock.h"
#include "wire/url.h"

int client_fail(const tenure_error *err)
{
    say_error("%s", err->text);
    return exit_of(err->code);
}

int client_open(const struct invocation *inv, const tenure_options *opt, tenure **ret)
{
    tenure_options existing = TENURE_OPTIONS_INIT;
    tenure_error err;
    existing.flags = TENURE_EXISTING;
    if (!opt)
        opt = &existing;
    if (tenure_open(option_text(inv, OPT_STORE, NULL), opt, ret, &err) < 0)
        return client_fail(&err);
    return EXIT_FINE;
}

int client_open_to_watch(const struct invocation *inv, tenure **ret, bool *ret_new)
{
    tenure_options existing = TENURE_OPTIONS_INIT;
    tenure_error err;
    existing.flags = TENURE_EXISTING;
    *ret_new = false;
    for (bool troubled = false;; troubled = true) {
        int code = tenure_open(option_text(inv, OPT_STORE, NULL), &existing, ret, &err);
        if (code >= 0 && troubled)
            say_change("the store answers");
        if (code >= 0)
            return EXIT_FINE;
        if (tenure_class(code) != TENURE_CLASS_UNREACHABLE)
            return client_fail(&err);
        if (!troubled)
            say_change("%s; going on trying", err.text);
        *ret_new = *ret_new || code == TENURE_ABSENT; /* else it is busy, with being made maybe */
        (void)poll(NULL, 0, TIMING_NOTICE_MS); /* for time alone */
    }
}

void client_note_kind(const tenure *t)
{
    if (strncmp(tenure_where(t), "memory:", 7) == 0)
        say_change("a store in memory is this process's own: no other command waits for what is "
                   "held there");
}

const char *client_actor(const struct invocation *inv, char buf[CLIENT_ACTOR_BYTES])
{
    char host[65] = "";
    const struct passwd *user = getpwuid(getuid());
    if (option_given(inv, OPT_AS))
        return option_text(inv, OPT_AS, NULL);
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
        snprintf(host, sizeof host, "localhost");
    if (user)
        snprintf(buf, CLIENT_ACTOR_BYTES, "%.60s@%s", user->pw_name, host);
    else
        snprintf(buf, CLIENT_ACTOR_BYTES, "%u@%s", (unsigned)getuid(), host);
    return buf;
}

int client_operate(const struct invocation *inv, client_call *call)
{
    char actor[CLIENT_ACTOR_BYTES];
    tenure *t;
    tenure_token token = 0;
    tenure_error err;
    int code = client_open(inv, NULL, &t);
    if (code != EXIT_FINE)
        return code;
    if (call(t, inv, client_actor(inv, actor), &token, &err) < 0)
        code = client_fail(&err);
    else if (token != 0)
        printf("%" PRIu64 "\n", token);
    tenure_close(t);
    return output_finish(code);
}

bool client_asks_again(tenure *t, struct instant limit, int *code, tenure_error *err)
{
    int64_t left = instant_diff(clock_now(), limit).ms;
    if (*code != TENURE_HELD || left <= 0)
        return false;
    int hint = tenure_watch(t, left < TIMING_NOTICE_MS ? left : TIMING_NOTICE_MS, err);
    if (hint < 0)
        *code = hint;
    return hint >= 0;
}

int client_watch(tenure *t, client_look *look, void *arg)
{
    bool troubled = false;
    tenure_error err;
    while (!ferror(stdout)) {
        int code = look(arg, t, &err);
        int hint = tenure_watch(t, TIMING_NOTICE_MS, code < 0 ? NULL : &err);
        if (code >= 0 && hint < 0)
            code = hint;
        if (code < 0 && tenure_class(code) != TENURE_CLASS_UNREACHABLE)
            return client_fail(&err);
        if (code < 0 && !troubled)
            say_change("%s; going on trying", err.text);
        if (code >= 0 && troubled)
            say_change("the store answers again");
        troubled = code < 0;
        if (hint < 0)
            (void)poll(NULL, 0, TIMING_NOTICE_MS); /* nothing waits for us: look again in a while */
    }
    return EXIT_FINE;
}

const char *client_where(const tenure *t, char buf[CLIENT_WHERE_BYTES])
{
    url_show(text_of(tenure_where(t)), buf, CLIENT_WHERE_BYTES);
    return buf;
}
