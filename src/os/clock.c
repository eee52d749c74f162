#include "os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

static int64_t read_ms(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        return 0; /* cannot happen on Linux for these clocks */
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct instant clock_now(void)
{
    return INSTANT(read_ms(CLOCK_BOOTTIME));
}

int64_t clock_fine_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return 0; /* cannot happen on Linux */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_wall_ms(void)
{
    return read_ms(CLOCK_REALTIME);
}

/* The kernel lets the error grow by 500 ppm from what its last adjustment said, up to 16 s.  Who
 * disciplines the clock without stating an error (systemd-timesyncd states 0) says nothing. */
int64_t clock_judge_bound(int state, int status, long max_error_us, long estimated_error_us)
{
    if (state < 0 || state == TIME_ERROR || (status & STA_UNSYNC) != 0)
        return -1;
    if (estimated_error_us <= 0 || max_error_us < estimated_error_us || max_error_us >= 16000000)
        return -1;
    return (max_error_us + 999) / 1000 + 1; /* what we read is rounded down, too */
}

int64_t clock_wall_bound(int64_t *ret_error_ms)
{
    struct timex t = {.modes = 0};
    int state = adjtimex(&t);
    *ret_error_ms = clock_judge_bound(state, t.status, t.maxerror, t.esterror);
    return clock_wall_ms();
}

static ssize_t read_file(const char *path, char *buf, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, buf, cap - 1);
    int e = errno;
    close(fd);
    errno = e;
    if (n < 0)
        return -1;
    buf[n] = '\0';
    return n;
}

/* The offset of our time namespace on CLOCK_BOOTTIME, as the kernel prints it; "" when none. */
static int boottime_offset(char *buf, size_t cap)
{
    char text[256];
    long long sec = 0, nsec = 0;
    buf[0] = '\0';
    if (read_file("/proc/self/timens_offsets", text, sizeof text) < 0)
        return errno == ENOENT ? 0 : errno; /* 0: a kernel without time namespaces */
    const char *line = strstr(text, "boottime");
    if (line && sscanf(line, "boottime %lld %lld", &sec, &nsec) == 2 && (sec != 0 || nsec != 0))
        snprintf(buf, cap, "+%lld.%09lld", sec, nsec);
    return 0;
}

int clock_domain(char buf[CLOCK_DOMAIN_BYTES])
{
    char id[40], offset[40];
    ssize_t n = read_file("/proc/sys/kernel/random/boot_id", id, sizeof id);
    if (n < 36)
        return n < 0 ? errno : EIO;
    id[36] = '\0';
    int e = boottime_offset(offset, sizeof offset);
    if (e == 0)
        snprintf(buf, CLOCK_DOMAIN_BYTES, "%s%s", id, offset);
    return e;
}
