/* Whatever is in the page that processes share, a gate opens and lets in and out, or says why not:
 * nobody else has a slot, so it is never shut for long. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/gate.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define PATIENCE_MS 2000

static void make_page(const char *path, const unsigned char *data, size_t size)
{
    unsigned char page[GATE_PAGE_BYTES] = {0};
    if (size > 0)
        memcpy(page, data, size < sizeof page ? size : sizeof page);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, page, sizeof page) != (ssize_t)sizeof page)
        abort();
    close(fd);
}

static void use(struct gate *g)
{
    tenure_error err = {0};
    for (int i = 0; i < 2; i++) {
        if (gate_enter(g, (struct span){PATIENCE_MS}, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            abort();
        }
        gate_poke(g);
        gate_leave(g);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const struct rights rights = {.mode = 0600, .uid = getuid(), .gid = getgid()};
    char path[64];
    struct gate *g = NULL;
    tenure_error err = {0};
    snprintf(path, sizeof path, "/dev/shm/tenure-fuzz-gate-%d", (int)getpid());
    make_page(path, data, size);
    int code = gate_open(path, &rights, 0, &g, &err);
    if (code < 0 && (code != TENURE_FOREIGN || err.code != code || err.text[0] == '\0'))
        abort();
    if (code == 0)
        use(g);
    gate_close(g);
    unlink(path);
    return 0;
}
