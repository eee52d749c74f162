/* store/sqlite_examine.c - what is unsafe about this store, for `tenure doctor`. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/place.h"
#include "store/sqlite_engine.h"

typedef void finding_fn(void *arg, bool fine, const char *text);

static void examine_place(struct sqlite_store *s, finding_fn *fn, void *arg)
{
    char text[PATH_MAX + 160], dir[PATH_MAX];
    struct place place;
    tenure_error err;
    snprintf(dir, sizeof dir, "%s", s->path);
    char *slash = strrchr(dir, '/');
    slash[slash == dir ? 1 : 0] = '\0';
    if (place_check(dir, true, &place, &err) < 0) {
        fn(arg, false, err.text);
        return;
    }
    if (place.kind == PLACE_FINE) {
        snprintf(text, sizeof text, "%s is on a local file system%s%s", dir,
                 *place.type ? ", " : "", place.type);
    } else {
        snprintf(text, sizeof text, "%s is on %s, allowed by ?fs=any: only one machine and one "
                                    "container may use it", dir, place.type);
    }
    fn(arg, place.kind == PLACE_FINE, text);
}

static void examine_rights(struct sqlite_store *s, finding_fn *fn, void *arg)
{
    char text[2 * PATH_MAX + 240];
    struct stat st;
    if (stat(s->path, &st) != 0)
        return; /* the next write says so */
    bool open = (st.st_mode & S_IWOTH) != 0;
    snprintf(text, sizeof text, "%s may be written by %s (mode %04o)", s->path,
             open ? "everybody: any user can take or end any claim"
                  : st.st_mode & S_IWGRP ? "its owner and group" : "its owner only",
             (unsigned)(st.st_mode & 07777));
    fn(arg, !open, text);
    const char *misfit = sqlite_misfit(s);
    if (!misfit)
        return;
    snprintf(text, sizeof text, "%s%s has other rights than %s, and its users may be shut out or "
                                "have to wait for a holder's expiry: have its owner, or root, run "
                                "`tenure store init`", s->path, misfit, strrchr(s->path, '/') + 1);
    fn(arg, false, text);
}

static void examine_log(struct sqlite_store *s, finding_fn *fn, void *arg)
{
    char text[PATH_MAX + 160], path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s-wal", s->path);
    if (stat(path, &st) != 0)
        return;
    bool long_log = st.st_size > 64 * 1024 * 1024;
    snprintf(text, sizeof text, "the write-ahead log has %lld KiB%s", (long long)st.st_size / 1024,
             long_log ? ": a reader that never ends keeps it from being used again" : "");
    fn(arg, !long_log, text);
}

void sqlite_examine(struct store *store, void (*fn)(void *arg, bool fine, const char *text),
                    void *arg)
{
    struct sqlite_store *s = sqlite_of(store);
    char text[200];
    examine_place(s, fn, arg);
    examine_rights(s, fn, arg);
    examine_log(s, fn, arg);
    if (sqlite_load(NULL) == 0 && sq.sqlite3_libversion_number() < 3051003) {
        snprintf(text, sizeof text,
                 "SQLite %s can corrupt a database that two programs checkpoint at once; tenure "
                 "never does, so let nothing else write to this file (the sqlite3 shell does)",
                 sq.sqlite3_libversion());
        fn(arg, true, text);
    }
    fn(arg, true, "holders on this machine only: a claim ends with its process at once, and with "
                  "the machine");
}
