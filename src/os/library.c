#include "os/library.h"

#include <dlfcn.h>
#include <string.h>

const char *library_load(const char *file, const struct library_call *calls, size_t count,
                         void *table)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < count; i++) {
        void *call = dlsym(library, calls[i].name);
        if (!call)
            library = NULL; /* it stays loaded: others of this process may use it */
        else
            memcpy((char *)table + calls[i].at, &call, sizeof call);
    }
    if (library)
        return NULL;
    const char *why = dlerror();
    return why ? why : "it is too old";
}
