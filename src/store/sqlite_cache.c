/* store/sqlite_cache.c - the write-back cache: the records that are in use, in memory which all
 * processes share.
 *
 * Behind the gate's page is room for SQLITE_CACHE_LINES records.  What is said there goes before
 * the row of the database, so a decision that changes a record in a line, and nothing else, is over
 * without a transaction.  Lines are in a file, so they outlive every process, and are lost only
 * with the machine, together with all who could hold; what must outlive that, or a gate that
 * somebody removes, is not kept here (struct store_update, `ephemeral`).
 *
 * WRITING is inside the gate.  A line has two halves; one is current, the other one is written and
 * then made current by counting `turn` up.  So whoever dies on the way leaves either the old
 * record or the new one.  The highest token is in the page before the record that has it is.
 *
 * WRITING BACK.  A line is dirty while its row has another sequence number.  Rows are written when
 * lines are wanted for other records, with a session's renewal when they have rested, and by the
 * last one who leaves, if it has the database open.  The lines stay: who comes next reads them, and
 * no database, if that is as it was left (sqlite_seal.c).  Each write of a record, to a line or a
 * row, takes a higher number from the page, so that after a crash of the machine, when lines and
 * rows may both be old, the newer one of each record is known.
 *
 * READING outside of the gate copies a line and sees by `turn` whether it stood still meanwhile.
 * Who reads lines and rows copies the lines first: a record moves to its row before it leaves its
 * line, so none is missed. */
#include "store/sqlite_engine.h"

#include <stdlib.h>
#include <string.h>

#include "os/point.h"

#define LINE_BYTES 4096
#define RECORD_BYTES SQLITE_LINE_RECORD_BYTES

/* So many lines are freed at once when none is left. */
#define BATCH (SQLITE_CACHE_LINES / 4)

/* How long a dirty line must rest before a renewal takes it along. */
#define REST_MS 1000

/* How often a reader tries to copy a line that is being written. */
#define COPIES 1000

struct half {
    uint64_t sequence;
    int64_t at; /* the store's clock at the write */
    uint32_t len;
    uint32_t unused;
    uint64_t sum; /* of all of the above and the bytes */
    unsigned char bytes[RECORD_BYTES];
};

struct line {
    _Atomic uint32_t turn; /* its lowest bit says which half is current */
    uint32_t unused;
    char key[NAME_BYTES_MAX + 1];
    struct half half[2];
};

struct cache {
    _Atomic uint64_t hash[SQLITE_CACHE_LINES]; /* of the line's key; 0: the line is free */
    uint64_t kept[SQLITE_CACHE_LINES];         /* the sequence number that the row has */
    uint64_t unused[512 - 2 * SQLITE_CACHE_LINES];
    union {
        struct line line;
        unsigned char bytes[LINE_BYTES];
    } at[SQLITE_CACHE_LINES];
};

_Static_assert(sizeof(struct line) <= LINE_BYTES, "a line has room for its struct");
_Static_assert(sizeof(struct cache) == SQLITE_CACHE_BYTES, "the gate makes room for the cache");

static struct cache *cache_of(const struct sqlite_store *s)
{
    return gate_room(s->gate);
}

static struct line *line_at(struct cache *c, int i)
{
    return &c->at[i].line;
}

static struct half *current(struct line *l)
{
    return &l->half[atomic_load(&l->turn) & 1];
}

/* What is there of the bytes, whatever has happened to the file. */
static size_t length_of(const struct half *h)
{
    return h->len <= RECORD_BYTES ? h->len : RECORD_BYTES;
}

static uint64_t hash_of(const char *key)
{
    uint64_t h = store_key_hash(key);
    return h != 0 ? h : 1;
}

static uint64_t sum_of(const char *key, const struct half *h)
{
    const uint64_t part[] = {store_key_hash(key), h->sequence, (uint64_t)h->at, h->len,
                             store_hash(h->bytes, h->len)};
    return store_hash(part, sizeof part);
}

/* A key has an end, whatever has happened to the file. */
static bool has_key(const struct line *l)
{
    return l->key[0] != '\0' && memchr(l->key, '\0', sizeof l->key) != NULL;
}

static bool is_dirty(struct cache *c, int i)
{
    return atomic_load(&c->hash[i]) != 0 && current(line_at(c, i))->sequence != c->kept[i];
}

/* ---- one record ----------------------------------------------------------------------------- */

