#include "os/sheet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "os/fail.h"
#include "os/point.h"

/* ---- reading -------------------------------------------------------------------------------- */

/* What chmod(1) is to be told. */
static const char *remedy(mode_t forbidden)
{
    return forbidden == SHEET_NO_WRITERS   ? "go-w"
           : forbidden == SHEET_OF_A_GROUP ? "g-w,o="
                                           : "go=";
}

static int check_rights(const char *path, int fd, mode_t forbidden, size_t *ret_size,
                        tenure_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail_errno(err, errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return fail(err, TENURE_DENIED, "%s is not a file", path);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return fail(err, TENURE_DENIED, "%s belongs to user %u: it must be ours or root's", path,
                    (unsigned)st.st_uid);
    if ((st.st_mode & forbidden) != 0)
        return fail(err, TENURE_DENIED, "%s has mode %04o: others may %s it (chmod %s)", path,
                    (unsigned)st.st_mode & 07777,
                    forbidden == SHEET_NO_WRITERS ? "write" : "use", remedy(forbidden));
    if (st.st_size > SHEET_BYTES_MAX)
        return fail(err, TENURE_CORRUPT, "%s has more than %d bytes", path, SHEET_BYTES_MAX);
    *ret_size = (size_t)st.st_size;
    return 0;
}

/* Up to `cap` bytes; how many, or -1 with errno. */
static ssize_t read_all(int fd, char *buf, size_t cap)
{
    size_t len = 0;
    while (len < cap) {
        ssize_t n = read(fd, buf + len, cap - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    return (ssize_t)len;
}

static int read_open(const char *path, int fd, mode_t forbidden, char **ret, size_t *ret_len,
                     tenure_error *err)
{
    size_t size = 0;
    int code = check_rights(path, fd, forbidden, &size, err);
    if (code < 0)
        return code;
    char *bytes = malloc(size + 1);
    if (!bytes)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    ssize_t n = read_all(fd, bytes, size);
    if (n < 0) {
        code = fail_errno(err, errno, "%s", path);
        free(bytes);
        return code;
    }
    bytes[n] = '\0';
    *ret = bytes;
    *ret_len = (size_t)n;
    return 0;
}

/* *ret_errno: why it could not be opened, or 0. */
static int read_path(const char *path, int flags, mode_t forbidden, char **ret, size_t *ret_len,
                     int *ret_errno, tenure_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    *ret_errno = fd < 0 ? errno : 0;
    if (fd < 0)
        return fail_errno(err, errno, "%s", path);
    int code = read_open(path, fd, forbidden, ret, ret_len, err);
    close(fd);
    return code;
}

int sheet_read(const char *path, mode_t forbidden, char **ret, size_t *ret_len,
               tenure_error *err)
{
    int e;
    return read_path(path, 0, forbidden, ret, ret_len, &e, err);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* 0 or an errno. */
static int write_all(int fd, struct text t)
{
    while (t.len > 0) {
        ssize_t n = write(fd, t.at, t.len);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0) {
            t.at += n;
            t.len -= (size_t)n;
        }
    }
    return 0;
}

/* Writes the pieces and syncs them; 0 or an errno.  Closes fd. */
static int fill(int fd, const struct text *piece, int pieces)
{
    int e = 0;
    for (int i = 0; i < pieces && e == 0; i++)
        e = write_all(fd, piece[i]);
    if (e == 0 && fsync(fd) != 0)
        e = errno;
    if (close(fd) != 0 && e == 0)
        e = errno;
    return e;
}

/* The directory that holds the path: its names are on disk when this returns 0; or an errno. */
static int sync_directory(const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int n = slash ? snprintf(dir, sizeof dir, "%.*s", (int)(slash - path) + 1, path)
                  : snprintf(dir, sizeof dir, ".");
    if (n < 0 || n >= (int)sizeof dir)
        return ENAMETOOLONG;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int e = fsync(fd) == 0 || errno == EINVAL ? 0 : errno; /* not every file system can */
    close(fd);
    return e;
}

int sheet_make(const char *path, mode_t mode, struct text content, tenure_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST)
        return fail(err, TENURE_CONFLICT, "%s is there already", path);
    if (fd < 0)
        return fail_errno(err, errno, "%s cannot be made", path);
    int e = fchmod(fd, mode) == 0 ? 0 : errno;
    int e_fill = fill(fd, &content, e == 0 ? 1 : 0);
    if (e == 0)
        e = e_fill != 0 ? e_fill : sync_directory(path);
    if (e == 0)
        return 0;
    unlink(path);
    return fail_errno(err, e, "%s cannot be written", path);
}

/* ---- a sheet of one's own ------------------------------------------------------------------- */

/* "PATH" and an ending; 0 or an error. */
static int beside(const char *path, const char *ending, char ret[PATH_MAX], tenure_error *err)
{
    int n = snprintf(ret, PATH_MAX, "%s%s", path, ending);
    return n > 0 && n < PATH_MAX ? 0 : fail_errno(err, ENAMETOOLONG, "%s", path);
}

static int take_lock(const char *path, int *ret, tenure_error *err)
{
    char name[PATH_MAX];
    int code = beside(path, ".lock", name, err);
    if (code < 0)
        return code;
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail_errno(err, errno, "%s", name);
    while (flock(fd, LOCK_EX) != 0) {
        if (errno == EINTR)
            continue;
        code = fail_errno(err, errno, "%s cannot be locked", name);
        close(fd);
        return code;
    }
    *ret = fd;
    return 0;
}

/* Whether it is the file itself, which all of us lock under this name; or is not there. */
static int check_name(const char *path, tenure_error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? 0 : fail_errno(err, errno, "%s", path);
    if (S_ISLNK(st.st_mode))
        return fail(err, TENURE_DENIED, "%s is a link: name the file itself", path);
    return 0;
}

int sheet_open(const char *path, struct sheet *ret, tenure_error *err)
{
    struct sheet s = {.path = path};
    int e = 0;
    int code = take_lock(path, &s.lock, err);
    if (code < 0)
        return code;
    code = check_name(path, err);
    if (code == 0)
        code = read_path(path, O_NOFOLLOW, SHEET_NO_WRITERS, &s.bytes, &s.len, &e, err);
    if (code < 0 && e == ENOENT) {
        s.bytes = calloc(1, 1);
        code = s.bytes ? 0 : fail(err, TENURE_NO_MEMORY, "out of memory");
    }
    if (code < 0)
        close(s.lock);
    else
        *ret = s;
    return code;
}

/* Whether it can be read again. */
static int check_size(const char *path, const struct text *piece, int pieces, tenure_error *err)
{
    size_t len = 0;
    for (int i = 0; i < pieces; i++)
        len += piece[i].len;
    return len <= SHEET_BYTES_MAX ? 0
                                  : fail(err, TENURE_NO_SPACE, "%s would have more than %d bytes",
                                         path, SHEET_BYTES_MAX);
}

int sheet_replace(const struct sheet *s, const struct text *piece, int pieces, tenure_error *err)
{
    char fresh[PATH_MAX];
    int code = check_size(s->path, piece, pieces, err);
    if (code == 0)
        code = beside(s->path, ".new", fresh, err);
    if (code < 0)
        return code;
    unlink(fresh); /* of who died while it held the lock */
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fail_errno(err, errno, "%s cannot be made", fresh);
    int e = fill(fd, piece, pieces);
    POINT("sheet-filled");
    if (e == 0 && rename(fresh, s->path) != 0)
        e = errno;
    if (e != 0)
        unlink(fresh);
    else
        e = sync_directory(s->path);
    POINT("sheet-replaced");
    return e == 0 ? 0 : fail_errno(err, e, "%s cannot be replaced", s->path);
}

void sheet_close(struct sheet *s)
{
    free(s->bytes);
    close(s->lock);
}
