#include "http/marks.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "http/marks_file.h"
#include "os/clock.h"
#include "os/fail.h"

struct guard {
    char name[NAME_BYTES_MAX + 1];
    bool strict;
    _Atomic uint64_t mark; /* what the file holds, or less while a commit is under way */
    _Atomic uint64_t count[HTTP_VERDICTS];
    _Atomic uint64_t announced;
    pthread_mutex_t refusal; /* of the next three */
    enum http_verdict last;
    uint64_t last_token;
    int64_t last_at_ms;
};

struct marks {
    struct marks_file file;   /* whoever holds `writer` */
    pthread_mutex_t writer;   /* of the file, of marks that rise, and of who changes `guard` */
    pthread_rwlock_t table;   /* of `guard`; held for moments only, never during a commit */
    struct guard **guard;     /* in the order of names */
    size_t count, capacity;
    struct guard unknown;
    marks_trouble_fn *trouble; /* NULL: nobody wants to know */
    void *trouble_arg;
    _Atomic uint64_t commits;
    _Atomic int64_t commit_ns;
    _Atomic bool durable;
};

/* ---- the table ----------------------------------------------------------------------------- */

static struct guard *guard_make(struct text name, uint64_t mark, bool strict)
{
    struct guard *g = calloc(1, sizeof *g);
    if (g == NULL)
        return NULL;
    if (name.len > 0)
        memcpy(g->name, name.at, name.len); /* the NUL is there */
    g->strict = strict;
    atomic_init(&g->mark, mark);
    pthread_mutex_init(&g->refusal, NULL);
    return g;
}

static void guard_free(struct guard *g)
{
    pthread_mutex_destroy(&g->refusal);
    free(g);
}

/* Where the name is (true), or would be. */
static bool locate(const struct marks *m, struct text name, size_t *ret)
{
    size_t low = 0, high = m->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *other = m->guard[middle]->name;
        size_t len = strlen(other);
        int order = memcmp(other, name.at, len < name.len ? len : name.len);
        if (order == 0 && len == name.len) {
            *ret = middle;
            return true;
        }
        if (order < 0 || (order == 0 && len < name.len))
            low = middle + 1;
        else
            high = middle;
    }
    *ret = low;
    return false;
}

/* NULL when there is none.  Holds for as long as `table` or `writer` is held. */
static struct guard *find(const struct marks *m, struct text name)
{
    size_t at;
    return name.len > 0 && locate(m, name, &at) ? m->guard[at] : NULL;
}

static bool make_room(struct marks *m)
{
    if (m->count < m->capacity)
        return true;
    size_t capacity = m->capacity ? 2 * m->capacity : 16;
    struct guard **more = realloc(m->guard, capacity * sizeof *more);
    if (more == NULL)
        return false;
    m->guard = more;
    m->capacity = capacity;
    return true;
}

/* There is room, and no such guard. */
static void insert(struct marks *m, struct guard *g)
{
    size_t at;
    bool there = locate(m, text_of(g->name), &at);
    assert(!there && m->count < m->capacity);
    memmove(m->guard + at + 1, m->guard + at, (m->count - at) * sizeof *m->guard);
    m->guard[at] = g;
    m->count++;
}

/* ---- opening ------------------------------------------------------------------------------- */

static int load(void *arg, struct text name, uint64_t mark, bool strict, tenure_error *err)
{
    struct marks *m = arg;
    struct guard *g = make_room(m) ? guard_make(name, mark, strict) : NULL;
    if (g == NULL)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    insert(m, g); /* the file's names are unique */
    return 0;
}

static void init_locks(struct marks *m)
{
    pthread_rwlockattr_t attr;
    pthread_mutex_init(&m->writer, NULL);
    pthread_mutex_init(&m->unknown.refusal, NULL);
    pthread_rwlockattr_init(&attr);
    /* An operator must get through whatever the load is. */
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&m->table, &attr);
    pthread_rwlockattr_destroy(&attr);
}

int marks_open(const char *path, struct marks **ret, tenure_error *err)
{
    struct marks *m = calloc(1, sizeof *m);
    if (m == NULL)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    int code = marks_file_open(path, &m->file, err);
    if (code < 0) {
        free(m);
        return code;
    }
    init_locks(m);
    atomic_init(&m->durable, true);
    code = marks_file_read(&m->file, load, m, err);
    if (code < 0)
        marks_close(m);
    else
        *ret = m;
    return code;
}

