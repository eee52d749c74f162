/* Rows that a server answers with, of any content: what they say is remembered or passed over, and
 * a record among them decodes or does not. */
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "store/postgres_engine.h"
#include "store/postgres_libpq.h"
#include "wire/record.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { COLUMNS = 8, ROWS_MAX = 32 };

/* A row: for each column a byte that says how long it is (255: NULL), then that many bytes. */
static size_t put_row(PGresult *r, int row, const unsigned char *data, size_t size)
{
    size_t used = 0;
    for (int column = 0; column < COLUMNS && used < size; column++) {
        size_t len = data[used++];
        bool null = len == 255;
        if (null || len > size - used)
            len = null ? 0 : size - used;
        char value[256] = "";
        memcpy(value, data + used, len);
        if (!PQsetvalue(r, row, column, null ? NULL : value, null ? -1 : (int)len))
            abort();
        used += len;
    }
    return used;
}

static PGresult *rows_of(const unsigned char *data, size_t size)
{
    static char name[] = "c";
    PGresAttDesc columns[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        columns[i] = (PGresAttDesc){.name = name, .format = 1, .typid = PG_BYTEA, .typlen = -1};
    PGresult *r = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    if (!r || !PQsetResultAttrs(r, COLUMNS, columns))
        abort();
    for (int row = 0; row < ROWS_MAX && size > 0; row++) {
        size_t used = put_row(r, row, data, size);
        data += used;
        size -= used;
    }
    return r;
}

/* An update of two records is in flight, one of which it writes. */
static struct work *flight(void)
{
    struct work *w = calloc(1, sizeof *w);
    if (!w)
        abort();
    *w = (struct work){.kind = WORK_UPDATE, .count = 2, .order = {0, 1}, .writes = true,
                       .key = {strdup("job"), strdup("other")}, .version = {7, 0}};
    bytes_put(&w->data[0], "x", 1);
    return w;
}

static void look(struct pg_store *s, const char *key)
{
    static struct claim claim;
    struct known_record *k = known_record(s, key);
    if (k && k->head.len > 0 && record_decode(k->head.bytes, k->head.len, &claim) == RECORD_FINE &&
        !claim_check(&claim))
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    tenure_error err;
    struct pg_store *s = calloc(1, sizeof *s);
    if (!s || pq_load(&err) < 0)
        abort();
    PGresult *r = rows_of(data, size);
    struct work *w = flight();
    update_take(s, w, r);
    look(s, "job");
    look(s, "other");
    work_free(w);
    cache_forget(&s->records);
    cache_forget(&s->sessions);
    PQclear(r);
    free(s);
    return 0;
}
