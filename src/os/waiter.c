#include "os/waiter.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
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
    w->nudge_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->fd = epoll_create1(EPOLL_CLOEXEC);
    if (w->timer_fd >= 0 && w->nudge_fd >= 0 && w->fd >= 0 && nest(w->fd, w->timer_fd) == 0 &&
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
    if (w->nudge_fd >= 0)
        close(w->nudge_fd);
    w->fd = w->timer_fd = w->nudge_fd = -1;
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
    struct pollfd p[] = {{.fd = w->fd, .events = POLLIN}, {.fd = w->nudge_fd, .events = POLLIN}};
    uint64_t nudges;
    int64_t left = until.ms == INSTANT_NEVER.ms ? LONGEST_POLL_MS
                                                : instant_diff(clock_now(), until).ms + 1;
    if (left > LONGEST_POLL_MS)
        left = LONGEST_POLL_MS;
    if (poll(p, 2, left <= 0 ? 0 : (int)left) <= 0)
        return false;
    bool is_readable = p[0].revents != 0;
    if (p[1].revents != 0 && read(w->nudge_fd, &nudges, sizeof nudges) < 0)
        return is_readable; /* it is nudged no longer */
    return is_readable;
}

void waiter_nudge(const struct waiter *w)
{
    const uint64_t once = 1;
    if (write(w->nudge_fd, &once, sizeof once) < 0)
        return; /* there are more nudges than can be counted */
}

void waiter_drain(struct waiter *w)
{
    uint64_t expirations;
    if (read(w->timer_fd, &expirations, sizeof expirations) > 0)
        w->armed = INSTANT_NEVER;
}
