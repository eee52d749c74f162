/* Doorbells: who rings is told whether it is heard, and strangers have no part in it. */
#include "os/doorbell.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define NOBODY 65534

static char name[DOORBELL_NAME_MAX];

/* One without news. */
static int hear(int fd, uint64_t *ret)
{
    struct ring r = {0, -1};
    int code = doorbell_hear(fd, &r);
    if (code == 1)
        *ret = r.number;
    return r.line < 0 ? code : -1;
}

static bool ring(const char *to, uint64_t number)
{
    return doorbell_ring(to, number, NULL, 0);
}

static int hang(void)
{
    static int count;
    snprintf(name, sizeof name, "tenure-test/%d/%d", (int)getpid(), count++);
    return doorbell_hang(name);
}

static void a_ring_is_heard_once_and_in_order(void)
{
    uint64_t heard = 0;
    int fd = hang();
    CHECK(fd >= 0);
    CHECK(hear(fd, &heard) == 0);
    CHECK(ring(name, 7) && ring(name, UINT64_MAX));
    CHECK(hear(fd, &heard) == 1 && heard == 7);
    CHECK(hear(fd, &heard) == 1 && heard == UINT64_MAX);
    CHECK(hear(fd, &heard) == 0);
    close(fd);
}

static void where_none_hangs_the_ringer_is_told(void)
{
    int fd = hang();
    CHECK(fd >= 0 && ring(name, 1));
    close(fd);
    CHECK(!ring(name, 1));
    CHECK(!ring("tenure-test/none", 1));
}

static void a_name_is_one_doorbell_and_free_when_it_was_taken_down(void)
{
    int fd = hang();
    CHECK(fd >= 0 && doorbell_hang(name) == -EADDRINUSE);
    close(fd);
    fd = doorbell_hang(name);
    CHECK(fd >= 0);
    close(fd);
}

static void nobody_waits_for_one_who_does_not_hear(void)
{
    int fd = hang(), rings = 0;
    CHECK(fd >= 0);
    while (rings < 10000 && ring(name, 1))
        rings++;
    CHECK(rings > 0 && rings < 10000);
    uint64_t heard;
    for (int i = 0; i < rings; i++)
        CHECK(hear(fd, &heard) == 1 && heard == 1);
    CHECK(hear(fd, &heard) == 0);
    CHECK(ring(name, 2)); /* there is room again */
    close(fd);
}

/* Tells what it hears, until it is killed. */
static void hear_and_tell(int fd, int out)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t heard;
    while (poll(&p, 1, -1) == 1) {
        while (hear(fd, &heard) == 1) {
            if (write(out, &heard, sizeof heard) != (ssize_t)sizeof heard)
                _exit(1);
        }
    }
    _exit(1);
}

