/* store/sqlite_schema.c - the database: making it, knowing it again, and settling clock and tokens
 * when it is opened. */
#include "store/sqlite_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define APPLICATION_ID 0x74656e75 /* "tenu" */
#define SCHEMA_VERSION 3 /* 2: rows without a sequence number */
#define BOOT_ID_BYTES 36

/* Whatever changes often is in one table, so that in a small store it is on one page: a commit then
 * writes one page to the log, and a process whose pages are out of date reads one again.  A row is
 *   id < 0   a name: its key, its record, and which write that is from; the id is made of the
 *            key's hash (sqlite_record.c)
 *   id = 0   the store: the highest token given out, the reserve's end, the clock's last reading
 *   id > 0   a session
 * The views are for people. */
static const char schema[] =
    "CREATE TABLE item(id INTEGER PRIMARY KEY, key TEXT, size INTEGER, bytes BLOB,"
    " ttl INTEGER, expires INTEGER, noticed INTEGER,"
    " floor INTEGER, ceiling INTEGER, last INTEGER, sequence INTEGER);"
    "CREATE UNIQUE INDEX item_key ON item(key) WHERE key IS NOT NULL;"
    "INSERT INTO item(id, floor, ceiling, last) VALUES(0, 0, 0, 0);"
    "CREATE VIEW record AS SELECT key, bytes FROM item WHERE id < 0;"
    "CREATE VIEW session AS SELECT id, ttl, expires, noticed FROM item WHERE id > 0;"
    "CREATE TABLE meta(one INTEGER PRIMARY KEY, id BLOB NOT NULL, domain TEXT NOT NULL,"
    " base INTEGER NOT NULL);";

/* Of each byte that a commit writes, the disk sees a page; larger records go on overflow pages. */
#define PAGE_BYTES 2048

#define FIND "SELECT size, bytes, sequence FROM item WHERE id = ?1 AND key = ?2"

static const char *const sql[ST_COUNT] = {
    [ST_READ] = "BEGIN",
    [ST_WRITE] = "BEGIN IMMEDIATE",
    [ST_COMMIT] = "COMMIT",
    [ST_ROLLBACK] = "ROLLBACK",
    [ST_STORE] = "SELECT floor, ceiling FROM item WHERE id = 0",
    [ST_STORE_FLOOR] = "UPDATE item SET floor = ?1, last = ?2 WHERE id = 0",
    [ST_STORE_CEILING] = "UPDATE item SET floor = ?1, ceiling = ?2, last = ?3 WHERE id = 0",
    [ST_FIND] = FIND,
    [ST_FIND + 1] = FIND,
    [ST_FIND + 2] = FIND,
    [ST_FIND + 3] = FIND,
    [ST_SEEK] = "SELECT id FROM item WHERE key = ?1",
    [ST_INSERT] = ("INSERT INTO item(id, size, bytes, sequence, key) VALUES("
                   "CASE WHEN EXISTS(SELECT 1 FROM item WHERE id = ?1)"
                   " THEN (SELECT min(id) - 1 FROM item) ELSE ?1 END, ?2, ?3, ?4, ?5)"),
    [ST_UPDATE] = "UPDATE item SET size = ?2, bytes = ?3, sequence = ?4 WHERE id = ?1",
    [ST_DELETE] = "DELETE FROM item WHERE id = ?1",
    [ST_SCAN] = ("SELECT key, size, bytes FROM item"
                 " WHERE key >= ?1 AND key < ?2 AND key != ?3 ORDER BY key"),
    [ST_SESSION] = "SELECT expires, ttl, noticed FROM item WHERE id = ?1 AND id > 0",
    [ST_SESSION_INSERT] = "INSERT INTO item(id, ttl, expires, noticed) VALUES(?1, ?2, ?3, ?4)",
    [ST_SESSION_RENEW] = "UPDATE item SET expires = ?2 WHERE id = ?1 AND id > 0",
    [ST_SESSION_NOTICE] = "UPDATE item SET noticed = noticed + 1 WHERE id = ?1 AND id > 0",
    [ST_SESSION_DELETE] = "DELETE FROM item WHERE id = ?1 AND id > 0",
    [ST_SESSION_LIST] = "SELECT id FROM item WHERE id > 0 AND expires > ?1",
    [ST_SESSION_PURGE] = "DELETE FROM item WHERE id > 0 AND expires < ?1",
};
_Static_assert(STORE_KEYS_MAX == 4, "there is a statement for each key");

