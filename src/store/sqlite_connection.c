/* store/sqlite_connection.c - the connection to the database: made when it is needed, and what it
 * is told. */
#include "store/sqlite_engine.h"

#include <string.h>
#include <unistd.h>

/* Only for programs that write without the gate: all others wait there. */
static int wait_for_stranger(void *arg, int count)
{
    struct sqlite_store *s = arg;
    struct instant now = clock_now();
    if (count == 0)
        s->busy_since = now;
    if (instant_diff(s->busy_since, now).ms >= s->patience.ms)
        return 0;
    usleep(500);
    return 1;
}

static int note_log(void *arg, sqlite3 *db, const char *name, int frames)
{
    struct sqlite_store *s = arg;
    (void)db;
    (void)name;
    s->log_frames = frames;
    return SQLITE_OK;
}

int sqlite_connect(struct sqlite_store *s, tenure_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code = sqlite_load(err);
    if (code < 0)
        return code;
    int rc = sqlite_log_register();
    if (rc == SQLITE_OK)
        rc = sq.sqlite3_open_v2(s->path, &s->db, flags, SQLITE_LOG_VFS);
    if (rc == SQLITE_OK && sq.sqlite3_db_readonly(s->db, "main") == 1)
        rc = SQLITE_READONLY;
    if (rc == SQLITE_OK)
        rc = sq.sqlite3_busy_handler(s->db, wait_for_stranger, s);
    /* The last one who closes would checkpoint outside of the gate. */
    if (rc == SQLITE_OK)
        rc = sq.sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (rc == SQLITE_OK)
        rc = sq.sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    if (rc != SQLITE_OK)
        return sqlite_fail(s, rc, "open", err);
    return 0;
}

int sqlite_exec(struct sqlite_store *s, const char *text, const char *doing, tenure_error *err)
{
    int rc = sq.sqlite3_exec(s->db, text, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sqlite_fail(s, rc, doing, err);
}

/* The first column of the first row. */
int sqlite_query_int(struct sqlite_store *s, const char *text, int64_t *ret, tenure_error *err)
{
    sqlite3_stmt *q = NULL;
    int rc = sq.sqlite3_prepare_v2(s->db, text, -1, &q, NULL);
    if (rc == SQLITE_OK && sq.sqlite3_step(q) == SQLITE_ROW)
        *ret = sq.sqlite3_column_int64(q, 0);
    if (rc == SQLITE_OK)
        rc = sq.sqlite3_finalize(q);
    return rc == SQLITE_OK ? 0 : sqlite_fail(s, rc, "read", err);
}

int sqlite_use_log(struct sqlite_store *s, tenure_error *err)
{
    sqlite3_stmt *q = NULL;
    bool wal = false;
    int rc = sq.sqlite3_prepare_v2(s->db, "PRAGMA journal_mode = WAL", -1, &q, NULL);
    if (rc == SQLITE_OK && sq.sqlite3_step(q) == SQLITE_ROW) {
        const unsigned char *mode = sq.sqlite3_column_text(q, 0);
        wal = mode && strcmp((const char *)mode, "wal") == 0;
    }
    if (rc == SQLITE_OK)
        rc = sq.sqlite3_finalize(q);
    if (rc != SQLITE_OK)
        return sqlite_fail(s, rc, "use a write-ahead log", err);
    if (!wal)
        return fail(err, TENURE_UNSAFE_PLACE, "%s: this file system cannot share the memory "
                                              "that a write-ahead log needs", s->path);
    sq.sqlite3_wal_hook(s->db, note_log, s); /* also turns SQLite's own checkpoints off */
    return sqlite_exec(s, "PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 16777216;"
                          "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 0;"
                          "PRAGMA secure_delete = OFF", "configure", err);
}

void sqlite_disconnect(sqlite3 *db)
{
    for (sqlite3_stmt *q; (q = sq.sqlite3_next_stmt(db, NULL)) != NULL;)
        sq.sqlite3_finalize(q);
    sq.sqlite3_close(db);
}

int sqlite_need(struct sqlite_store *s, tenure_error *err)
{
    if (s->db)
        return 0;
    int code = sqlite_schema_open(s, NULL, err);
    if (code < 0 && s->db) { /* the next one who needs it tries again */
        sqlite_disconnect(s->db);
        s->db = NULL;
        memset(s->st, 0, sizeof s->st);
    }
    return code;
}
