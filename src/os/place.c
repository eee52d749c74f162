#include "os/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "os/fail.h"

/* f_type of statfs(2) and linux/magic.h; those that no header has are from the file systems' own
 * sources. */
static const struct entry {
    uint32_t magic;
    struct place place;
} table[] = {
    {0x6969, {PLACE_NETWORK, "nfs"}},
    {0x517b, {PLACE_NETWORK, "smb"}},
    {0xfe534d42, {PLACE_NETWORK, "smb2"}},
    {0xff534d42, {PLACE_NETWORK, "cifs"}},
    {0x01021997, {PLACE_NETWORK, "9p"}},
    {0x00c36400, {PLACE_NETWORK, "ceph"}},
    {0x0bd00bd0, {PLACE_NETWORK, "lustre"}},
    {0x01161970, {PLACE_NETWORK, "gfs2"}},
    {0x7461636f, {PLACE_NETWORK, "ocfs2"}},
    {0x5346414f, {PLACE_NETWORK, "afs"}},
    {0x6b414653, {PLACE_NETWORK, "kafs"}},
    {0x73757245, {PLACE_NETWORK, "coda"}},
    {0x564c, {PLACE_NETWORK, "ncp"}},
    {0x47504653, {PLACE_NETWORK, "gpfs"}},
    {0x013111a8, {PLACE_NETWORK, "ibrix"}},
    {0xaad7aaea, {PLACE_NETWORK, "panfs"}},
    {0xa501fcf5, {PLACE_NETWORK, "vxfs"}},
    {0xbacbacbc, {PLACE_NETWORK, "vmhgfs"}},
    {0x786f4256, {PLACE_NETWORK, "vboxsf"}},
    {0x19830326, {PLACE_NETWORK, "fhgfs"}},
    {0x65735546, {PLACE_FUSE, "fuse"}},
    {0x65735543, {PLACE_FUSE, "fusectl"}},
    {0x794c7630, {PLACE_OVERLAY, "overlay"}},
    {0x61756673, {PLACE_OVERLAY, "aufs"}},
    {0xef53, {PLACE_FINE, "ext4"}},
    {0x58465342, {PLACE_FINE, "xfs"}},
    {0x9123683e, {PLACE_FINE, "btrfs"}},
    {0x2fc12fc1, {PLACE_FINE, "zfs"}},
    {0xf2f52010, {PLACE_FINE, "f2fs"}},
    {0xca451a4e, {PLACE_FINE, "bcachefs"}},
    {0x01021994, {PLACE_FINE, "tmpfs"}},
    {0x858458f6, {PLACE_FINE, "ramfs"}},
};

struct place place_judge(uint64_t magic)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].magic == (uint32_t)magic)
            return table[i].place;
    }
    return (struct place){PLACE_FINE, ""};
}

bool place_is_mounted_alone(const char *path)
{
    struct statx stx;
    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &stx) == 0 &&
           (stx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0 &&
           (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* Why a kind is refused, as a clause. */
static const char *why(enum place_kind kind)
{
    switch (kind) {
    case PLACE_NETWORK:
        return "other machines may not see its locks";
    case PLACE_FUSE:
        return "a user-space file system may not carry locks";
    case PLACE_OVERLAY:
        return "another container has another copy of it";
    case PLACE_FINE:
        break;
    }
    return "it is local";
}

int place_check(const char *dir, bool any, struct place *ret, tenure_error *err)
{
    struct statfs fs;
    int n;
    do {
        n = statfs(dir, &fs);
    } while (n != 0 && errno == EINTR);
    if (n != 0)
        return fail_errno(err, errno, "%s", dir);
    /* f_type is signed on some architectures: keep its 32 bits. */
    struct place place = place_judge((uint32_t)fs.f_type);
    if (ret)
        *ret = place;
    if (place.kind == PLACE_FINE || any)
        return 0;
    return fail(err, TENURE_UNSAFE_PLACE,
                "%s is on %s, and %s; keep the store on a local disk, or add ?fs=any to its URL "
                "if only this machine and container use it",
                dir, place.type, why(place.kind));
}