struct marks *marks_close(struct marks *m)
{
    if (m == NULL)
        return NULL;
    marks_file_close(&m->file);
    for (size_t i = 0; i < m->count; i++)
        guard_free(m->guard[i]);
    free(m->guard);
    pthread_mutex_destroy(&m->unknown.refusal);
    pthread_mutex_destroy(&m->writer);
    pthread_rwlock_destroy(&m->table);
    free(m);
    return NULL;
}

void marks_watch(struct marks *m, marks_trouble_fn *fn, void *arg)
{
    pthread_mutex_lock(&m->writer);
    m->trouble = fn;
    m->trouble_arg = arg;
    pthread_mutex_unlock(&m->writer);
}

/* ---- marks that rise ----------------------------------------------------------------------- */

/* Notes how long a commit took that began then, and whether it succeeded; returns code.  Under
 * `writer`, so who is told of trouble hears of its beginning before its end. */
static int note_commit(struct marks *m, int64_t began_ns, int code, const tenure_error *err)
{
    atomic_fetch_add(&m->commits, 1);
    atomic_fetch_add(&m->commit_ns, clock_fine_ns() - began_ns);
    bool was = atomic_exchange(&m->durable, code == 0);
    if (m->trouble && was != (code == 0))
        m->trouble(m->trouble_arg, code == 0 ? NULL : err->text);
    return code;
}

/* Under `writer`.  The file first: nobody is told of a mark that a crash could take back. */
static int raise_mark(struct marks *m, struct guard *g, uint64_t token, tenure_error *err)
{
    int64_t began = clock_fine_ns();
    int code = note_commit(m, began, marks_file_raise(&m->file, g->name, token, err), err);
    if (code == 0)
        atomic_store(&g->mark, token);
    return code;
}

/* ---- requests ------------------------------------------------------------------------------ */

static void count(struct guard *g, enum http_verdict v, uint64_t token)
{
    atomic_fetch_add_explicit(&g->count[v], 1, memory_order_relaxed);
    if (http_verdict_admits(v))
        return;
    pthread_mutex_lock(&g->refusal);
    g->last = v;
    g->last_token = token;
    g->last_at_ms = clock_wall_ms();
    pthread_mutex_unlock(&g->refusal);
}

/* By memory alone. */
static enum http_verdict look(struct marks *m, struct text name, uint64_t token,
                              uint64_t *ret_mark)
{
    enum http_verdict v = HTTP_BROKEN;
    pthread_rwlock_rdlock(&m->table);
    struct guard *g = find(m, name);
    *ret_mark = g ? atomic_load(&g->mark) : 0;
    if (g)
        v = (enum http_verdict)tenure_guard_admit(*ret_mark, token, g->strict);
    if (v != HTTP_RAISE)
        count(g ? g : &m->unknown, v, token);
    pthread_rwlock_unlock(&m->table);
    return v;
}

enum http_verdict marks_judge(struct marks *m, struct text name, uint64_t token,
                              uint64_t *ret_mark, tenure_error *err)
{
    enum http_verdict v = look(m, name, token, ret_mark);
    if (v != HTTP_RAISE)
        return v;
    pthread_mutex_lock(&m->writer);
    struct guard *g = find(m, name); /* much may have happened since */
    v = HTTP_BROKEN;
    if (g) {
        v = (enum http_verdict)tenure_guard_admit(atomic_load(&g->mark), token, g->strict);
        if (v == HTTP_RAISE && raise_mark(m, g, token, err) < 0)
            v = HTTP_UNAVAILABLE;
        *ret_mark = atomic_load(&g->mark);
    }
    count(g ? g : &m->unknown, v, token);
    pthread_mutex_unlock(&m->writer);
    return v;
}

enum http_verdict marks_refuse(struct marks *m, struct text name, enum http_verdict why,
                               uint64_t *ret_mark)
{
    pthread_rwlock_rdlock(&m->table);
    struct guard *g = find(m, name);
    enum http_verdict v = g ? why : HTTP_BROKEN;
    *ret_mark = g ? atomic_load(&g->mark) : 0;
    count(g ? g : &m->unknown, v, 0);
    pthread_rwlock_unlock(&m->table);
    return v;
}

/* ---- operators ----------------------------------------------------------------------------- */

static int no_such_guard(struct text name, tenure_error *err)
{
    return fail(err, TENURE_INVALID, "there is no guard \"%.*s\" in this checker", (int)name.len,
                name.at);
}

