#include "os/waiter.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "os/clock.h"

#define LONGEST_POLL_MS 3600000

static int nest(int epoll, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    return fd < 0 ? 0 : epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
}

int waiter_open(struct waiter *w, int nested)
{
    w->armed = INSTANT_NEVER;
    w->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    w->fd = epoll_create1(EPOLL_CLOEXEC);
    if (w->timer_fd >= 0 && w->fd >= 0 && nest(w->fd, w->timer_fd) == 0 &&
        nest(w->fd, nested) == 0)
        return 0;
    int code = -errno;
    waiter_close(w);
    return code;
}

void waiter_close(struct waiter *w)
{
    if (w->fd >= 0)
        close(w->fd);
    if (w->timer_fd >= 0)
        close(w->timer_fd);
    w->fd = w->timer_fd = -1;
}

void waiter_arm(struct waiter *w, struct instant when)
{
    struct itimerspec spec = {0};
    if (when.ms == w->armed.ms)
        return;
    if (when.ms != INSTANT_NEVER.ms) {
        int64_t ms = when.ms > 0 ? when.ms : 1; /* 0 would switch it off */
        spec.it_value.tv_sec = ms / 1000;
        spec.it_value.tv_nsec = ms % 1000 * 1000000;
    }
    if (timerfd_settime(w->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) == 0)
        w->armed = when;
}

bool waiter_wait(const struct waiter *w, struct instant until)
{
    struct pollfd p = {.fd = w->fd, .events = POLLIN};
    int64_t left = until.ms == INSTANT_NEVER.ms ? LONGEST_POLL_MS
                                                : instant_diff(clock_now(), until).ms + 1;
    if (left > LONGEST_POLL_MS)
        left = LONGEST_POLL_MS;
    return poll(&p, 1, left <= 0 ? 0 : (int)left) > 0;
}

void waiter_drain(struct waiter *w)
{
    uint64_t expirations;
    if (read(w->timer_fd, &expirations, sizeof expirations) > 0)
        w->armed = INSTANT_NEVER;
}
