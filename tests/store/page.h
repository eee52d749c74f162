/* tests/store/page.h - what the gate's page and the database say, from outside. */
#ifndef TESTS_STORE_PAGE_H
#define TESTS_STORE_PAGE_H

#include <fcntl.h>

#include "os/gate.h"
#include "sqlite.h"
#include "store/sqlite_engine.h"

static inline struct gate_page page(void)
{
    struct gate_page p;
    int fd = open(companion("-gate"), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || pread(fd, &p, sizeof p, 0) != sizeof p)
        abort();
    close(fd);
    return p;
}

static inline bool set_page(size_t at, const void *value, size_t len)
{
    int fd = open(companion("-gate"), O_RDWR | O_CLOEXEC);
    bool fine = fd >= 0 && pwrite(fd, value, len, (off_t)at) == (ssize_t)len;
    close(fd);
    return fine;
}

static inline int count_young(void)
{
    struct gate_page p = page();
    int n = 0;
    for (int i = 0; i < GATE_YOUNG; i++)
        n += p.young[i] != 0;
    return n;
}

/* How many sessions have rows. */
static inline int count_rows(void)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    int n = -1;
    if (sqlite3_open(path, &db) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT count(*) FROM session", -1, &q, NULL) == SQLITE_OK) {
        if (sqlite3_step(q) == SQLITE_ROW)
            n = sqlite3_column_int(q, 0);
        sqlite3_finalize(q);
    }
    sqlite3_close(db);
    return n;
}

#endif
