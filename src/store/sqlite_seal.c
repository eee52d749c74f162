/* store/sqlite_seal.c - whether the database is as we left it.
 *
 * The gate remembers what the kernel says of the database and its log after the last commit: where
 * they are, how long, and when they were changed last.  As long as it says the same, nobody has put
 * a copy in their place or written to them but through the gate, and all that opening would ask the
 * database is in the page: so it need not be opened for that.
 *
 * Times of change come in ticks of some milliseconds, and a change in the tick of the one before
 * does not show.  So the database itself must have rested for longer when it was sealed.  For its
 * log that is not asked, which each commit writes to: a log that was put back alone is behind a
 * database which says so, or it is noticed with the first transaction. */
#include "store/sqlite_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RESTED_NS 20000000 /* two ticks of the slowest kernel */

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool may_write(const char *path)
{
    return faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0;
}

static bool look_at(const char *path, struct gate_file *ret)
{
    struct stat st;
    *ret = (struct gate_file){0};
    if (stat(path, &st) != 0)
        return errno == ENOENT;
    *ret = (struct gate_file){.ino = st.st_ino,
                              .size = st.st_size,
                              .mtime_ns = ns_of(st.st_mtim),
                              .ctime_ns = ns_of(st.st_ctim)};
    return true;
}

void __attribute__((noinline)) sqlite_look(const struct sqlite_store *s, struct sqlite_look *ret)
{
    char log[PATH_MAX];
    struct timespec t;
    snprintf(log, sizeof log, "%s-wal", s->path);
    ret->ours = look_at(s->path, &ret->file[0]) && look_at(log, &ret->file[1]) &&
                ret->file[1].ino != 0 && may_write(s->path) && may_write(log) &&
                clock_gettime(CLOCK_REALTIME, &t) == 0;
    if (!ret->ours)
        return;
    ret->ns = ns_of(t);
    ret->file[1].ctime_ns = 0; /* SQLite sets its owner anew whenever root opens it */
}

void sqlite_seal(struct sqlite_store *s, const struct sqlite_look *look)
{
    struct gate_page *p = gate_page(s->gate);
    p->sealed = 0;
    if (!look->ours)
        return;
    memcpy(p->seal, look->file, sizeof p->seal);
    p->seal_ns = look->ns;
    p->sealed = p->commits;
}

bool sqlite_seal_is_whole(const struct sqlite_store *s, const struct sqlite_look *look)
{
    const struct gate_page *p = gate_page(s->gate);
    return p->sealed != 0 && p->sealed == p->commits && look->ours &&
           memcmp(look->file, p->seal, sizeof p->seal) == 0;
}

bool sqlite_seal_holds(const struct sqlite_store *s, const struct sqlite_look *look)
{
    const struct gate_page *p = gate_page(s->gate);
    return sqlite_seal_is_whole(s, look) && p->seal_ns > p->seal[0].ctime_ns + RESTED_NS;
}
