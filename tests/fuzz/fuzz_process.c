/* Whatever a process has called itself, the line that /proc has about it is read behind its name,
 * or is refused. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/tree.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define PID 7
#define NAME_BYTES 15 /* the kernel cuts it there */

static char folder[] = "/dev/shm/tenure-fuzz-proc-XXXXXX";
static int proc = -1;

static void clean(void)
{
    (void)unlinkat(proc, "7/stat", 0);
    (void)unlinkat(proc, "7", AT_REMOVEDIR);
    (void)rmdir(folder);
}

/* A /proc with one process. */
static void make_proc(void)
{
    if (!mkdtemp(folder))
        abort();
    proc = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0 || mkdirat(proc, "7", 0700) != 0 || atexit(clean) != 0)
        abort();
}

static int read_line(const char *line, size_t len, struct process *ret)
{
    const struct tree tree = {.proc = proc};
    int fd = openat(proc, "7/stat", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, len) != (ssize_t)len)
        abort();
    close(fd);
    return tree_process(&tree, PID, ret);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct process p;
    char line[256];
    if (proc < 0)
        make_proc();
    if (read_line((const char *)data, size, &p) == 0 && p.id.pid != PID)
        abort();

    int name = (int)(size < NAME_BYTES ? size : NAME_BYTES);
    int len = snprintf(line, sizeof line, "7 (%.*s) S 5 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 "
                       "4711 0 0\n", name, size ? (const char *)data : "");
    if (read_line(line, (size_t)len, &p) != 0 || p.parent != 5 || p.id.start != 4711 || !p.live ||
        p.stopped)
        abort();
    return 0;
}
