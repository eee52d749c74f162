/* shim.c - loaded before libc into a program under test, to let the machine lie to it.
 *
 *     SHIM_FILE_SYSTEM=0x6969   every file is on the file system with this magic number (NFS)
 *     SHIM_DROP_BELLS=N         of the hints that are rung at FIFOs every Nth is lost (1: all)
 *
 * What is not named in the environment works as ever. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define OPEN __attribute__((visibility("default")))

OPEN int statfs(const char *path, struct statfs *ret);
OPEN int fstatfs(int fd, struct statfs *ret);
OPEN ssize_t write(int fd, const void *bytes, size_t n);

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
