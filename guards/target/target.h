/* target/target.h - what has guards in it, whatever kind it is: what an operator and a supervisor
 * do with it.
 *
 * In a database the guard itself is SQL inside the user's own; it works without this program.  In
 * front of a service it is a checker that a proxy asks.  Here is only what is done from outside: to
 * put it in, to move its mark before a successor starts, to look whether it is whole, and to take
 * it out again.  One folder for each kind makes these calls true (guards/sqlite, guards/postgres,
 * guards/http); tests/e2e/test_guard.py and test_guard_http.py ask all of them the same.
 *
 * What must never happen: that something is half installed (each call is one transaction), that
 * a mark goes down, or that a database is created because its name was misspelt.
 *
 * Threads: one at a time per target.  Every call returns 0 or a tenure_code with *err filled.
 * Every one of them may fail with TENURE_BUSY (a transaction of others was open for longer than the
 * patience), TENURE_READ_ONLY, TENURE_NO_SPACE, TENURE_DENIED, TENURE_CORRUPT, TENURE_UNREACHABLE
 * and TENURE_NO_MEMORY: then nothing has changed.  With TENURE_UNSURE (the connection was lost when
 * all was asked for and nothing answered) it may have.
 */
#ifndef TARGET_TARGET_H
#define TARGET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tenure/error.h>

#define TARGET_TOKEN_MAX INT64_MAX /* the databases have no unsigned integers */
#define TARGET_TABLES_MAX 256      /* tables that one call of install takes */

enum target_state {
    TARGET_INTACT = 0,
    TARGET_TABLE_GONE,  /* it was dropped */
    TARGET_UNPROTECTED, /* the table is there, a trigger is not, or it is switched off */
    TARGET_ALTERED,     /* a trigger is not the one that this version installs */
    TARGET_MOVED,       /* the table was renamed, and its triggers with it */
};

/* What a guard remembers of the writes that it refused.  They were rolled back with all that they
 * wrote, so only a database that can write outside of a transaction remembers any. */
struct target_refusals {
    uint64_t count;      /* 0: the rest means nothing */
    const char *verdict; /* of the last one: "stale", "newer", "missing", "invalid" */
    uint64_t token;      /* that it showed; 0 when it showed none that can be read */
    int64_t at_ms;       /* since 1970, on the wall clock of the database */
};

/* One guarded table, or a guard without any; borrowed for the call. */
struct target_finding {
    const char *guard;
    uint64_t mark;
    bool strict;
    const struct target_refusals *refusals; /* of the guard; NULL: this kind of target keeps none */
    const char *table;    /* NULL: this kind of target has no tables, the guard is the finding */
    const char *moved_to; /* MOVED: its new name; else NULL */
    enum target_state state;
};

typedef void target_finding_fn(void *arg, const struct target_finding *finding);

struct target;

/* What a kind of target does; the calls below say what each one means, and check the arguments. */
struct target_calls {
    bool takes_tables;
    void (*close)(struct target *g);
    int (*install)(struct target *g, const char *name, const char *const *tables,
                   size_t table_count, bool strict, tenure_error *err);
    int (*announce)(struct target *g, const char *name, uint64_t token, tenure_error *err);
    int (*check)(struct target *g, const char *name, target_finding_fn *fn, void *arg,
                 tenure_error *err);
    int (*remove)(struct target *g, const char *name, tenure_error *err);
};

/* The first member of every kind's own. */
struct target {
    const struct target_calls *calls;
};

/* NULL is fine.  Returns NULL. */
struct target *target_close(struct target *g);

/* Puts the tables under the guard `name`.  Again with the same arguments it changes nothing but
 * puts back what is missing; with further tables it adds them.
 *   TENURE_INVALID   the name is none; a table does not exist, or cannot carry a guard; this kind
 *                    of target has no tables, or has them and was given none
 *   TENURE_CONFLICT  a table is under another guard, or the guard stands with another `strict`
 *   TENURE_FOREIGN   the database has objects of our names that this version did not make */
int target_install(struct target *g, const char *name, const char *const *tables,
                   size_t table_count, bool strict, tenure_error *err);

/* Moves the mark up to `token`; announcing the mark itself again is fine.  When this returns 0,
 * every transaction of a lower token has either ended or will be refused; for requests that a proxy
 * asks about (guards/http) it is every check that begins later.
 *   TENURE_NOT_OWNED  the mark is higher: the token is stale
 *   TENURE_INVALID    no such guard, or a token that is 0 or above TARGET_TOKEN_MAX */
int target_announce(struct target *g, const char *name, uint64_t token, tenure_error *err);

/* Calls fn for each guarded table, in order of guard and table; `name` NULL: of all guards.
 * Reads only.  Without any guard in the database fn is never called.
 *   TENURE_INVALID  there is no guard `name`
 *   TENURE_FOREIGN  the objects that all guards share are not ours, or damaged */
int target_check(struct target *g, const char *name, target_finding_fn *fn, void *arg,
                 tenure_error *err);

/* Takes the guard and its triggers out; with the last guard everything of ours goes.  A guard that
 * is put in again later starts without a mark: announce the present token then.
 *   TENURE_INVALID  there is no guard `name` */
int target_remove(struct target *g, const char *name, tenure_error *err);

/* "intact", "table gone", ...; static storage. */
const char *target_state_text(enum target_state state);

#endif
