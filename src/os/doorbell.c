#include "os/doorbell.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WAITING_MAX 64 /* rings that were not heard yet; further ones fail */
#define RINGER "tenure-ring/"
#define DIGITS 16

/* A name that begins with a zero is in no file system. */
static socklen_t address_of(const char *name, struct sockaddr_un *ret)
{
    size_t len = strlen(name);
    assert(len <= DOORBELL_NAME_MAX);
    memset(ret, 0, sizeof *ret);
    ret->sun_family = AF_UNIX;
    memcpy(ret->sun_path + 1, name, len);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Takes a name that says the number, and is nobody else's. */
static bool say(int fd, uint64_t number)
{
    char name[DOORBELL_NAME_MAX];
    uint64_t mark;
    struct sockaddr_un address;
    if (getrandom(&mark, sizeof mark, GRND_NONBLOCK) != (ssize_t)sizeof mark)
        return false;
    snprintf(name, sizeof name, RINGER "%0*llx/%llx", DIGITS, (unsigned long long)number,
             (unsigned long long)mark);
    socklen_t len = address_of(name, &address);
    return bind(fd, (struct sockaddr *)&address, len) == 0;
}

/* What one that rings has said; 0: nothing. */
static uint64_t number_of(const struct sockaddr_un *address, socklen_t len)
{
    const char *name = address->sun_path + 1;
    size_t least = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(RINGER) + DIGITS;
    char digits[DIGITS + 1] = "";
    if (len < least || memcmp(name, RINGER, strlen(RINGER)) != 0)
        return 0;
    memcpy(digits, name + strlen(RINGER), DIGITS);
    return strtoull(digits, NULL, 16);
}

/* Whether who hung it up, or who rang, was of our user then. */
static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

int doorbell_hang(const char *name)
{
    struct sockaddr_un address;
    socklen_t len = address_of(name, &address);
    int fd = open_socket();
    if (fd < 0)
        return -errno;
    if (bind(fd, (struct sockaddr *)&address, len) == 0 && listen(fd, WAITING_MAX) == 0)
        return fd;
    int e = errno;
    close(fd);
    return -e;
}

int doorbell_hear(int fd, uint64_t *ret)
{
    for (int i = 0; i <= WAITING_MAX; i++) {
        struct sockaddr_un from;
        socklen_t len = sizeof from;
        int one = accept4(fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (one < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        bool ours = is_ours(one);
        close(one);
        if (ours) {
            *ret = number_of(&from, len);
            return 1;
        }
    }
    return 0;
}

bool doorbell_ring(const char *name, uint64_t number)
{
    struct sockaddr_un address;
    socklen_t len = address_of(name, &address);
    int fd = open_socket();
    bool rung = fd >= 0 && say(fd, number) &&
                connect(fd, (struct sockaddr *)&address, len) == 0 && is_ours(fd);
    if (fd >= 0)
        close(fd);
    return rung;
}