int sqlite_cache_find(const struct sqlite_store *s, const char *key)
{
    struct cache *c = cache_of(s);
    uint64_t h = hash_of(key);
    for (int i = 0; i < SQLITE_CACHE_LINES; i++) {
        if (atomic_load_explicit(&c->hash[i], memory_order_acquire) == h &&
            strncmp(line_at(c, i)->key, key, sizeof line_at(c, i)->key) == 0)
            return i;
    }
    return -1;
}

void sqlite_cache_borrow(const struct sqlite_store *s, int at, struct store_record *ret)
{
    const struct half *h = current(line_at(cache_of(s), at));
    ret->bytes = h->bytes;
    ret->len = length_of(h);
}

static int free_line(struct cache *c)
{
    for (int i = 0; i < SQLITE_CACHE_LINES; i++) {
        if (atomic_load(&c->hash[i]) == 0)
            return i;
    }
    return -1;
}

bool sqlite_cache_takes(const struct store_write *out)
{
    return out->what == STORE_PUT && out->len > 0 && out->len <= RECORD_BYTES;
}

bool sqlite_cache_put(struct sqlite_store *s, int at, const char *key,
                      const struct store_write *out, struct instant now)
{
    struct gate_page *p = gate_page(s->gate);
    struct cache *c = cache_of(s);
    bool is_new = at < 0;
    if (is_new && strlen(key) > NAME_BYTES_MAX)
        return false;
    if (is_new)
        at = free_line(c);
    if (at < 0)
        return false;
    struct line *l = line_at(c, at);
    uint32_t turn = atomic_load(&l->turn) + 1;
    struct half *h = &l->half[turn & 1];
    if (is_new) {
        memcpy(l->key, key, strlen(key) + 1);
        c->kept[at] = 0; /* no write has this number */
    }
    p->clock = now.ms;
    h->sequence = ++p->sequence;
    h->at = now.ms;
    h->len = (uint32_t)out->len;
    memcpy(h->bytes, out->bytes, out->len);
    h->sum = sum_of(l->key, h);
    POINT("line-turn");
    atomic_store(&l->turn, turn);
    if (is_new)
        atomic_store(&c->hash[at], hash_of(key));
    return true;
}

/* ---- writing back --------------------------------------------------------------------------- */

static void add(struct sqlite_lines *lines, int at)
{
    lines->at[lines->count++] = (uint8_t)at;
}

/* Writes a record to its row, unless the row is as new.  Within a transaction. */
static int write_row(struct sqlite_store *s, const struct line *l, const struct half *h)
{
    struct store_record record = {.key = l->key};
    size_t len = length_of(h);
    if (!has_key(l) || len == 0)
        return SQLITE_OK; /* damaged: nobody has found it under any name */
    int rc = sqlite_record_find(s, 0, &record);
    bool newer = !record.bytes || h->sequence > sqlite_record_sequence(s, 0);
    sqlite_record_found(s, 0);
    if (rc != SQLITE_OK || !newer)
        return rc;
    memcpy(s->buffer[0], h->bytes, len);
    return sqlite_record_put(s, 0, &record, s->buffer[0], len, h->sequence);
}

static int write_rows(struct sqlite_store *s, const struct sqlite_lines *lines)
{
    struct cache *c = cache_of(s);
    int rc = SQLITE_OK;
    for (int i = 0; i < lines->count && rc == SQLITE_OK; i++) {
        struct line *l = line_at(c, lines->at[i]);
        rc = write_row(s, l, current(l));
    }
    return rc;
}

void sqlite_cache_kept(struct sqlite_store *s, const struct sqlite_lines *lines)
{
    struct cache *c = cache_of(s);
    for (int i = 0; i < lines->count; i++)
        c->kept[lines->at[i]] = current(line_at(c, lines->at[i]))->sequence;
}

/* In a transaction of its own. */
static int write_back(struct sqlite_store *s, const struct sqlite_lines *lines, tenure_error *err)
{
    struct sqlite_txn t;
    if (lines->count == 0)
        return 0;
    int code = sqlite_begin(s, &t, err);
    if (code < 0)
        return code;
    t.lines = *lines;
    int rc = write_rows(s, lines);
    if (rc == SQLITE_OK)
        return sqlite_end(s, &t, err);
    code = sqlite_fail(s, rc, "write", err);
    sqlite_rollback(s);
    return code;
}

static void free_lines(struct cache *c, const struct sqlite_lines *lines)
{
    for (int i = 0; i < lines->count; i++)
        atomic_store(&c->hash[lines->at[i]], 0);
}

static struct sqlite_lines used_of(struct cache *c)
{
    struct sqlite_lines used = {0};
    for (int i = 0; i < SQLITE_CACHE_LINES; i++) {
        if (atomic_load(&c->hash[i]) != 0)
            add(&used, i);
    }
    return used;
}