/* ---- the file ------------------------------------------------------------------------------- */

/* Makes the entry of a new file durable. */
static int sync_directory(const char *path)
{
    char *dir = strdup(path);
    if (!dir)
        return ENOMEM;
    char *slash = strrchr(dir, '/');
    slash[slash == dir ? 1 : 0] = '\0';
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int e = fd < 0 || fsync(fd) != 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    free(dir);
    return e == EINVAL ? 0 : e; /* a file system without fsync of directories */
}

/* Makes the empty file.  Nobody else may be opening it: closing any descriptor of a database drops
 * the process's locks on it.  Inside the gate. */
static int make_file(struct sqlite_store *s, tenure_error *err)
{
    struct rights rights;
    int code = sqlite_rights(s, &rights, err);
    if (code < 0)
        return code;
    int e = rights_make_file(s->path, &rights);
    if (e != 0 && e != EEXIST)
        return fail_errno(err, e, "%s cannot be made", s->path);
    e = sync_directory(s->path);
    return e == 0 ? 0 : fail_errno(err, e, "%s cannot be made durable", s->path);
}

int sqlite_find_file(struct sqlite_store *s, bool create, bool raise, tenure_error *err)
{
    static const uint8_t none[16];
    struct stat st;
    const struct gate_page *p = gate_page(s->gate);
    if (stat(s->path, &st) != 0) {
        if (errno != ENOENT)
            return fail_errno(err, errno, "%s", s->path);
        if (memcmp(p->store_id, none, sizeof none) != 0 && !raise)
            return fail(err, TENURE_WENT_BACK,
                        "%s is gone, but its gate remembers tokens up to %llu; stop what uses "
                        "it, then `tenure store check --raise-to %llu`", s->path,
                        (unsigned long long)p->ceiling, (unsigned long long)p->ceiling);
        if (!create)
            return fail(err, TENURE_ABSENT, "%s: there is no such store", s->path);
        int code = make_file(s, err);
        if (code < 0)
            return code;
        if (stat(s->path, &st) != 0)
            return fail_errno(err, errno, "%s", s->path);
    }
    s->dev = st.st_dev;
    s->ino = st.st_ino;
    return 0;
}

/* ---- the schema ----------------------------------------------------------------------------- */

/* What a new database has to be told before anything is written to it. */
static int shape_file(struct sqlite_store *s, tenure_error *err)
{
    char text[64];
    snprintf(text, sizeof text, "PRAGMA page_size = %d", PAGE_BYTES);
    return sqlite_exec(s, text, "configure", err);
}

