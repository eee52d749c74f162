/* store/sqlite_log.c - the file of the write-ahead log: a shim over SQLite's own VFS.
 *
 * SQLite writes a frame of the log as a header and a page, with a call each, and calls of the
 * kernel are most of what a commit without a sync costs.  Here the header is held back until its
 * page comes, which is the very next call, and both go with one.  When SQLite goes on to tell the
 * others of a commit, nothing may be held back any more: it would be lost with this process, and
 * the log with it from there on.  So a header that comes without its page is not held: SQLite
 * writes some anew when a page went to the log twice in one transaction, each right after reading
 * it. */
#include "store/sqlite_engine.h"

#include <pthread.h>
#include <string.h>

#define HEADER_BYTES 24        /* of a frame; https://www.sqlite.org/fileformat2.html#walformat */
#define PAGE_BYTES_MAX 4096    /* a larger page goes with a call of its own */

/* SQLite has room for one, and clears it, for each file of a database, be it the log or not. */
struct log_file {
    sqlite3_file file; /* what SQLite sees */
    bool holds;        /* a header, written at `at` */
    sqlite3_int64 at;
    sqlite3_int64 read; /* where the last reading began, -1: something was written since */
    unsigned char *frame; /* HEADER_BYTES + PAGE_BYTES_MAX */
    /* the real file follows */
};

static sqlite3_vfs shim, *real_vfs;
static int registered = SQLITE_ERROR;

static struct log_file *log_of(sqlite3_file *file)
{
    return (struct log_file *)(void *)file;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return (sqlite3_file *)(void *)(log_of(file) + 1);
}

/* Writes a header whose page did not follow. */
static int let_go(sqlite3_file *file)
{
    struct log_file *l = log_of(file);
    if (!l->holds)
        return SQLITE_OK;
    l->holds = false;
    return real_of(file)->pMethods->xWrite(real_of(file), l->frame, HEADER_BYTES, l->at);
}

static int log_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 at)
{
    struct log_file *l = log_of(file);
    sqlite3_file *real = real_of(file);
    bool completes = l->holds && at == l->at + HEADER_BYTES && n <= PAGE_BYTES_MAX;
    int rc = completes ? SQLITE_OK : let_go(file);
    if (rc != SQLITE_OK)
        return rc;
    bool alone = l->read == at;
    l->read = -1;
    if (n == HEADER_BYTES && !alone) {
        memcpy(l->frame, bytes, HEADER_BYTES);
        l->at = at;
        l->holds = true;
        return SQLITE_OK;
    }
    if (completes) {
        l->holds = false;
        memcpy(l->frame + HEADER_BYTES, bytes, (size_t)n);
        return real->pMethods->xWrite(real, l->frame, HEADER_BYTES + n, l->at);
    }
    return real->pMethods->xWrite(real, bytes, n, at);
}

static int log_close(sqlite3_file *file)
{
    int rc = let_go(file);
    int closed = real_of(file)->pMethods->xClose(real_of(file));
    sq.sqlite3_free(log_of(file)->frame);
    return rc == SQLITE_OK ? closed : rc;
}

static int log_read(sqlite3_file *file, void *bytes, int n, sqlite3_int64 at)
{
    int rc = let_go(file);
    log_of(file)->read = at;
    return rc != SQLITE_OK ? rc : real_of(file)->pMethods->xRead(real_of(file), bytes, n, at);
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int rc = let_go(file);
    return rc != SQLITE_OK ? rc : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int log_sync(sqlite3_file *file, int flags)
{
    int rc = let_go(file);
    return rc != SQLITE_OK ? rc : real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int log_size(sqlite3_file *file, sqlite3_int64 *ret)
{
    int rc = let_go(file);
    return rc != SQLITE_OK ? rc : real_of(file)->pMethods->xFileSize(real_of(file), ret);
}

static int log_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int log_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int log_is_reserved(sqlite3_file *file, int *ret)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), ret);
}

static int log_control(sqlite3_file *file, int what, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), what, arg);
}

static int log_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int log_device(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_is_reserved,
    .xFileControl = log_control,
    .xSectorSize = log_sector,
    .xDeviceCharacteristics = log_device,
};

/* All files but the log are the real VFS's own. */
static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    (void)vfs;
    if (!(flags & SQLITE_OPEN_WAL))
        return real_vfs->xOpen(real_vfs, name, file, flags, ret_flags);
    struct log_file *l = log_of(file);
    l->file.pMethods = NULL; /* nothing to close, if it fails */
    l->holds = false;
    l->read = -1;
    l->frame = sq.sqlite3_malloc(HEADER_BYTES + PAGE_BYTES_MAX);
    if (!l->frame)
        return SQLITE_NOMEM;
    int rc = real_vfs->xOpen(real_vfs, name, real_of(file), flags, ret_flags);
    if (rc == SQLITE_OK)
        l->file.pMethods = &log_methods;
    else
        sq.sqlite3_free(l->frame);
    return rc;
}

static void register_shim(void)
{
    /* By its name: the program that we are part of may have made another one the default, with
     * locks that nobody else sees, or may take it away again. */
    real_vfs = sq.sqlite3_vfs_find("unix");
    if (!real_vfs)
        return;
    shim = *real_vfs;
    shim.pNext = NULL;
    shim.zName = SQLITE_LOG_VFS;
    shim.szOsFile = (int)sizeof(struct log_file) + real_vfs->szOsFile;
    shim.xOpen = shim_open;
    registered = sq.sqlite3_vfs_register(&shim, 0);
}

int sqlite_log_register(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int e = pthread_once(&once, register_shim);
    return e == 0 ? registered : SQLITE_ERROR;
}
