/* Neighbours: a doorbell is heard or taken down, and who waits never turns for nothing. */
#include "store/neighbours.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define HERE 0x74656e757265 /* a place of ours, and of no store */

static struct neighbours waiter, other;
static struct hint_queue hints;
static int epoll = -1;
static char news[NEIGHBOURS_NEWS_MAX]; /* the last ones */
static size_t news_len;

static void take(void *arg, const void *told, size_t len)
{
    (void)arg;
    memcpy(news, told, len);
    news_len = len;
}

static void hear(void)
{
    news_len = 0;
    neighbours_hear(&waiter, &hints, take, NULL);
}

static bool ring(const struct neighbours *n, uint64_t session, uint64_t key_hash)
{
    return neighbours_ring(n, session, key_hash, NULL, 0);
}

static bool is_settled(uint64_t session)
{
    epoll = epoll_create1(EPOLL_CLOEXEC);
    hints = (struct hint_queue){0};
    neighbours_init(&waiter);
    neighbours_init(&other);
    neighbours_settle(&waiter, epoll, HERE ^ (uint64_t)getpid(), session);
    neighbours_settle(&other, epoll, HERE ^ (uint64_t)getpid(), 0);
    return epoll >= 0 && waiter.fd >= 0 && other.fd < 0;
}

static void leave(void)
{
    neighbours_close(&waiter);
    neighbours_close(&other);
    close(epoll);
}

