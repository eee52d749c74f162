#include "os/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "os/point.h"

#define MODE_BITS 07777

/* The group counts where it may do something else than everybody else. */
static bool group_counts(const struct rights *r)
{
    return (r->mode >> 3 & 7) != (r->mode & 7);
}

bool rights_fit(const struct stat *st, const struct rights *r)
{
    return (st->st_mode & MODE_BITS) == r->mode && (st->st_gid == r->gid || !group_counts(r)) &&
           (st->st_uid == r->uid || geteuid() != 0);
}

struct rights rights_of_directory(const struct rights *file)
{
    struct rights r = *file;
    mode_t reads = file->mode & 0444;
    r.mode = (file->mode & 0666) | (reads >> 2) | (file->mode & 0020 ? S_ISGID : 0);
    return r;
}

/* ---- giving --------------------------------------------------------------------------------- */

/* What of the owner and the group is to be changed: -1 for what is not. */
static void owners(const struct stat *st, const struct rights *r, uid_t *ret_uid, gid_t *ret_gid)
{
    bool root = geteuid() == 0;
    *ret_uid = root && st->st_uid != r->uid ? r->uid : (uid_t)-1;
    *ret_gid = st->st_gid != r->gid && (root || group_counts(r)) ? r->gid : (gid_t)-1;
}

int rights_give_open(int fd, const struct rights *r)
{
    struct stat st;
    uid_t uid;
    gid_t gid;
    if (fstat(fd, &st) != 0)
        return errno;
    owners(&st, r, &uid, &gid);
    if ((uid != (uid_t)-1 || gid != (gid_t)-1) && fchown(fd, uid, gid) != 0)
        return errno;
    return fchmod(fd, r->mode) == 0 ? 0 : errno; /* after it: a change of the group takes bits */
}

int rights_give(const char *path, const struct rights *r)
{
    struct stat st;
    uid_t uid;
    gid_t gid;
    if (lstat(path, &st) != 0)
        return errno;
    owners(&st, r, &uid, &gid);
    if ((uid != (uid_t)-1 || gid != (gid_t)-1) && lchown(path, uid, gid) != 0)
        return errno;
    if (fchmodat(AT_FDCWD, path, r->mode, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    /* Without /proc the C library cannot do without following.  A link is still never there
     * unless it came since we looked. */
    if (errno != EOPNOTSUPP || S_ISLNK(st.st_mode))
        return errno;
    return chmod(path, r->mode) == 0 ? 0 : errno;
}

/* ---- making --------------------------------------------------------------------------------- */

static int name_anew(const char *path, char ret[PATH_MAX])
{
    uint64_t chance;
    if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return EIO;
    int n = snprintf(ret, PATH_MAX, "%s.new-%016" PRIx64, path, chance);
    return n < 0 || n >= PATH_MAX ? ENAMETOOLONG : 0;
}

/* Replaces nothing, and is one step.  0, or an errno: EINVAL of a file system without it. */
static int move_into_place(const char *fresh, const char *path)
{
    return renameat2(AT_FDCWD, fresh, AT_FDCWD, path, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

int rights_make_file(const char *path, const struct rights *r)
{
    char fresh[PATH_MAX];
    int e = name_anew(path, fresh);
    if (e != 0)
        return e;
    int fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    POINT("file-rights");
    e = rights_give_open(fd, r);
    close(fd);
    if (e == 0)
        e = move_into_place(fresh, path);
    if (e == EINVAL) /* for a moment it has two names, which others may find odd */
        e = link(fresh, path) == 0 ? 0 : errno;
    unlink(fresh);
    return e;
}

int rights_make_directory(const char *path, const struct rights *r)
{
    char fresh[PATH_MAX];
    int e = name_anew(path, fresh);
    if (e != 0)
        return e;
    if (mkdir(fresh, 0700) != 0)
        return errno;
    POINT("directory-rights");
    e = rights_give(fresh, r);
    if (e == 0)
        e = move_into_place(fresh, path);
    if (e == EINVAL) /* where an empty directory is replaced at most */
        e = rename(fresh, path) == 0 ? 0 : errno;
    if (e != 0)
        rmdir(fresh);
    return e;
}
