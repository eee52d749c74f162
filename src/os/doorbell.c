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
#define HAS_NEWS '+' /* at the end of the ringer's name */

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
static bool say(int fd, uint64_t number, bool has_news)
{
    char name[DOORBELL_NAME_MAX];
    uint64_t mark;
    struct sockaddr_un address;
    if (getrandom(&mark, sizeof mark, GRND_NONBLOCK) != (ssize_t)sizeof mark)
        return false;
    const char end[] = {has_news ? HAS_NEWS : '\0', '\0'};
    snprintf(name, sizeof name, RINGER "%0*llx/%llx%s", DIGITS, (unsigned long long)number,
             (unsigned long long)mark, end);
    socklen_t len = address_of(name, &address);
    return bind(fd, (struct sockaddr *)&address, len) == 0;
}

/* What one that rings has said. */
static void read_name(const struct sockaddr_un *address, socklen_t len, uint64_t *ret_number,
                      bool *ret_news)
{
    const char *name = address->sun_path + 1;
    size_t head = offsetof(struct sockaddr_un, sun_path) + 1;
    char digits[DIGITS + 1] = "";
    *ret_number = 0;
    *ret_news = false;
    if (len < head + strlen(RINGER) + DIGITS || memcmp(name, RINGER, strlen(RINGER)) != 0)
        return;
    memcpy(digits, name + strlen(RINGER), DIGITS);
    *ret_number = strtoull(digits, NULL, 16);
    *ret_news = name[len - head - 1] == HAS_NEWS;
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

int doorbell_hear(int fd, struct ring *ret)
{
    for (int i = 0; i <= WAITING_MAX; i++) {
        struct sockaddr_un from;
        socklen_t len = sizeof from;
        int one = accept4(fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (one < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        bool ours = is_ours(one), news = false;
        if (ours)
            read_name(&from, len, &ret->number, &news);
        ret->line = news ? one : -1;
        if (!news)
            close(one);
        if (ours)
            return 1;
    }
    return 0;
}

ssize_t doorbell_listen(int line, void *buf, size_t cap)
{
    ssize_t len = recv(line, buf, cap, MSG_DONTWAIT | MSG_TRUNC);
    if (len < 0)
        return errno == EAGAIN || errno == EINTR ? -EAGAIN : 0;
    return (size_t)len > cap ? 0 : len;
}

bool doorbell_ring(const char *name, uint64_t number, const void *news, size_t len)
{
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    int fd = open_socket();
    bool rung = fd >= 0 && say(fd, number, len > 0) &&
                connect(fd, (struct sockaddr *)&address, size) == 0 && is_ours(fd);
    if (rung && len > 0 && send(fd, news, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        len = 0; /* the line ends without a word, and who hears that looks */
    if (fd >= 0)
        close(fd);
    return rung;
}
