/* tests/lib/lib.h - what the tests of the library share. */
#ifndef TESTS_LIB_LIB_H
#define TESTS_LIB_LIB_H

#include <poll.h>
#include <stdlib.h>
#include <tenure/tenure.h>
#include <unistd.h>

#include "server.h"
#include "tap.h"

/* Short, because some cases wait for it; with a server in between it has more to hold. */
#define TTL (server ? 2400 : 600)

static char url[320];
static bool is_sqlite;
static const char *server; /* its URL, or NULL */
static tenure_error err;

/* A store that no case used before. */
static inline void fresh(void)
{
    static int n;
    static char dir[64];
    if (!dir[0]) {
        snprintf(dir, sizeof dir, "%s/tenure-lib-XXXXXX",
                 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
        if (!mkdtemp(dir))
            abort();
    }
    if (server)
        server_place(url, sizeof url, server, "lib", ++n);
    else if (is_sqlite)
        snprintf(url, sizeof url, "sqlite:%s/%d.db", dir, ++n);
    else
        snprintf(url, sizeof url, "memory:%d", ++n);
    memset(&err, 0, sizeof err);
    if (tenure_init(url, &err) < 0) {
        printf("# %s\n", err.text);
        exit(2);
    }
}

static inline tenure *open_for(const char *as, int64_t ttl_ms, unsigned flags)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure *t = NULL;
    opt.ttl_ms = ttl_ms;
    opt.as = as;
    opt.flags = flags;
    if (tenure_open(url, &opt, &t, &err) < 0)
        printf("# open: %s\n", err.text);
    return t;
}

static inline tenure *open_as(const char *as, unsigned flags)
{
    return open_for(as, TTL, flags);
}

static inline int64_t now(void)
{
    return tenure_now();
}

/* Turns the handle until an event of this kind comes, or 20 s are over. */
static inline bool heard(tenure *t, tenure_event_kind kind, tenure_event *ret)
{
    int64_t end = now() + 20000;
    while (now() < end) {
        struct pollfd p = {.fd = tenure_fd(t), .events = POLLIN};
        while (tenure_next_event(t, ret) > 0) {
            if (ret->kind == kind)
                return true;
        }
        if (poll(&p, 1, 100) >= 0 && tenure_process(t) < 0)
            return false;
    }
    return false;
}

static inline int acquire(tenure *t, const char *name, int64_t wait_ms, tenure_claim **ret)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    terms.wait_ms = wait_ms;
    return tenure_acquire(t, name, &terms, ret, &err);
}

#endif
