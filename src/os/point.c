#include "os/point.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The FIFO of a name: its length, and *ret points at it; 0 when the test has no interest. */
static size_t fifo_of(const char *name, const char **ret)
{
    size_t len = strlen(name);
    const char *entry = getenv("TENURE_POINTS");
    while (entry && *entry) {
        size_t n = strcspn(entry, ",");
        if (n > len && strncmp(entry, name, len) == 0 && entry[len] == '=') {
            *ret = entry + len + 1;
            return n - len - 1;
        }
        entry += n + (entry[n] == ',');
    }
    return 0;
}

void point_reach(const char *name)
{
    char path[PATH_MAX], byte;
    const char *fifo;
    int saved = errno, fd;
    size_t n = fifo_of(name, &fifo);
    if (n == 0 || n >= sizeof path)
        return;
    memcpy(path, fifo, n);
    path[n] = '\0';
    do
        fd = open(path, O_RDONLY | O_CLOEXEC); /* waits for the test */
    while (fd < 0 && errno == EINTR);
    while (fd >= 0 && read(fd, &byte, 1) < 0 && errno == EINTR)
        continue;
    if (fd >= 0)
        close(fd);
    errno = saved;
}
