/* tests/store/place.h - where a case of the contract has its store: of the kind, and on the server,
 * that the suite was started for. */
#ifndef TESTS_STORE_PLACE_H
#define TESTS_STORE_PLACE_H

#include "server.h"
#include "store/faulty.h"
#include "store/trace.h"
#include "tools.h"

static const char *kind;
static const char *base; /* of the URLs, for an engine behind a server */
static char url[300];
static FILE *sink;

/* How often a case repeats itself: less often where each time costs a round trip. */
static inline int rounds(int n)
{
    return base ? n / 5 : n;
}

static inline struct store *wrap(struct store *s)
{
    static const struct faulty_rule slow = {.fault = FAULT_SLOW, .turns = 3};
    if (strcmp(kind, "trace") == 0)
        return trace_wrap(s, sink);
    if (strcmp(kind, "slow") == 0)
        return faulty_wrap(s, &slow, 1, 1);
    return s;
}

/* One more handle of the store of this case. */
static inline struct store *again(void)
{
    const struct store_options opt = {.patience = SPAN(LIMIT_MS), .create = true};
    struct store *s;
    if (store_open(url, &opt, &s, &err) < 0) {
        printf("# %s\n", err.text);
        exit(2);
    }
    s = wrap(s);
    if (!s)
        abort();
    return s;
}

/* A store that no case used before. */
static inline struct store *fresh(void)
{
    static int n;
    if (strcmp(kind, "memory") == 0)
        snprintf(url, sizeof url, "memory:%d", ++n);
    else if (base)
        server_place(url, sizeof url, base, "contract", ++n);
    else
        snprintf(url, sizeof url, "sqlite:%s/%d.db", scratch(), ++n);
    if (store_init(url, &err) < 0) {
        printf("# %s\n", err.text);
        exit(2);
    }
    return again();
}

#endif