static struct sqlite_lines dirty_of(struct cache *c, const struct sqlite_lines *of)
{
    struct sqlite_lines dirty = {0};
    for (int i = 0; i < of->count; i++) {
        if (is_dirty(c, of->at[i]))
            add(&dirty, of->at[i]);
    }
    return dirty;
}

/* Writes back what has to be, and frees the lines. */
static int retire(struct sqlite_store *s, const struct sqlite_lines *lines, tenure_error *err)
{
    struct cache *c = cache_of(s);
    struct sqlite_lines dirty = dirty_of(c, lines);
    int code = write_back(s, &dirty, err);
    if (code == 0)
        free_lines(c, lines);
    return code;
}

int sqlite_cache_retire(struct sqlite_store *s, const char *const *key, int count,
                        tenure_error *err)
{
    struct sqlite_lines lines = {0};
    for (int i = 0; i < count; i++) {
        int at = sqlite_cache_find(s, key[i]);
        if (at >= 0)
            add(&lines, at);
    }
    return retire(s, &lines, err);
}

/* The lines whose records were not written for longest. */
static struct sqlite_lines oldest(struct cache *c)
{
    struct sqlite_lines old = {0};
    bool taken[SQLITE_CACHE_LINES] = {false};
    while (old.count < BATCH) {
        int first = -1;
        for (int i = 0; i < SQLITE_CACHE_LINES; i++) {
            if (!taken[i] && (first < 0 || current(line_at(c, i))->sequence <
                                               current(line_at(c, first))->sequence))
                first = i;
        }
        taken[first] = true;
        add(&old, first);
    }
    return old;
}

int sqlite_cache_make_room(struct sqlite_store *s, tenure_error *err)
{
    struct cache *c = cache_of(s);
    if (free_line(c) >= 0)
        return 0;
    struct sqlite_lines old = oldest(c);
    return retire(s, &old, err);
}

int sqlite_cache_write_rested(struct sqlite_store *s, struct sqlite_txn *t)
{
    struct cache *c = cache_of(s);
    struct sqlite_lines used = used_of(c), dirty = dirty_of(c, &used);
    for (int i = 0; i < dirty.count; i++) {
        struct instant at = INSTANT(current(line_at(c, dirty.at[i]))->at);
        if (instant_diff(at, t->now).ms >= REST_MS)
            add(&t->lines, dirty.at[i]);
    }
    return write_rows(s, &t->lines);
}

int sqlite_cache_write_all(struct sqlite_store *s, tenure_error *err)
{
    struct cache *c = cache_of(s);
    struct sqlite_lines used = used_of(c), dirty = dirty_of(c, &used);
    return write_back(s, &dirty, err);
}

/* ---- after the machine was down ------------------------------------------------------------- */

/* The newest half of a line that is whole; NULL when there is none. */
static const struct half *whole(const struct line *l)
{
    const struct half *best = NULL;
    if (!has_key(l))
        return NULL;
    for (int i = 0; i < 2; i++) {
        const struct half *h = &l->half[i];
        bool fine = h->len > 0 && h->len <= RECORD_BYTES && h->sum == sum_of(l->key, h);
        if (fine && (!best || h->sequence > best->sequence))
            best = h;
    }
    return best;
}

int sqlite_cache_recover(struct sqlite_store *s, uint64_t *sequence)
{
    struct cache *c = cache_of(s);
    int rc = SQLITE_OK;
    for (int i = 0; i < SQLITE_CACHE_LINES && rc == SQLITE_OK; i++) {
        const struct half *h = atomic_load(&c->hash[i]) != 0 ? whole(line_at(c, i)) : NULL;
        if (!h)
            continue;
        rc = write_row(s, line_at(c, i), h);
        if (h->sequence > *sequence)
            *sequence = h->sequence;
    }
    return rc;
}

struct instant sqlite_cache_last(const struct sqlite_store *s)
{
    struct cache *c = cache_of(s);
    int64_t last = gate_page(s->gate)->clock;
    for (int i = 0; i < SQLITE_CACHE_LINES; i++) {
        const struct half *h = atomic_load(&c->hash[i]) != 0 ? whole(line_at(c, i)) : NULL;
        if (h && h->at > last)
            last = h->at;
    }
    return INSTANT(last);
}

void sqlite_cache_doubt(struct sqlite_store *s)
{
    struct cache *c = cache_of(s);
    for (int i = 0; i < SQLITE_CACHE_LINES; i++)
        c->kept[i] = 0;
}

