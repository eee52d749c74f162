/* tests/lib/unload.c - a plug-in that uses libtenure comes and goes: unload PATH/libtenure.so */
#include <dlfcn.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tenure/tenure.h>
#include <unistd.h>

#include "tap.h"

static const char *library;
static char dir[] = "/tmp/tenure-unload-XXXXXX", url[64];
static tenure_error err;

/* The functions of the library that is loaded. */
struct calls {
    int (*open)(const char *, const tenure_options *, tenure **, tenure_error *);
    tenure *(*close)(tenure *);
};

static bool find_calls(void *handle, struct calls *ret)
{
    /* POSIX promises that this pointer may be one to a function; ISO C has no way to say so. */
    *(void **)(void *)&ret->open = dlsym(handle, "tenure_open");
    *(void **)(void *)&ret->close = dlsym(handle, "tenure_close");
    return ret->open && ret->close;
}

static void use_and_unload(void)
{
    struct calls calls;
    tenure *t;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CHECK(handle && find_calls(handle, &calls));
    CHECK(calls.open(url, NULL, &t, &err) == 0);
    calls.close(t);
    CHECK(dlclose(handle) == 0);
}

/* SQLite has a VFS of ours, and the C library what we do about fork(): both look at it again. */
static void a_program_goes_on_when_the_library_was_unloaded(void)
{
    sqlite3 *db;
    int status;
    CHECK(mkdtemp(dir));
    snprintf(url, sizeof url, "sqlite:%s/db", dir);
    use_and_unload();
    CHECK(sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE, "unix-none") == SQLITE_OK);
    CHECK(sqlite3_vfs_find("none of all") == NULL);
    sqlite3_close(db);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    use_and_unload();
}

int main(int argc, char **argv)
{
    library = argc > 1 ? argv[1] : "libtenure.so";
    return TAP_RUN(TAP(a_program_goes_on_when_the_library_was_unloaded));
}
