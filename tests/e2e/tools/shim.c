/* shim.c - loaded before libc into a program under test, to let the machine lie to it.
 *
 *     SHIM_FILE_SYSTEM=0x6969   every file is on the file system with this magic number (NFS)
 *     SHIM_DROP_BELLS=N         of the hints that are rung at FIFOs every Nth is lost (1: all)
 *     SHIM_BREAK_LOG=N          the first N writes to a write-ahead log are I/O errors
 *
 * What is not named in the environment works as ever. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define OPEN __attribute__((visibility("default")))

OPEN int statfs(const char *path, struct statfs *ret);
OPEN int fstatfs(int fd, struct statfs *ret);
OPEN ssize_t write(int fd, const void *bytes, size_t n);
OPEN ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at);

static void lie(struct statfs *ret)
{
    const char *magic = getenv("SHIM_FILE_SYSTEM");
    if (magic)
        ret->f_type = (__fsword_t)strtol(magic, NULL, 16);
}

/* The next definition of a name: libc's. */
#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

OPEN int statfs(const char *path, struct statfs *ret)
{
    int n = REAL(statfs)(path, ret);
    if (n == 0)
        lie(ret);
    return n;
}

OPEN int fstatfs(int fd, struct statfs *ret)
{
    int n = REAL(fstatfs)(fd, ret);
    if (n == 0)
        lie(ret);
    return n;
}

OPEN ssize_t write(int fd, const void *bytes, size_t n)
{
    static _Atomic long count;
    const char *every = getenv("SHIM_DROP_BELLS");
    struct stat st;
    if (every && n == 8 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) {
        long nth = strtol(every, NULL, 10);
        if (nth > 0 && ++count % nth == 0)
            return 8;
    }
    return REAL(write)(fd, bytes, n);
}

static bool is_log(int fd)
{
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path);
    return n > 4 && memcmp(path + n - 4, "-wal", 4) == 0;
}

/* Only pwrite64(): the name that both SQLite's library and ours are built with. */
static bool breaks(int fd)
{
    static _Atomic long count;
    const char *most = getenv("SHIM_BREAK_LOG");
    return most && is_log(fd) && ++count <= strtol(most, NULL, 10);
}

OPEN ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    if (breaks(fd)) {
        errno = EIO;
        return -1;
    }
    return REAL(pwrite64)(fd, bytes, n, at);
}