/* Whether the row goes before the line: it is as new, or it was there and has been deleted. */
static int row_counts(struct sqlite_store *s, struct cache *c, int i, bool *ret)
{
    struct line *l = line_at(c, i);
    struct store_record row = {.key = l->key};
    bool same = gate_page(s->gate)->rows == s->ino; /* else it may be a copy of before */
    int rc = sqlite_record_find(s, 0, &row);
    *ret = row.bytes ? sqlite_record_sequence(s, 0) >= current(l)->sequence
                     : same && !is_dirty(c, i);
    sqlite_record_found(s, 0);
    return rc;
}

int sqlite_cache_compare(struct sqlite_store *s)
{
    struct cache *c = cache_of(s);
    int rc = sqlite_run(s, ST_READ);
    for (int i = 0; i < SQLITE_CACHE_LINES && rc == SQLITE_OK; i++) {
        bool counts;
        if (atomic_load(&c->hash[i]) == 0 || !has_key(line_at(c, i)))
            continue;
        rc = row_counts(s, c, i, &counts);
        if (rc == SQLITE_OK && counts)
            atomic_store(&c->hash[i], 0);
    }
    if (sq.sqlite3_get_autocommit(s->db) == 0)
        sqlite_run(s, ST_ROLLBACK); /* of a reader: cannot fail in a way that matters */
    return rc;
}

void sqlite_cache_clear(struct sqlite_store *s)
{
    struct cache *c = cache_of(s);
    for (int i = 0; i < SQLITE_CACHE_LINES; i++)
        atomic_store(&c->hash[i], 0);
}

/* ---- reading from outside ------------------------------------------------------------------- */

/* What was read before it was read before what is read behind it.  The thread sanitizer knows no
 * fences, and its compiler says so. */
static void fence(void)
{
#ifndef __SANITIZE_THREAD__
    atomic_thread_fence(memory_order_acquire);
#endif
}

/* Copies what is in a line, if it is one of those that are looked for.  1, 0 when it is not, -1
 * when it never stood still. */
static int copy_line(struct cache *c, int i, const char *prefix, struct sqlite_copy *ret)
{
    struct line *l = line_at(c, i);
    for (int n = 0; n < COPIES; n++) {
        uint32_t turn = atomic_load_explicit(&l->turn, memory_order_acquire);
        uint64_t hash = atomic_load_explicit(&c->hash[i], memory_order_acquire);
        const struct half *h = &l->half[turn & 1];
        if (hash == 0)
            return 0;
        memcpy(ret->key, l->key, sizeof ret->key);
        ret->key[sizeof ret->key - 1] = '\0';
        ret->sequence = h->sequence;
        ret->len = length_of(h);
        memcpy(ret->bytes, h->bytes, ret->len);
        fence();
        if (atomic_load_explicit(&c->hash[i], memory_order_relaxed) == hash &&
            atomic_load_explicit(&l->turn, memory_order_relaxed) == turn)
            return strncmp(ret->key, prefix, strlen(prefix)) == 0;
    }
    return -1;
}

/* The newer one first, of a record that moved while we looked, and was met twice. */
static int by_key(const void *a, const void *b)
{
    const struct sqlite_copy *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order != 0 ? order : (x->sequence < y->sequence) - (x->sequence > y->sequence);
}

static void put_in_order(struct sqlite_copies *copies)
{
    size_t kept = 1;
    qsort(copies->at, copies->count, sizeof *copies->at, by_key);
    for (size_t i = 1; i < copies->count; i++) {
        if (strcmp(copies->at[i].key, copies->at[kept - 1].key) != 0)
            copies->at[kept++] = copies->at[i];
    }
    copies->count = kept;
}

int sqlite_cache_copy(const struct sqlite_store *s, const char *prefix, const char *after,
                      struct sqlite_copies *ret)
{
    struct cache *c = cache_of(s);
    *ret = (struct sqlite_copies){0};
    for (int i = 0; i < SQLITE_CACHE_LINES; i++) {
        if (atomic_load(&c->hash[i]) == 0)
            continue;
        struct sqlite_copy *more = realloc(ret->at, (ret->count + 1) * sizeof *more);
        if (!more)
            return TENURE_NO_MEMORY;
        ret->at = more;
        int found = copy_line(c, i, prefix, &more[ret->count]);
        if (found < 0)
            return TENURE_BUSY;
        if (found > 0 && (!after || strcmp(more[ret->count].key, after) > 0))
            ret->count++;
    }
    if (ret->count > 0)
        put_in_order(ret);
    return 0;
}

void sqlite_cache_copied(struct sqlite_copies *copies)
{
    free(copies->at);
    copies->at = NULL;
}
