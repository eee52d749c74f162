/* os/place.h - whether file locks, shared memory and FIFOs of a directory mean the same to all
 * who see it.  A network or FUSE file system may be mounted by machines that know nothing of each
 * other's locks, and an overlay shows each container a copy of its own. */
#ifndef OS_PLACE_H
#define OS_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <tenure/error.h>

enum place_kind {
    PLACE_FINE, /* a local file system, or one that this table does not know */
    PLACE_NETWORK,
    PLACE_FUSE,
    PLACE_OVERLAY,
};

struct place {
    enum place_kind kind;
    const char *type; /* "nfs"; "" when it is not in the table; static storage */
};

/* The verdict on statfs(2)'s f_type.  Pure. */
struct place place_judge(uint64_t magic);

/* Whether the file is the root of a mount of its own, as a container is given a single file: what
 * lies beside it is then another directory for each who sees it.  False where that is not known. */
bool place_is_mounted_alone(const char *path);

/* The verdict on the directory.  0, or TENURE_UNSAFE_PLACE (never when `any`) with a message that
 * names the type and the override, or what statfs() fails with.  *ret (may be NULL) is filled
 * with the verdict when there is one. */
int place_check(const char *dir, bool any, struct place *ret, tenure_error *err);

#endif