static int add(struct marks *m, struct text name, bool strict, tenure_error *err)
{
    struct guard *g = guard_make(name, 0, strict);
    pthread_rwlock_wrlock(&m->table);
    bool room = make_room(m);
    pthread_rwlock_unlock(&m->table);
    int code = g && room ? 0 : fail(err, TENURE_NO_MEMORY, "out of memory");
    int64_t began = clock_fine_ns();
    if (code == 0)
        code = note_commit(m, began, marks_file_add(&m->file, g->name, strict, err), err);
    if (code < 0) {
        if (g)
            guard_free(g);
        return code;
    }
    pthread_rwlock_wrlock(&m->table);
    insert(m, g);
    pthread_rwlock_unlock(&m->table);
    return 0;
}

int marks_install(struct marks *m, struct text name, bool strict, tenure_error *err)
{
    enum name_flaw flaw = name_check(name, NULL);
    int code = 0;
    if (flaw != NAME_FINE)
        return fail(err, TENURE_INVALID, "the name of a guard: %s", name_flaw_text(flaw));
    pthread_mutex_lock(&m->writer);
    struct guard *g = find(m, name);
    if (g == NULL)
        code = add(m, name, strict, err);
    else if (g->strict != strict)
        code = fail(err, TENURE_CONFLICT,
                    "guard \"%s\" is installed %s --strict: say the same again, or remove it first",
                    g->name, strict ? "without" : "with");
    pthread_mutex_unlock(&m->writer);
    return code;
}

static int announce(struct marks *m, struct guard *g, uint64_t token, tenure_error *err)
{
    uint64_t mark = atomic_load(&g->mark);
    int code = 0;
    switch (tenure_guard_admit(mark, token, false)) {
    case TENURE_GUARD_RAISE:
        code = raise_mark(m, g, token, err);
        break;
    case TENURE_GUARD_ADMIT:
        break;
    case TENURE_GUARD_STALE:
    case TENURE_GUARD_NEWER: /* never, without strict */
        return fail(err, TENURE_NOT_OWNED,
                    "token %" PRIu64 ": stale, the mark of guard \"%s\" is %" PRIu64, token,
                    g->name, mark);
    }
    if (code == 0)
        atomic_fetch_add(&g->announced, 1);
    return code;
}

int marks_announce(struct marks *m, struct text name, uint64_t token, tenure_error *err)
{
    pthread_mutex_lock(&m->writer);
    struct guard *g = find(m, name);
    int code = g ? announce(m, g, token, err) : no_such_guard(name, err);
    pthread_mutex_unlock(&m->writer);
    return code;
}

/* Under `writer`. */
static void take_out(struct marks *m, struct text name)
{
    size_t at;
    pthread_rwlock_wrlock(&m->table);
    bool there = locate(m, name, &at);
    assert(there);
    struct guard *g = m->guard[at];
    m->count--;
    memmove(m->guard + at, m->guard + at + 1, (m->count - at) * sizeof *m->guard);
    pthread_rwlock_unlock(&m->table);
    guard_free(g);
}

int marks_remove(struct marks *m, struct text name, tenure_error *err)
{
    pthread_mutex_lock(&m->writer);
    struct guard *g = find(m, name);
    int64_t began = clock_fine_ns();
    int code = g ? note_commit(m, began, marks_file_delete(&m->file, g->name, err), err)
                 : no_such_guard(name, err);
    if (code == 0)
        take_out(m, name);
    pthread_mutex_unlock(&m->writer);
    return code;
}

/* ---- looking ------------------------------------------------------------------------------- */

static void tell(struct guard *g, marks_fn *fn, void *arg)
{
    struct marks_info info = {.name = g->name, .mark = atomic_load(&g->mark), .strict = g->strict,
                              .announced = atomic_load(&g->announced)};
    for (int v = 0; v < HTTP_VERDICTS; v++)
        info.count[v] = atomic_load(&g->count[v]);
    pthread_mutex_lock(&g->refusal);
    info.last = g->last;
    info.last_token = g->last_token;
    info.last_at_ms = g->last_at_ms;
    pthread_mutex_unlock(&g->refusal);
    fn(arg, &info);
}

size_t marks_each(struct marks *m, struct text name, marks_fn *fn, void *arg)
{
    size_t told = 0;
    pthread_rwlock_rdlock(&m->table);
    for (size_t i = 0; i < m->count; i++) {
        if (name.len > 0 && !text_equal(name, text_of(m->guard[i]->name)))
            continue;
        tell(m->guard[i], fn, arg);
        told++;
    }
    pthread_rwlock_unlock(&m->table);
    return told;
}

void marks_unknown(struct marks *m, marks_fn *fn, void *arg)
{
    tell(&m->unknown, fn, arg);
}

void marks_total(struct marks *m, struct marks_totals *ret)
{
    *ret = (struct marks_totals){atomic_load(&m->commits), atomic_load(&m->commit_ns),
                                 atomic_load(&m->durable)};
}
