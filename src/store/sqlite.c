/* store/sqlite.c - the embedded engine: its table of calls, opening and closing. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/place.h"
#include "store/engines.h"
#include "store/sqlite_engine.h"

#define PATIENCE_DEFAULT_MS (TIMING_TTL_DEFAULT_MS / 6)

/* To open may wait for longer than to renew: whoever makes the store syncs it several times, and
 * nothing of ours can expire meanwhile.  Else the first start of a crowd fails for most of it. */
#define PATIENCE_OPEN_MS 3000
#define SUFFIX_BYTES 8 /* "-gate", "-live" */

/* Inlined, its paths would lie on the stack above all that is called later, and each page of the
 * stack that is touched for the first time costs a start more than a call of the kernel. */
#define APART __attribute__((noinline))

/* ---- where it is ---------------------------------------------------------------------------- */

/* A path for what does not exist yet: the real path of its directory, and its name. */
static APART int resolve_new(const char *path, char **ret, tenure_error *err)
{
    char dir[PATH_MAX];
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) /* else somebody has just made it */
        return fail(err, TENURE_ABSENT, "%s is a symbolic link to nothing", path);
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (*name == '\0')
        return fail(err, TENURE_INVALID, "sqlite:%s names a directory, not a file", path);
    memcpy(dir, path, len);
    memcpy(dir + len, "", 1);
    const char *which = !slash ? "." : len == 0 ? "/" : dir;
    char *real = realpath(which, NULL);
    if (!real)
        return errno == ENOENT
                   ? fail(err, TENURE_ABSENT, "the directory %s does not exist%s", which,
                          which[0] == '~' ? ": the shell left the ~ as it is, so write $HOME" : "")
                   : fail_errno(err, errno, "%s", which);
    char *fresh;
    int n = asprintf(&fresh, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
    free(real);
    if (n < 0)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    *ret = fresh;
    return 0;
}

/* One file has one name, or two processes would use two gates.  The caller frees *ret. */
static APART int resolve(struct text body, char **ret, tenure_error *err)
{
    char path[PATH_MAX];
    if (body.len == 0)
        return fail(err, TENURE_INVALID, "\"sqlite:\" names no file: write sqlite:PATH");
    if (body.len >= sizeof path - SUFFIX_BYTES)
        return fail(err, TENURE_INVALID, "the path of the store is too long");
    memcpy(path, body.at, body.len);
    path[body.len] = '\0';
    if (strncmp(path, "//", 2) == 0 && path[2] != '/')
        return fail(err, TENURE_INVALID, "sqlite:%s names a host, and a file has none: write "
                                         "sqlite:PATH", path);
    if (path[0] == ':')
        return fail(err, TENURE_INVALID, "sqlite:%s is not a file; memory: is the store for "
                                         "tests", path);
    char *real = realpath(path, NULL);
    if (!real)
        return errno == ENOENT ? resolve_new(path, ret, err) : fail_errno(err, errno, "%s", path);
    *ret = real;
    return 0;
}

static int check_path(const char *path, tenure_error *err)
{
    struct stat st;
    if (strlen(path) >= PATH_MAX - SUFFIX_BYTES)
        return fail(err, TENURE_INVALID, "the path of the store is too long");
    if (strchr(path, '?'))
        return fail(err, TENURE_INVALID, "%s: a store's path has no \"?\"", path);
    if (stat(path, &st) != 0)
        return errno == ENOENT ? 0 : fail_errno(err, errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return fail(err, TENURE_INVALID, "%s is not a file", path);
    if (st.st_nlink > 1)
        return fail(err, TENURE_UNSAFE_PLACE, "%s has %lu names (hard links); a store has one",
                    path, (unsigned long)st.st_nlink);
    if (place_is_mounted_alone(path))
        return fail(err, TENURE_UNSAFE_PLACE, "%s is mounted by itself, and who sees it in another "
                                              "directory has another gate: mount its directory "
                                              "instead", path);
    return 0;
}

/* What a URL may say behind its "?". */
struct choices {
    bool any_place;
    bool has_group;
    gid_t group;
};

static int read_options(struct text query, struct choices *ret, tenure_error *err)
{
    struct text key, value;
    int code = 0;
    while (code == 0 && url_option_next(&query, &key, &value)) {
        if (text_equal(key, text_of("fs")) && text_equal(value, text_of("any"))) {
            ret->any_place = true;
        } else if (text_equal(key, text_of("group"))) {
            ret->has_group = true;
            code = sqlite_group_find(value, &ret->group, err);
        } else {
            code = fail(err, TENURE_INVALID, "unknown option \"%.*s=%.*s\" of a sqlite: URL; "
                                             "known are fs=any and group=GROUP",
                        (int)(key.len > 60 ? 60 : key.len), key.at ? key.at : "",
                        (int)(value.len > 60 ? 60 : value.len), value.at ? value.at : "");
        }
    }
    return code;
}

/* ---- connections of a parent ---------------------------------------------------------------- */

/* In a forked child, connections of its parent's.  SQLite keeps an account of the locks that the
 * process has on a file, and the child inherits the account, but not the locks.  While one of them
 * is open here, a connection of the child's own believes that it has locks which nobody else sees.
 * So they are closed before one is opened, and that harms nobody: none is in a transaction (who
 * forks waits for that), none checkpoints when it closes, and the locks are the parent's. */
struct inherited {
    sqlite3 *db;
    struct inherited *next;
};

static struct inherited *_Atomic inherited;

static void inherit(struct sqlite_store *s)
{
    if (!s->db)
        return;
    s->inherited->db = s->db;
    s->inherited->next = atomic_load(&inherited);
    while (!atomic_compare_exchange_weak(&inherited, &s->inherited->next, s->inherited))
        continue;
    s->inherited = NULL;
    s->db = NULL;
}

static void inherited_close(void)
{
    struct inherited *next;
    for (struct inherited *i = atomic_exchange(&inherited, NULL); i; i = next) {
        next = i->next;
        sqlite_disconnect(i->db);
        free(i);
    }
}

/* ---- closing -------------------------------------------------------------------------------- */

static void sqlite_forked(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);
    inherit(s);
    sqlite_hints_close(s);
    lifelines_forked(s->lives);
    gate_forked(s->gate);
}

