/* Neighbours: a doorbell is heard or taken down, and who waits never turns for nothing. */
#include "store/neighbours.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tap.h"

#define HERE 0x74656e757265 /* a place of ours, and of no store */

static struct neighbours waiter, other;
static struct hint_queue hints;
static int epoll = -1;

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
    CHECK(neighbours_ring(&other, 1, 42) && is_woken());
    neighbours_hear(&waiter, &hints);
    CHECK(!is_woken());
    CHECK(hint_queue_take(&hints, &hint) && hint.key_hash == 42 && !hint.all);
    leave();
}

static void who_is_another_session_now_hears_no_ring_of_before(void)
{
    CHECK(is_settled(1));
    neighbours_settle(&waiter, epoll, waiter.place, 2);
    CHECK(!neighbours_ring(&other, 1, 42) && neighbours_ring(&other, 2, 42));
    neighbours_settle(&waiter, epoll, waiter.place, 0);
    CHECK(!neighbours_ring(&other, 2, 42) && !is_woken());
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
    CHECK(is_settled(3) && neighbours_ring(&other, 3, 42));
    CHECK(no_descriptor_is_left(&before));
    neighbours_hear(&waiter, &hints);
    bool quiet = !is_woken(), told = hint_queue_take(&hints, &hint);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(quiet && told && hint.all);
    CHECK(!neighbours_ring(&other, 3, 42)); /* so the server is asked to */
    leave();
}

int main(void)
{
    return TAP_RUN(TAP(a_ring_wakes_who_waits_and_says_what_to_look_at),
                   TAP(who_is_another_session_now_hears_no_ring_of_before),
                   TAP(who_has_no_descriptor_for_a_ring_looks_and_takes_its_doorbell_down));
}