/* Whoever waits is on its way while the ringer has not even been told that it hung there. */
static void who_wakes_at_once_hears_all_of_it_and_the_ringer_is_told_so(void)
{
    int told[2], fd = hang();
    CHECK(fd >= 0 && pipe(told) == 0);
    pid_t child = fork();
    if (child == 0)
        hear_and_tell(fd, told[1]);
    CHECK(child > 0);
    uint64_t rounds = 0, heard = 0;
    while (rounds < 3000 && heard == rounds) {
        struct pollfd p = {.fd = told[0], .events = POLLIN};
        if (!ring(name, ++rounds) || poll(&p, 1, 10000) != 1 ||
            read(told[0], &heard, sizeof heard) != (ssize_t)sizeof heard)
            break;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK(rounds == 3000 && heard == 3000);
    close(fd);
    close(told[0]);
    close(told[1]);
}

/* As one who rings, and has not said about what. */
static int come_and_go(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    memcpy(address.sun_path + 1, name, len);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
    return fd >= 0 && connect(fd, (struct sockaddr *)&address, size) == 0 ? 0 : 1;
}

static void who_does_not_say_why_is_heard_all_the_same(void)
{
    uint64_t heard = 1;
    int fd = hang();
    pid_t child = fork();
    if (child == 0)
        _exit(come_and_go());
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(hear(fd, &heard) == 1 && heard == 0);
    close(fd);
}

/* Runs fn(name) as somebody else: what it returned, or -1 where that cannot be had. */
static int as_a_stranger(int (*fn)(const char *))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(setgid(NOBODY) == 0 && setuid(NOBODY) == 0 ? fn(name) : 99);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static int ring_it(const char *to)
{
    return ring(to, 5);
}

static void a_stranger_neither_rings_nor_is_rung(void)
{
    uint64_t heard;
    if (geteuid() != 0)
        return; /* nobody else can be had */
    int fd = hang();
    CHECK(fd >= 0 && as_a_stranger(ring_it) == 0);
    CHECK(as_a_stranger(ring_it) == 0 && ring(name, 6));
    CHECK(hear(fd, &heard) == 1 && heard == 6);
    CHECK(hear(fd, &heard) == 0);
    close(fd);

    int said[2]; /* the stranger has taken a name that we ring */
    CHECK(pipe(said) == 0);
    snprintf(name, sizeof name, "tenure-test/%d/stranger", (int)getpid());
    pid_t child = fork();
    if (child == 0) {
        bool fine = setgid(NOBODY) == 0 && setuid(NOBODY) == 0 && doorbell_hang(name) >= 0;
        if (write(said[1], &fine, sizeof fine) == (ssize_t)sizeof fine)
            pause();
        _exit(1);
    }
    bool hangs = false;
    CHECK(child > 0 && read(said[0], &hangs, sizeof hangs) == (ssize_t)sizeof hangs && hangs);
    bool heard_us = ring(name, 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK(!heard_us);
}

/* What a ring tells, in `cap` bytes at buf: as doorbell_listen(). */
static ssize_t news_of(const struct ring *r, void *buf, size_t cap)
{
    struct pollfd p = {.fd = r->line, .events = POLLIN};
    return r->line >= 0 && poll(&p, 1, 10000) == 1 ? doorbell_listen(r->line, buf, cap) : -1;
}

static void what_is_told_comes_whole_behind_the_ring(void)
{
    char told[1000], heard[1001];
    struct ring r = {0, -1};
    int fd = hang();
    memset(told, 'x', sizeof told);
    CHECK(fd >= 0 && doorbell_ring(name, 7, told, sizeof told));
    CHECK(doorbell_ring(name, 8, told, sizeof told) && ring(name, 9));
    CHECK(doorbell_hear(fd, &r) == 1 && r.number == 7);
    CHECK(news_of(&r, heard, sizeof heard) == sizeof told);
    CHECK(memcmp(heard, told, sizeof told) == 0 && news_of(&r, heard, sizeof heard) == 0);
    close(r.line);
    CHECK(doorbell_hear(fd, &r) == 1 && r.number == 8);
    CHECK(news_of(&r, heard, sizeof told - 1) == 0); /* no part of it */
    close(r.line);
    CHECK(doorbell_hear(fd, &r) == 1 && r.number == 9 && r.line < 0);
    close(fd);
}

/* As one who says that there are news, and is stopped before it tells them. */
static void who_does_not_tell_keeps_nobody_waiting(void)
{
    char heard[10];
    struct ring r = {0, -1};
    int fd = hang(), said = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    struct sockaddr_un from = {.sun_family = AF_UNIX}, to = {.sun_family = AF_UNIX};
    size_t head = offsetof(struct sockaddr_un, sun_path) + 1, len = strlen(name);
    int n = snprintf(from.sun_path + 1, sizeof from.sun_path - 1,
                     "tenure-ring/%016llx/%d+", 11ULL, (int)getpid());
    memcpy(to.sun_path + 1, name, len);
    socklen_t from_len = (socklen_t)(head + (size_t)n);
    CHECK(fd >= 0 && n > 0 && bind(said, (struct sockaddr *)&from, from_len) == 0);
    CHECK(connect(said, (struct sockaddr *)&to, (socklen_t)(head + len)) == 0);
    CHECK(doorbell_hear(fd, &r) == 1 && r.number == 11 && r.line >= 0);
    CHECK(doorbell_listen(r.line, heard, sizeof heard) == -EAGAIN);
    close(said);
    CHECK(news_of(&r, heard, sizeof heard) == 0);
    close(r.line);
    close(fd);
}

int main(void)
{
    return TAP_RUN(TAP(a_ring_is_heard_once_and_in_order),
                   TAP(where_none_hangs_the_ringer_is_told),
                   TAP(a_name_is_one_doorbell_and_free_when_it_was_taken_down),
                   TAP(nobody_waits_for_one_who_does_not_hear),
                   TAP(who_wakes_at_once_hears_all_of_it_and_the_ringer_is_told_so),
                   TAP(who_does_not_say_why_is_heard_all_the_same),
                   TAP(what_is_told_comes_whole_behind_the_ring),
                   TAP(who_does_not_tell_keeps_nobody_waiting),
                   TAP(a_stranger_neither_rings_nor_is_rung));
}