static void sqlite_close(struct store *store)
{
    struct sqlite_store *s = sqlite_of(store);
    sqlite_hints_close(s);
    s->lives = lifelines_close(s->lives);
    if (s->db) {
        sqlite_tidy(s);
        sqlite_disconnect(s->db);
    }
    free(s->inherited);
    s->gate = gate_close(s->gate);
    free(s->buffer[0]);
    free(s->path);
    free(s->url);
    free(s);
}

/* ---- opening -------------------------------------------------------------------------------- */

static void sqlite_abandon(struct store *store, struct store_op *op)
{
    (void)store; /* an embedded engine has nothing in flight */
    if (!op->done)
        store_op_finish(op, TENURE_UNSURE);
}

static const char *sqlite_url(struct store *store)
{
    return sqlite_of(store)->url;
}

static const struct store_ops sqlite_ops = {
    .scheme = "sqlite",
    .close = sqlite_close,
    .update = sqlite_update,
    .session_open = sqlite_session_open,
    .session_renew = sqlite_session_renew,
    .session_close = sqlite_session_close,
    .read = sqlite_read,
    .abandon = sqlite_abandon,
    .watch_sessions = sqlite_watch_sessions,
    .watch_all = sqlite_watch_all,
    .next_hint = sqlite_next_hint,
    .fd = sqlite_fd,
    .process = sqlite_process,
    .due = sqlite_due,
    .forked = sqlite_forked,
    .lifeline = sqlite_lifeline,
    .examine = sqlite_examine,
    .url = sqlite_url,
};

static int allocate(const char *path, const struct choices *choices, struct sqlite_store **ret,
                    tenure_error *err)
{
    struct sqlite_store *s = calloc(1, sizeof *s);
    if (!s)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    s->store.ops = &sqlite_ops;
    s->any_place = choices->any_place;
    s->has_group = choices->has_group;
    s->group = choices->group;
    s->hints.epoll = s->hints.inotify = -1;
    s->inherited = calloc(1, sizeof *s->inherited); /* there is no allocating in a forked child */
    s->path = strdup(path);
    const char *query = s->any_place ? "?fs=any" : "";
    bool fine = s->inherited && s->path && asprintf(&s->url, "sqlite:%s%s", path, query) >= 0;
    if (!fine)
        s->url = NULL; /* asprintf() leaves it undefined */
    char *buffers = malloc((size_t)STORE_KEYS_MAX * STORE_RECORD_MAX);
    for (int i = 0; buffers && i < STORE_KEYS_MAX; i++)
        s->buffer[i] = buffers + (size_t)i * STORE_RECORD_MAX;
    if (!fine || !buffers) {
        sqlite_close(&s->store);
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    }
    *ret = s;
    return 0;
}

/* `path` is cut for a moment. */
static int check_directory(char *path, bool any, tenure_error *err)
{
    char *slash = strrchr(path, '/');
    *slash = '\0';
    int code = place_check(slash == path ? "/" : path, any, NULL, err);
    *slash = '/';
    return code;
}

/* The companions take after the database, or are as a new one will be. */
static APART int open_gate(struct sqlite_store *s, bool create, tenure_error *err)
{
    char path[PATH_MAX];
    struct rights rights;
    int code = sqlite_rights(s, &rights, err);
    if (code < 0)
        return code;
    snprintf(path, sizeof path, "%s-gate", s->path);
    if (!create && access(s->path, F_OK) != 0 && access(path, F_OK) != 0)
        return fail(err, TENURE_ABSENT, "%s: there is no such store", s->path);
    return gate_open(path, &rights, SQLITE_CACHE_BYTES, &s->gate, err);
}

