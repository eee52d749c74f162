#include "store/postgres_libpq.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "os/fail.h"

#define LIBRARY "libpq.so.5"

struct pq pq;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char trouble[200];

static void load(void)
{
    static const struct {
        const char *name;
        size_t at;
    } calls[] = {
#define PQ_ENTRY(name) {#name, offsetof(struct pq, name)},
        PQ_CALLS(PQ_ENTRY)
#undef PQ_ENTRY
    };
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof calls / sizeof calls[0]; i++) {
        void *call = dlsym(library, calls[i].name);
        if (!call)
            library = NULL;
        else
            memcpy((char *)&pq + calls[i].at, &call, sizeof call);
    }
    if (library)
        return;
    const char *why = dlerror();
    snprintf(trouble, sizeof trouble, "%s", why ? why : LIBRARY " is too old");
}

int pq_load(tenure_error *err)
{
    pthread_once(&once, load);
    if (trouble[0] == '\0')
        return 0;
    return fail(err, TENURE_INVALID, "postgres: needs libpq (Debian: libpq5): %s", trouble);
}
