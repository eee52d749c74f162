/* os/rights.h - whose a file is, and files that appear with their rights or not at all.
 *
 * A file that is made and then given its mode and owner has neither when its maker dies in
 * between, and nobody else may ever open it.  So it is made under a name of its own, and gets its
 * real one when it is as it should be.  What such a death can leave behind is a file of the name
 * PATH.new-XXXXXXXXXXXXXXXX, which nobody looks at.
 *
 * The umask counts for nothing here.  The owner is given by root only; the group is, too, by any
 * member of it, where it makes a difference.  No symbolic link is followed.
 */
#ifndef OS_RIGHTS_H
#define OS_RIGHTS_H

#include <stdbool.h>
#include <sys/stat.h>

struct rights {
    mode_t mode; /* without the type of the file */
    uid_t uid;
    gid_t gid;
};

/* Make an empty file, or a directory.  0 or an errno: EEXIST when there is one already. */
int rights_make_file(const char *path, const struct rights *r);
int rights_make_directory(const char *path, const struct rights *r);

/* Gives rights to what is open, or to what is at the path: 0, or an errno. */
int rights_give_open(int fd, const struct rights *r);
int rights_give(const char *path, const struct rights *r);

/* Whether what is there has them already, as far as they make a difference. */
bool rights_fit(const struct stat *st, const struct rights *r);

/* Those of a directory in which whoever may read and write such a file may make files, and those
 * of the group's files are the group's. */
struct rights rights_of_directory(const struct rights *file);

#endif