static void count_lives(void *arg, uint64_t session)
{
    struct sqlite_store *s = arg;
    if (lifelines_ask(s->lives, session) == LIFELINE_RUNS)
        s->gone_count++;
}

/* Nobody may hold anything while the tokens are raised: the store does not know what they hold. */
static int check_alone(struct sqlite_store *s, tenure_error *err)
{
    s->gone_count = 0;
    int e = lifelines_list(s->lives, count_lives, s);
    if (e != 0)
        return fail_errno(err, e, "%s-live cannot be listed", s->path);
    size_t alive = s->gone_count;
    s->gone_count = 0;
    if (alive == 0)
        return 0;
    return fail(err, TENURE_BUSY, "%s: %zu session%s of it still run%s; stop the programs first",
                s->path, alive, alive == 1 ? "" : "s", alive == 1 ? "s" : "");
}

static APART int open_lives(struct sqlite_store *s, tenure_error *err)
{
    char path[PATH_MAX];
    struct rights rights;
    int code = sqlite_rights(s, &rights, err);
    if (code < 0)
        return code;
    snprintf(path, sizeof path, "%s-live", s->path);
    return lifelines_open(path, &rights, &s->lives, err);
}

static int open_inside(struct sqlite_store *s, const struct store_options *opt,
                       const uint64_t *raise, tenure_error *err)
{
    int code = open_lives(s, err);
    if (code == 0 && raise)
        code = check_alone(s, err);
    if (code == 0)
        code = sqlite_find_file(s, opt->create, raise != NULL, err);
    if (code == 0 && !(opt->lazy && !raise && sqlite_settle_sealed(s)))
        code = raise ? sqlite_schema_open(s, raise, err) : sqlite_need(s, err);
    if (code == 0)
        code = sqlite_give(s, err);
    if (code == 0)
        code = sqlite_hints_open(s, err);
    return code;
}

/* From outside of the gate to a store that is open. */
static int enter_and_open(struct sqlite_store *s, const struct store_options *opt,
                          const uint64_t *raise, tenure_error *err)
{
    struct span patience = SPAN(PATIENCE_OPEN_MS);
    if (s->patience.ms > patience.ms)
        patience = s->patience;
    if (opt->opening.ms > 0)
        patience = opt->opening;
    int code = open_gate(s, opt->create, err);
    if (code == 0)
        code = gate_enter(s->gate, patience, err);
    if (code == 0) {
        code = open_inside(s, opt, raise, err);
        gate_leave(s->gate);
    }
    if (code == TENURE_DENIED || code == TENURE_READ_ONLY)
        return sqlite_no_rights(s, code, err);
    return code;
}

/* All that can be known of the store without opening it. */
static int prepare(const struct url *url, const struct store_options *opt,
                   struct sqlite_store **ret, tenure_error *err)
{
    char *path = NULL;
    struct choices choices = {0};
    int code = read_options(url->query, &choices, err);
    if (code == 0 && choices.has_group)
        code = sqlite_group_directory(url->body, opt->create, choices.group, err);
    if (code == 0)
        code = resolve(url->body, &path, err);
    if (code == 0)
        code = check_path(path, err);
    if (code == 0)
        code = check_directory(path, choices.any_place, err);
    if (code == 0)
        code = allocate(path, &choices, ret, err);
    if (code == 0)
        (*ret)->patience = opt->patience.ms > 0 ? opt->patience : SPAN(PATIENCE_DEFAULT_MS);
    free(path);
    return code;
}

static int open_store(const struct url *url, const struct store_options *opt,
                      const uint64_t *raise, struct store **ret, tenure_error *err)
{
    struct sqlite_store *s = NULL;
    inherited_close();
    int code = prepare(url, opt, &s, err);
    if (code < 0)
        return code;
    if (!opt->lazy || access(s->path, F_OK) != 0) /* else inside the gate, if it is needed */
        code = sqlite_load(err);
    if (code == 0)
        code = enter_and_open(s, opt, raise, err);
    if (code < 0) {
        sqlite_close(&s->store);
        return code;
    }
    *ret = &s->store;
    return 0;
}

int sqlite_store_open(const struct url *url, const struct store_options *opt, struct store **ret,
                      tenure_error *err)
{
    return open_store(url, opt, NULL, ret, err);
}

int sqlite_store_raise(const struct url *url, uint64_t above, tenure_error *err)
{
    const struct store_options opt = {.create = true};
    struct store *store;
    if (above > SQLITE_TOKEN_MAX - SQLITE_TOKEN_BLOCK)
        return fail(err, TENURE_INVALID, "%llu is too high for a token",
                    (unsigned long long)above);
    int code = open_store(url, &opt, &above, &store, err);
    if (code == 0)
        store->ops->close(store);
    return code;
}
