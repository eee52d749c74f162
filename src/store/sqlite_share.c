/* store/sqlite_share.c - whose the files of a store are, and sharing it among the users of a group.
 *
 * The database is the model: its companions have its owner, its group and its mode, whoever makes
 * them and whatever the umask is.  A new store is private.  With ?group=GROUP it is made for the
 * group, in a directory of the group's, and a store that is there is given to it by who may. */
#include "store/sqlite_engine.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROUP_NAME_MAX 64
#define GROUP_LOOKUP_BYTES 65536 /* groups with thousands of members have long entries */

/* ---- the group ------------------------------------------------------------------------------ */

static bool read_number(const char *name, gid_t *ret)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(name, &end, 10);
    if (name[0] < '0' || name[0] > '9' || *end != '\0' || errno != 0 || n >= UINT_MAX)
        return false;
    *ret = (gid_t)n;
    return true;
}

int sqlite_group_find(struct text name, gid_t *ret, tenure_error *err)
{
    char text[GROUP_NAME_MAX + 1];
    if (name.len == 0 || name.len > GROUP_NAME_MAX)
        return fail(err, TENURE_INVALID, "\"%.*s\" cannot be a group: its name has 1 to %d bytes",
                    (int)(name.len > 80 ? 80 : name.len), name.at ? name.at : "", GROUP_NAME_MAX);
    memcpy(text, name.at, name.len);
    text[name.len] = '\0';
    if (read_number(text, ret))
        return 0;
    char *room = malloc(GROUP_LOOKUP_BYTES);
    if (!room)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    struct group entry, *found = NULL;
    int e = getgrnam_r(text, &entry, room, GROUP_LOOKUP_BYTES, &found);
    if (found)
        *ret = entry.gr_gid;
    free(room);
    if (found)
        return 0;
    return e != 0 ? fail_errno(err, e, "the group %s cannot be looked up", text)
                  : fail(err, TENURE_INVALID, "there is no group %s", text);
}

/* ---- the directory -------------------------------------------------------------------------- */

/* A store's directory is the group's when its members may make files there, and these are the
 * group's in turn: SQLite makes its own companions by no other rule. */
static int check_directory(const char *dir, gid_t group, tenure_error *err)
{
    struct stat st;
    const mode_t needed = S_ISGID | 0070;
    if (stat(dir, &st) != 0)
        return fail_errno(err, errno, "%s", dir);
    if (st.st_gid == group && (st.st_mode & needed) == needed)
        return 0;
    return fail(err, TENURE_DENIED,
                "%s is not a directory of group %u's with the set-group-ID bit (mode 2770), where "
                "a store for the group must lie; one that is not there yet is made so", dir,
                (unsigned)group);
}

int sqlite_group_directory(struct text path, bool create, gid_t group, tenure_error *err)
{
    char dir[PATH_MAX];
    if (path.len == 0 || path.len >= sizeof dir)
        return 0; /* refused by who reads the path */
    memcpy(dir, path.at, path.len);
    dir[path.len] = '\0';
    char *slash = strrchr(dir, '/');
    if (slash == dir || !slash)
        return check_directory(slash ? "/" : ".", group, err);
    *slash = '\0';
    const struct rights rights = {.mode = S_ISGID | 0770, .uid = geteuid(), .gid = group};
    int e = access(dir, F_OK) == 0 || !create ? EEXIST : rights_make_directory(dir, &rights);
    if (e == EPERM)
        return fail(err, TENURE_DENIED, "%s cannot be made for group %u: only a member of it, and "
                                        "root, can", dir, (unsigned)group);
    if (e != 0 && e != EEXIST)
        return fail_errno(err, e, "the directory %s cannot be made", dir);
    return check_directory(dir, group, err);
}

/* ---- the files ------------------------------------------------------------------------------ */

int sqlite_rights(const struct sqlite_store *s, struct rights *ret, tenure_error *err)
{
    struct stat st;
    *ret = (struct rights){.mode = 0600, .uid = geteuid(), .gid = getegid()};
    if (stat(s->path, &st) == 0)
        *ret = (struct rights){.mode = st.st_mode & 0666, .uid = st.st_uid, .gid = st.st_gid};
    else if (errno != ENOENT)
        return fail_errno(err, errno, "%s", s->path);
    if (s->has_group) {
        ret->mode |= 0660;
        ret->gid = s->group;
    }
    return 0;
}

/* Whether others than the owner may use it: nobody else makes the files of a private store, but for
 * root, who gives them away. */
static bool is_shared(const struct rights *database)
{
    return (database->mode & 0022) != 0;
}

static const char *const companions[] = {"-wal", "-shm", "-gate", "-live"};

static bool companion_path(const struct sqlite_store *s, size_t i, char ret[PATH_MAX])
{
    int n = snprintf(ret, PATH_MAX, "%s%s", s->path, companions[i]);
    return n > 0 && n < PATH_MAX;
}

static struct rights rights_of_companion(size_t i, const struct rights *database)
{
    return strcmp(companions[i], "-live") == 0 ? rights_of_directory(database) : *database;
}

const char *sqlite_misfit(const struct sqlite_store *s)
{
    char path[PATH_MAX];
    struct rights of;
    struct stat st;
    tenure_error err;
    if (sqlite_rights(s, &of, &err) < 0 || !is_shared(&of))
        return NULL;
    for (size_t i = 0; i < sizeof companions / sizeof companions[0]; i++) {
        const struct rights r = rights_of_companion(i, &of);
        if (companion_path(s, i, path) && lstat(path, &st) == 0 && !rights_fit(&st, &r))
            return companions[i];
    }
    return NULL;
}

int sqlite_give(const struct sqlite_store *s, tenure_error *err)
{
    char path[PATH_MAX];
    struct rights of;
    struct stat st;
    int code = sqlite_rights(s, &of, err);
    if (code < 0)
        return code;
    if (s->has_group && stat(s->path, &st) == 0 && !rights_fit(&st, &of)) {
        int e = rights_give(s->path, &of);
        if (e != 0)
            return fail_errno(err, e, "%s cannot be given to group %u", s->path,
                              (unsigned)s->group);
    }
    if (!is_shared(&of))
        return 0;
    for (size_t i = 0; i < sizeof companions / sizeof companions[0]; i++) {
        const struct rights r = rights_of_companion(i, &of);
        if (companion_path(s, i, path) && lstat(path, &st) == 0 && !rights_fit(&st, &r) &&
            (st.st_uid == geteuid() || geteuid() == 0))
            (void)rights_give(path, &r); /* what may not be changed is told by `tenure doctor` */
    }
    return 0;
}

int sqlite_no_rights(const struct sqlite_store *s, int code, tenure_error *err)
{
    struct stat st;
    char why[sizeof err->text];
    if (!err || stat(s->path, &st) != 0)
        return code;
    const char *misfit = sqlite_misfit(s);
    if (misfit)
        return fail(err, code, "the store %s cannot be used: %s%s has other rights than it; its "
                               "owner, or root, mends that by `tenure store init`", s->path,
                    strrchr(s->path, '/') + 1, misfit);
    memcpy(why, err->text, sizeof why);
    return fail(err, code, "the store %s (user %u, group %u, mode %04o) cannot be used by this "
                           "user: %s", s->path, (unsigned)st.st_uid, (unsigned)st.st_gid,
                (unsigned)(st.st_mode & 07777), why);
}