static bool is_woken(void)
{
    struct pollfd p = {.fd = epoll, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void a_ring_wakes_who_waits_and_says_what_to_look_at(void)
{
    struct store_hint hint;
    CHECK(is_settled(1) && !is_woken());
    CHECK(ring(&other, 1, 42) && is_woken());
    hear();
    CHECK(!is_woken());
    CHECK(hint_queue_take(&hints, &hint) && hint.key_hash == 42 && !hint.all);
    leave();
}

static void news_are_taken_before_the_hint_that_they_came_with_is_given(void)
{
    struct store_hint hint;
    CHECK(is_settled(4) && neighbours_ring(&other, 4, 42, "granted", 7) && is_woken());
    hear();
    CHECK(!is_woken() && news_len == 7 && memcmp(news, "granted", 7) == 0);
    CHECK(hint_queue_take(&hints, &hint) && hint.key_hash == 42);
    leave();
}

static void news_that_are_too_long_are_a_ring(void)
{
    static const char much[NEIGHBOURS_NEWS_MAX + 1];
    struct store_hint hint;
    CHECK(is_settled(5) && neighbours_ring(&other, 5, 42, much, sizeof much));
    hear();
    CHECK(news_len == 0 && hint_queue_take(&hints, &hint) && hint.key_hash == 42);
    leave();
}

/* Says in its name that there are news. */
static int begin_to_tell(int number)
{
    struct sockaddr_un from = {.sun_family = AF_UNIX}, to = {.sun_family = AF_UNIX};
    size_t head = offsetof(struct sockaddr_un, sun_path) + 1;
    int n = snprintf(from.sun_path + 1, sizeof from.sun_path - 1, "tenure-ring/%016x/%d+",
                     (unsigned)number, (int)getpid());
    int m = snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "tenure/%016llx/%llu",
                     (unsigned long long)waiter.place, (unsigned long long)waiter.session);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (bind(fd, (struct sockaddr *)&from, (socklen_t)(head + (size_t)n)) != 0 ||
        connect(fd, (struct sockaddr *)&to, (socklen_t)(head + (size_t)m)) != 0)
        return -1;
    return fd;
}

/* A ringer can be stopped between its ring and its news. */
static void news_that_come_later_wake_again_and_those_that_never_come_are_a_ring(void)
{
    struct store_hint hint;
    CHECK(is_settled(6));
    int slow = begin_to_tell(42), dead = begin_to_tell(43);
    CHECK(slow >= 0 && dead >= 0 && is_woken());
    hear();
    CHECK(!is_woken() && hint_queue_is_empty(&hints));
    CHECK(send(slow, "late", 4, 0) == 4 && is_woken());
    hear();
    CHECK(!is_woken() && news_len == 4 && hint_queue_take(&hints, &hint) && hint.key_hash == 42);
    close(dead);
    CHECK(is_woken());
    hear();
    CHECK(!is_woken() && news_len == 0 && hint_queue_take(&hints, &hint) && hint.key_hash == 43);
    close(slow);
    leave();
}

static void too_many_who_do_not_tell_are_rings(void)
{
    int fd[NEIGHBOURS_LINES_MAX + 1];
    struct store_hint hint;
    CHECK(is_settled(7));
    for (int i = 0; i <= NEIGHBOURS_LINES_MAX; i++) {
        fd[i] = begin_to_tell(i + 1);
        CHECK(fd[i] >= 0);
    }
    hear();
    CHECK(!is_woken() && hint_queue_take(&hints, &hint));
    CHECK(hint.key_hash == NEIGHBOURS_LINES_MAX + 1 && hint_queue_is_empty(&hints));
    leave();
    for (int i = 0; i <= NEIGHBOURS_LINES_MAX; i++)
        close(fd[i]);
}

static void who_is_another_session_now_hears_no_ring_of_before(void)
{
    CHECK(is_settled(1));
    neighbours_settle(&waiter, epoll, waiter.place, 2);
    CHECK(!ring(&other, 1, 42) && ring(&other, 2, 42));
    neighbours_settle(&waiter, epoll, waiter.place, 0);
    CHECK(!ring(&other, 2, 42) && !is_woken());
    leave();
}

/* The lowest free descriptor becomes the limit. */
static bool no_descriptor_is_left(struct rlimit *ret_before)
{
    int next = fcntl(epoll, F_DUPFD_CLOEXEC, 0);
    if (next < 0 || close(next) != 0 || getrlimit(RLIMIT_NOFILE, ret_before) != 0)
        return false;
    struct rlimit none = {(rlim_t)next, ret_before->rlim_max};
    return setrlimit(RLIMIT_NOFILE, &none) == 0;
}

/* A ring that nobody takes would keep the descriptor readable, and its loop turning. */
static void who_has_no_descriptor_for_a_ring_looks_and_takes_its_doorbell_down(void)
{
    struct rlimit before;
    struct store_hint hint = {0};
    CHECK(is_settled(3) && ring(&other, 3, 42));
    CHECK(no_descriptor_is_left(&before));
    hear();
    bool quiet = !is_woken(), told = hint_queue_take(&hints, &hint);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(quiet && told && hint.all);
    CHECK(!ring(&other, 3, 42)); /* so the server is asked to */
    leave();
}

/* A child of a raw clone() runs no handlers: it keeps what we had, and the events of that. */
static void what_another_process_has_too_wakes_nobody_when_it_is_closed(void)
{
    int hold[2];
    CHECK(is_settled(8) && pipe(hold) == 0);
    int slow = begin_to_tell(42);
    CHECK(slow >= 0);
    hear();
    pid_t child = fork();
    if (child == 0) {
        char end;
        close(hold[1]);
        close(slow);
        _exit(read(hold[0], &end, 1) == 0 ? 0 : 1);
    }
    CHECK(child > 0 && send(slow, "late", 4, 0) == 4);
    hear();
    shutdown(slow, SHUT_RDWR);
    bool after_news = is_woken();
    int old = begin_to_tell(43);
    neighbours_settle(&waiter, epoll, waiter.place, 9);
    bool after_session = is_woken();
    close(old);
    close(slow);
    close(hold[0]);
    close(hold[1]);
    CHECK(waitpid(child, NULL, 0) == child);
    CHECK(!after_news);
    CHECK(!after_session);
    leave();
}

/* The epoll set of a child is its parent's. */
static void who_is_forked_lets_go_and_its_parent_is_still_woken(void)
{
    CHECK(is_settled(10));
    pid_t child = fork();
    if (child == 0) {
        neighbours_forked(&waiter);
        _exit(waiter.fd < 0 ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(ring(&other, 10, 42) && is_woken());
    leave();
}

int main(void)
{
    return TAP_RUN(TAP(a_ring_wakes_who_waits_and_says_what_to_look_at),
                   TAP(news_are_taken_before_the_hint_that_they_came_with_is_given),
                   TAP(news_that_are_too_long_are_a_ring),
                   TAP(news_that_come_later_wake_again_and_those_that_never_come_are_a_ring),
                   TAP(too_many_who_do_not_tell_are_rings),
                   TAP(who_is_another_session_now_hears_no_ring_of_before),
                   TAP(what_another_process_has_too_wakes_nobody_when_it_is_closed),
                   TAP(who_is_forked_lets_go_and_its_parent_is_still_woken),
                   TAP(who_has_no_descriptor_for_a_ring_looks_and_takes_its_doorbell_down));
}
