#include "os/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "os/fail.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* One that lacks a call stays loaded: others of this process may use it. */
static bool load(const struct library *l)
{
    void *library = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < l->count; i++) {
        void *call = dlsym(library, l->calls[i].name);
        if (!call)
            return false;
        memcpy((char *)l->table + l->calls[i].at, &call, sizeof call);
    }
    return library != NULL;
}

int library_need(struct library *l, tenure_error *err)
{
    int code = 0;
    pthread_mutex_lock(&mutex);
    if (!l->loaded)
        l->loaded = load(l);
    if (!l->loaded) {
        const char *trouble = dlerror();
        code = fail(err, TENURE_INVALID, "%s: %s", l->why, trouble ? trouble : "it is too old");
    }
    pthread_mutex_unlock(&mutex);
    return code;
}
