/* store/sqlite_record.c - records as rows: finding, writing, deleting. */
#include "store/sqlite_engine.h"

#include <string.h>

/* SQLite overwrites a row in its place when its length stays the same; else it takes it out and
 * puts it in again, with its overflow pages.  So records grow and shrink by steps. */
#define STEP_BYTES 128

/* Where the record of a key is, unless another key's hash is the same. */
static int64_t row_of(const char *key)
{
    return -(int64_t)(store_key_hash(key) >> 2) - 1;
}

static int step_find(sqlite3_stmt *q, int64_t row, const char *key)
{
    sq.sqlite3_bind_int64(q, 1, row);
    sq.sqlite3_bind_text(q, 2, key, -1, SQLITE_STATIC);
    return sq.sqlite3_step(q);
}

void sqlite_record_borrow(sqlite3_stmt *q, int at, struct store_record *ret)
{
    sqlite3_int64 size = sq.sqlite3_column_int64(q, at);
    ret->bytes = sq.sqlite3_column_blob(q, at + 1);
    ret->len = (size_t)sq.sqlite3_column_bytes(q, at + 1);
    if (size > 0 && (size_t)size < ret->len)
        ret->len = (size_t)size;
}

int sqlite_record_find(struct sqlite_store *s, int i, struct store_record *ret)
{
    sqlite3_stmt *q, *seek;
    s->row[i] = row_of(ret->key);
    int rc = sqlite_statement(s, ST_FIND + (unsigned)i, &q);
    if (rc == SQLITE_OK)
        rc = sqlite_statement(s, ST_SEEK, &seek);
    if (rc != SQLITE_OK)
        return rc;
    rc = step_find(q, s->row[i], ret->key);
    if (rc == SQLITE_DONE) { /* not where it should be: the index knows */
        sq.sqlite3_bind_text(seek, 1, ret->key, -1, SQLITE_STATIC);
        bool found = sq.sqlite3_step(seek) == SQLITE_ROW;
        if (found)
            s->row[i] = sq.sqlite3_column_int64(seek, 0);
        rc = sq.sqlite3_reset(seek);
        sq.sqlite3_reset(q);
        if (rc != SQLITE_OK || !found)
            return rc;
        rc = step_find(q, s->row[i], ret->key);
    }
    if (rc == SQLITE_ROW)
        sqlite_record_borrow(q, 0, ret);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

uint64_t sqlite_record_sequence(struct sqlite_store *s, int i)
{
    /* 0: of before there were any */
    return (uint64_t)sq.sqlite3_column_int64(s->st[ST_FIND + i], 2);
}

void sqlite_record_found(struct sqlite_store *s, int i)
{
    sq.sqlite3_reset(s->st[ST_FIND + i]);
}

int sqlite_record_put(struct sqlite_store *s, int i, const struct store_record *in, void *bytes,
                      size_t len, uint64_t sequence)
{
    enum statement id = in->bytes ? ST_UPDATE : ST_INSERT;
    sqlite3_stmt *q;
    int rc = sqlite_statement(s, id, &q);
    if (rc != SQLITE_OK)
        return rc;
    size_t padded = (len + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    memset((char *)bytes + len, 0, padded - len);
    sq.sqlite3_bind_int64(q, 1, s->row[i]);
    sq.sqlite3_bind_int64(q, 2, (sqlite3_int64)len);
    sq.sqlite3_bind_blob(q, 3, bytes, (int)padded, SQLITE_STATIC);
    sq.sqlite3_bind_int64(q, 4, (sqlite3_int64)sequence);
    if (id == ST_INSERT)
        sq.sqlite3_bind_text(q, 5, in->key, -1, SQLITE_STATIC);
    return sqlite_run(s, id);
}
_Static_assert(STORE_RECORD_MAX % STEP_BYTES == 0, "the buffer has room for the last step");

int sqlite_record_delete(struct sqlite_store *s, int i)
{
    sqlite3_stmt *q;
    int rc = sqlite_statement(s, ST_DELETE, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, s->row[i]);
    return sqlite_run(s, ST_DELETE);
}