static int create_schema(struct sqlite_store *s, tenure_error *err)
{
    char text[1024];
    uint8_t id[16];
    char hex[2 * sizeof id + 1];
    if (getrandom(id, sizeof id, 0) != (ssize_t)sizeof id)
        return fail(err, TENURE_INTERNAL, "the kernel gave no random bytes");
    for (size_t i = 0; i < sizeof id; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    int n = snprintf(text, sizeof text,
                     "BEGIN IMMEDIATE; %s"
                     "INSERT INTO meta VALUES(1, x'%s', '', 0);"
                     "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                     schema, hex, APPLICATION_ID, SCHEMA_VERSION);
    if (n < 0 || (size_t)n >= sizeof text)
        return fail(err, TENURE_INTERNAL, "the schema is too long");
    return sqlite_exec(s, text, "make the schema", err);
}

/* Nobody else has it open: the gate became ours when it was opened (os/gate.h). */
static int upgrade(struct sqlite_store *s, tenure_error *err)
{
    char text[160];
    snprintf(text, sizeof text,
             "BEGIN IMMEDIATE; ALTER TABLE item ADD COLUMN sequence INTEGER;"
             "PRAGMA user_version = %d; COMMIT", SCHEMA_VERSION);
    return sqlite_exec(s, text, "upgrade the schema", err);
}

/* Whether it is ours; *ret_fresh: nobody's yet.  Changes nothing, but brings it up to our
 * version. */
static int identify(struct sqlite_store *s, bool *ret_fresh, tenure_error *err)
{
    int64_t application = 0, version = 0, tables = 0;
    int code = sqlite_query_int(s, "PRAGMA application_id", &application, err);
    if (code == 0)
        code = sqlite_query_int(s, "PRAGMA user_version", &version, err);
    if (code == 0 && application == 0 && version == 0) /* to ask costs a start 0.1 ms */
        code = sqlite_query_int(s, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (code < 0)
        return code;
    *ret_fresh = application == 0 && version == 0 && tables == 0;
    if (*ret_fresh)
        return 0;
    if (application != APPLICATION_ID)
        return fail(err, TENURE_FOREIGN,
                    "%s is the database of another application: its application id is 0x%llx, "
                    "a store's is 0x%x", s->path, (unsigned long long)application,
                    APPLICATION_ID);
    if (version == 2)
        return upgrade(s, err);
    if (version != SCHEMA_VERSION)
        return fail(err, TENURE_FOREIGN, "%s has schema version %lld, which %s tenure made; this "
                                         "one knows versions %d and %d: use that tenure, or name "
                                         "another store", s->path, (long long)version,
                    version > SCHEMA_VERSION ? "a newer" : "an older", SCHEMA_VERSION - 1,
                    SCHEMA_VERSION);
    return 0;
}

int sqlite_statement(struct sqlite_store *s, enum statement id, sqlite3_stmt **ret)
{
    int rc = SQLITE_OK;
    if (!s->st[id])
        rc = sq.sqlite3_prepare_v3(s->db, sql[id], -1, SQLITE_PREPARE_PERSISTENT, &s->st[id], NULL);
    *ret = s->st[id];
    return rc;
}

/* ---- settling ------------------------------------------------------------------------------- */

struct meta {
    uint8_t id[16];
    uint64_t floor, ceiling;
    char domain[CLOCK_DOMAIN_BYTES];
    int64_t base, last;
    bool ends_all; /* no session of before is alive */
    bool has_lines; /* the gate may have newer records than the database */
};

static int load_meta(struct sqlite_store *s, struct meta *m, tenure_error *err)
{
    sqlite3_stmt *q = NULL;
    int rc = sq.sqlite3_prepare_v2(s->db,
                                "SELECT meta.id, floor, ceiling, domain, base, last"
                                " FROM meta, item WHERE one = 1 AND item.id = 0", -1, &q, NULL);
    if (rc != SQLITE_OK)
        return sqlite_fail(s, rc, "read", err);
    bool fine = sq.sqlite3_step(q) == SQLITE_ROW && sq.sqlite3_column_bytes(q, 0) == sizeof m->id;
    if (fine) {
        memcpy(m->id, sq.sqlite3_column_blob(q, 0), sizeof m->id);
        m->floor = (uint64_t)sq.sqlite3_column_int64(q, 1);
        m->ceiling = (uint64_t)sq.sqlite3_column_int64(q, 2);
        const unsigned char *domain = sq.sqlite3_column_text(q, 3);
        snprintf(m->domain, sizeof m->domain, "%s", domain ? (const char *)domain : "");
        m->base = sq.sqlite3_column_int64(q, 4);
        m->last = sq.sqlite3_column_int64(q, 5);
        fine = m->floor <= m->ceiling && m->ceiling <= SQLITE_TOKEN_MAX;
    }
    rc = sq.sqlite3_finalize(q);
    if (rc != SQLITE_OK)
        return sqlite_fail(s, rc, "read", err);
    return fine ? 0 : fail(err, TENURE_CORRUPT, "%s: its row of facts is damaged", s->path);
}

/* Runs fn in a transaction that is durable when it returns, and also in the database file itself:
 * who moves or copies that alone, without its log, must not begin with the first token again.
 * Inside the gate. */
static int durably(struct sqlite_store *s, int (*fn)(struct sqlite_store *s, const struct meta *m),
                   const struct meta *m, tenure_error *err)
{
    gate_page(s->gate)->commits++; /* it may end sessions, whose rows others remember */
    int code = sqlite_exec(s, "PRAGMA synchronous = FULL; BEGIN IMMEDIATE", "reserve tokens", err);
    if (code == 0) {
        int rc = fn(s, m);
        if (rc == SQLITE_OK)
            rc = sqlite_run(s, ST_COMMIT);
        if (rc != SQLITE_OK)
            code = sqlite_fail(s, rc, "reserve tokens", err);
    }
    if (sq.sqlite3_get_autocommit(s->db) == 0)
        sqlite_run(s, ST_ROLLBACK);
    int rc = sq.sqlite3_exec(s->db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    if (code == 0 && rc != SQLITE_OK)
        code = sqlite_fail(s, rc, "reserve tokens", err);
    if (code == 0)
        sqlite_copy_back(s); /* unless a stranger reads; the log has it, too */
    return code;
}

/* The database is durable before the gate says so: the other way round, a crash in between would
 * look like a store that went back. */
static int mirror(struct sqlite_store *s, uint64_t floor, uint64_t ceiling, tenure_error *err)
{
    struct gate_page *p = gate_page(s->gate);
    p->floor = floor;
    p->ceiling = ceiling;
    atomic_store(&p->token, floor);
    int e = gate_sync(s->gate);
    return e == 0 ? 0 : fail_errno(err, e, "%s-gate cannot be made durable", s->path);
}

static int write_ceiling(struct sqlite_store *s, const struct meta *m)
{
    sqlite3_stmt *q;
    int rc = sqlite_statement(s, ST_STORE_CEILING, &q);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_int64(q, 1, (sqlite3_int64)m->floor);
    sq.sqlite3_bind_int64(q, 2, (sqlite3_int64)m->ceiling);
    sq.sqlite3_bind_int64(q, 3, sqlite_now(s).ms);
    return sqlite_run(s, ST_STORE_CEILING);
}

int sqlite_reserve(struct sqlite_store *s, uint64_t floor, uint64_t ceiling, tenure_error *err)
{
    struct meta m = {.floor = floor, .ceiling = ceiling};
    if (ceiling > SQLITE_TOKEN_MAX)
        return fail(err, TENURE_NO_SPACE, "%s: the tokens are used up", s->path);
    int code = durably(s, write_ceiling, &m, err);
    return code < 0 ? code : mirror(s, floor, ceiling, err);
}

/* After a reboot nobody of before is alive, and the clock goes on from where it was last seen.
 * When only the gate is new, who holds goes on believing so until its deadline: its session stays
 * until it has expired (P3). */
static int write_meta(struct sqlite_store *s, const struct meta *m)
{
    sqlite3_stmt *q = NULL;
    if (m->has_lines) {
        uint64_t sequence = gate_page(s->gate)->sequence;
        int rc = sqlite_cache_recover(s, &sequence);
        if (rc != SQLITE_OK)
            return rc;
        gate_page(s->gate)->sequence = sequence;
    }
    int rc = sq.sqlite3_prepare_v2(
        s->db, "UPDATE meta SET domain = ?1, base = ?2 WHERE one = 1", -1, &q, NULL);
    if (rc != SQLITE_OK)
        return rc;
    sq.sqlite3_bind_text(q, 1, m->domain, -1, SQLITE_STATIC);
    sq.sqlite3_bind_int64(q, 2, m->base);
    sq.sqlite3_step(q);
    rc = sq.sqlite3_finalize(q);
    if (rc == SQLITE_OK)
        rc = write_ceiling(s, m);
    if (rc != SQLITE_OK || !m->ends_all)
        return rc;
    return sq.sqlite3_exec(s->db, "DELETE FROM item WHERE id > 0", NULL, NULL, NULL);
}

/* The database is the one that the gate knows, and not older. */
static int check_mirror(struct sqlite_store *s, const struct meta *m, tenure_error *err)
{
    const struct gate_page *p = gate_page(s->gate);
    bool same_boot = strcmp(p->domain, s->domain) == 0 && strcmp(m->domain, s->domain) == 0;
    if (memcmp(p->store_id, m->id, sizeof m->id) != 0)
        return fail(err, TENURE_WENT_BACK,
                    "%s is another store than the one that its gate belongs to; stop what uses "
                    "it, then `tenure store check --raise-to %llu`", s->path,
                    (unsigned long long)p->ceiling);
    /* After a reboot the last commits may be missing, which is no fault: ceilings are durable. */
    bool floor = same_boot && m->floor < p->floor;
    if (!floor && m->ceiling >= p->ceiling)
        return 0;
    return fail(err, TENURE_WENT_BACK,
                "%s went back in time: its %s is %llu and was %llu; stop what uses it, then "
                "`tenure store check --raise-to %llu`", s->path,
                floor ? "last token" : "reserve of tokens",
                (unsigned long long)(floor ? m->floor : m->ceiling),
                (unsigned long long)(floor ? p->floor : p->ceiling),
                (unsigned long long)p->ceiling);
}

static int check_domain(struct sqlite_store *s, const struct meta *m, tenure_error *err)
{
    int e = clock_domain(s->domain);
    if (e == ENOENT || e == EACCES || e == EIO)
        return fail(err, TENURE_UNSAFE_PLACE, "the kernel does not tell its boot id "
                                              "(/proc/sys/kernel/random/boot_id)");
    if (e != 0)
        return fail_errno(err, e, "/proc/sys/kernel/random/boot_id");
    if (strcmp(m->domain, s->domain) == 0 ||
        strncmp(m->domain, s->domain, BOOT_ID_BYTES) != 0)
        return 0;
    return fail(err, TENURE_UNSAFE_PLACE,
                "%s counts time in another time namespace (offset \"%s\", ours is \"%s\"); use "
                "it from one", s->path, m->domain + BOOT_ID_BYTES, s->domain + BOOT_ID_BYTES);
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Begins a new block of tokens above all that may have been given out. */
static int jump(struct sqlite_store *s, struct meta *m, uint64_t above, tenure_error *err)
{
    struct gate_page *p = gate_page(s->gate);
    bool rebooted = strcmp(m->domain, s->domain) != 0;
    m->floor = most(most(m->ceiling, above), most(p->floor, p->ceiling));
    m->ceiling = m->floor + SQLITE_TOKEN_BLOCK;
    if (m->ceiling > SQLITE_TOKEN_MAX)
        return fail(err, TENURE_NO_SPACE, "%s: the tokens are used up", s->path);
    m->ends_all = rebooted || above > 0;
    m->has_lines = memcmp(p->store_id, m->id, sizeof m->id) == 0;
    int64_t last = m->has_lines ? sqlite_cache_last(s).ms : m->last;
    if (last > m->last)
        m->last = last;
    if (rebooted)
        m->base = ms_add(m->last, -clock_now().ms);
    s->base = m->base;
    m->last = sqlite_now(s).ms;
    memcpy(m->domain, s->domain, sizeof m->domain);
    int64_t newest = 0;
    int code = durably(s, write_meta, m, err);
    if (code == 0)
        code = sqlite_query_int(s, "SELECT coalesce(max(sequence), 0) FROM item", &newest, err);
    if (code < 0)
        return code;
    sqlite_cache_clear(s);
    sqlite_young_clear(s);
    p->base = m->base;
    p->sequence = most(p->sequence, (uint64_t)newest);
    p->clock = 0;
    memcpy(p->store_id, m->id, sizeof p->store_id);
    memcpy(p->domain, s->domain, sizeof p->domain);
    p->checkpoint_frames = 0;
    atomic_fetch_add(&p->changes, 1);
    code = mirror(s, m->floor, m->ceiling, err);
    if (code == 0)
        gate_adopt(s->gate);
    return code;
}

/* Somebody has removed the gate, or put a copy in its place, and with it are gone, maybe, records
 * of sessions that are alive: who holds cannot know yet (P3), and nobody can know who does (P1).
 * So they end first. */
static int check_nobody(struct sqlite_store *s, int64_t base, tenure_error *err)
{
    s->base = base;
    size_t alive = 0;
    int code = sqlite_sessions_alive(s, &alive, err);
    if (code < 0)
        return code;
    if (alive == 0)
        return 0;
    return fail(err, TENURE_BUSY, "%s-gate was removed or replaced while %zu session%s of it ran, "
                                  "or this is a copy of a store in use: wait until they have ended "
                                  "or expired, or stop their programs",
                s->path, alive, alive == 1 ? "" : "s");
}

/* A store that was settled without its database turns out to have another one, of before the last
 * reboot. */
static int refuse_late(struct sqlite_store *s, tenure_error *err)
{
    uint64_t ceiling = gate_page(s->gate)->ceiling;
    return fail(err, TENURE_WENT_BACK,
                "%s went back in time: it was last used before the machine was started, and its "
                "gate since; stop what uses it, then `tenure store check --raise-to %llu`", s->path,
                (unsigned long long)ceiling);
}

static int settle(struct sqlite_store *s, const struct sqlite_look *before,
                  const uint64_t *raise, tenure_error *err)
{
    static const uint8_t none[16];
    struct meta m;
    bool late = memcmp(s->id, none, sizeof none) != 0;
    struct gate_page *p = gate_page(s->gate);
    int code = load_meta(s, &m, err);
    if (code == 0)
        code = check_domain(s, &m, err);
    if (code < 0)
        return code;
    bool known = memcmp(p->store_id, none, sizeof none) != 0;
    if (known && !raise) {
        code = check_mirror(s, &m, err);
        if (code < 0)
            return code;
    }
    bool same_boot = strcmp(m.domain, s->domain) == 0;
    bool lost = !known || gate_is_copy(s->gate);
    if (lost && !raise && same_boot) {
        code = check_nobody(s, m.base, err);
        if (code < 0)
            return code;
    }
    /* A new gate knows nothing: what it should know is below the ceiling. */
    if (raise || lost || !same_boot || strcmp(p->domain, s->domain) != 0)
        return late ? refuse_late(s, err) : jump(s, &m, raise ? *raise : 0, err);
    bool alone = !late && gate_is_alone(s->gate);
    int rc = alone && !sqlite_seal_is_whole(s, before) ? sqlite_cache_compare(s) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return sqlite_fail(s, rc, "read", err);
    if (p->rows != s->ino || (alone && !sqlite_seal_holds(s, before)))
        sqlite_cache_doubt(s);
    s->base = p->base = m.base;
    p->floor = m.floor; /* ahead of the mirror when a process died between commit and mirror */
    if (atomic_load(&p->token) < m.floor)
        atomic_store(&p->token, m.floor);
    p->ceiling = m.ceiling;
    return 0;
}

bool sqlite_settle_sealed(struct sqlite_store *s)
{
    const struct gate_page *p = gate_page(s->gate);
    struct sqlite_look now;
    if (gate_is_copy(s->gate) || p->rows != s->ino || clock_domain(s->domain) != 0 ||
        strcmp(p->domain, s->domain) != 0)
        return false;
    sqlite_look(s, &now);
    if (!sqlite_seal_holds(s, &now))
        return false;
    s->base = p->base;
    memcpy(s->id, p->store_id, sizeof s->id);
    return true;
}

int sqlite_schema_open(struct sqlite_store *s, const uint64_t *raise, tenure_error *err)
{
    bool fresh = false;
    struct sqlite_look before;
    sqlite_look(s, &before);
    int code = sqlite_connect(s, err);
    if (code == 0)
        code = identify(s, &fresh, err);
    if (code == 0 && fresh)
        code = shape_file(s, err);
    if (code == 0)
        code = sqlite_use_log(s, err);
    if (code == 0 && fresh)
        code = create_schema(s, err);
    if (code == 0)
        code = settle(s, &before, raise, err);
    if (code < 0)
        return code;
    gate_page(s->gate)->rows = s->ino;
    memcpy(s->id, gate_page(s->gate)->store_id, sizeof s->id);
    sqlite_seal(s, &before); /* as it was before we saw that it is right */
    return 0;
}
