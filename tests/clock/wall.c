/* tests/clock/wall.c - moves the wall clock of one process: a library for LD_PRELOAD.
 *
 * Adds the seconds in the file $WALL_OFFSET to CLOCK_REALTIME, at each call, and touches no other
 * clock and no timer.  (libfaketime also rewrites absolute timers of CLOCK_BOOTTIME.) */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static long offset_s(void)
{
    char text[32] = "";
    const char *path = getenv("WALL_OFFSET");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd); /* it was only read */
    return n > 0 ? strtol(text, NULL, 10) : 0;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int code = (int)syscall(SYS_clock_gettime, clock, ret);
    if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        ret->tv_sec += offset_s();
    return code;
}

EXPORT int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    ret->tv_sec = now.tv_sec;
    ret->tv_usec = now.tv_nsec / 1000;
    return 0;
}

EXPORT time_t time(time_t *ret)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return (time_t)-1;
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}
