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

/* The database and its log, as they are; and whether we may write to them. */
static __attribute__((noinline)) bool look(const struct sqlite_store *s, struct gate_file ret[2],
                                           bool *ret_ours)
{
    char log[PATH_MAX];
    snprintf(log, sizeof log, "%s-wal", s->path);
    if (!look_at(s->path, &ret[0]) || !look_at(log, &ret[1]))
        return false;
    ret[1].ctime_ns = 0; /* SQLite sets its owner anew whenever root opens it */
    *ret_ours = ret[1].ino != 0 && faccessat(AT_FDCWD, s->path, R_OK | W_OK, AT_EACCESS) == 0 &&
                faccessat(AT_FDCWD, log, R_OK | W_OK, AT_EACCESS) == 0;
    return true;
}

void sqlite_look(const struct sqlite_store *s, struct sqlite_look *ret)
{
    struct timespec t;
    ret->ours = false;
    if (!look(s, ret->file, &ret->ours) || clock_gettime(CLOCK_REALTIME, &t) != 0)
        ret->ours = false;
    else
        ret->ns = ns_of(t);
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
