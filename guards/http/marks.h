/* http/marks.h - the guards of an HTTP checker: their marks, in memory and in a file.
 *
 * A check reads memory alone.  A mark that rises is first made durable, then shown to checks, then
 * answered for: so whoever was told that a token is announced, or admitted, finds it so after any
 * crash, and a check that begins after that answer sees it.  A mark that cannot be made durable
 * does not rise, and the request or announcement that wanted it is refused.
 *
 * The file is a SQLite database of our own, in WAL mode with a sync for each commit, locked as long
 * as it is open: two checkers with one file would not see each other's marks.  The rule is
 * tenure_guard_admit() (P10), and is nowhere else.
 *
 * Threads: any, but for opening and closing.  Calls return 0 or a tenure_code with *err filled. */
#ifndef HTTP_MARKS_H
#define HTTP_MARKS_H

#include <stddef.h>
#include <stdint.h>
#include <tenure/error.h>

#include "core/text.h"
#include "http/verdict.h"

struct marks;

/* Opens the file, or makes it, readable by its owner alone.
 *   TENURE_INVALID  an empty path or ":memory:"
 *   TENURE_BUSY     another checker has it open
 *   TENURE_FOREIGN  it is something else, or a newer version made it
 *   TENURE_CORRUPT, DENIED, READ_ONLY, NO_SPACE, UNREACHABLE (no such directory) */
int marks_open(const char *path, struct marks **ret, tenure_error *err);

/* NULL is fine.  Returns NULL. */
struct marks *marks_close(struct marks *m);

/* Has fn called when a change could not be made durable, with why, and when one could be again,
 * with NULL; not for each one in between.  From whatever thread it was, which waits for it. */
typedef void marks_trouble_fn(void *arg, const char *why);
void marks_watch(struct marks *m, marks_trouble_fn *fn, void *arg);

/* ---- requests ------------------------------------------------------------------------------ */

/* What is said to a request that shows `token` to the guard `name`; *ret_mark is the mark then.
 * With HTTP_UNAVAILABLE *err is filled. */
enum http_verdict marks_judge(struct marks *m, struct text name, uint64_t token,
                              uint64_t *ret_mark, tenure_error *err);

/* Counts a request that showed no token which could be judged: HTTP_MISSING or INVALID.  Returns
 * that, or HTTP_BROKEN without such a guard. */
enum http_verdict marks_refuse(struct marks *m, struct text name, enum http_verdict why,
                               uint64_t *ret_mark);

/* ---- operators ----------------------------------------------------------------------------- */

/* As target_install(), announce() and remove() (target/target.h): CONFLICT, NOT_OWNED, INVALID,
 * and the codes of a file that cannot be written. */
int marks_install(struct marks *m, struct text name, bool strict, tenure_error *err);
int marks_announce(struct marks *m, struct text name, uint64_t token, tenure_error *err);
int marks_remove(struct marks *m, struct text name, tenure_error *err);

/* ---- looking ------------------------------------------------------------------------------- */

/* Counts are since the checker started. */
struct marks_info {
    const char *name; /* "" for the requests to guards that there are not */
    uint64_t mark;
    bool strict;
    uint64_t count[HTTP_VERDICTS]; /* of requests, by verdict */
    uint64_t announced;            /* announcements that were taken */
    enum http_verdict last;        /* the last refusal; 0: none yet */
    uint64_t last_token;           /* that it showed; 0 when it showed none */
    int64_t last_at_ms;            /* since 1970 */
};

struct marks_totals {
    uint64_t commits; /* of the file, and how long they took together */
    int64_t commit_ns;
    bool durable; /* the last commit succeeded */
};

typedef void marks_fn(void *arg, const struct marks_info *info);

/* Calls fn for each guard in the order of names, or for the one of this name; how many. */
size_t marks_each(struct marks *m, struct text name, marks_fn *fn, void *arg);
#define MARKS_ALL ((struct text){NULL, 0})

/* The same for the requests that named no guard that there is. */
void marks_unknown(struct marks *m, marks_fn *fn, void *arg);
void marks_total(struct marks *m, struct marks_totals *ret);

#endif
