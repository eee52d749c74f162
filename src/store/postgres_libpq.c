#include "store/postgres_libpq.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

#include "os/fail.h"
#include "os/library.h"

#define LIBRARY "libpq.so.5"

struct pq pq;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char trouble[200];

static void load(void)
{
    static const struct library_call calls[] = {
#define PQ_ENTRY(name) {#name, offsetof(struct pq, name)},
        PQ_CALLS(PQ_ENTRY)
#undef PQ_ENTRY
    };
    const char *why = library_load(LIBRARY, calls, sizeof calls / sizeof calls[0], &pq);
    if (why)
        snprintf(trouble, sizeof trouble, "%s", why);
}

int pq_load(tenure_error *err)
{
    pthread_once(&once, load);
    if (trouble[0] == '\0')
        return 0;
    return fail(err, TENURE_INVALID, "postgres: needs libpq (Debian: libpq5): %s", trouble);
}
