#include "store/neighbours.h"

#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "os/doorbell.h"

#define RINGS_AT_ONCE 256

static void name_of(uint64_t place, uint64_t session, char ret[DOORBELL_NAME_MAX])
{
    snprintf(ret, DOORBELL_NAME_MAX, "tenure/%016llx/%llu", (unsigned long long)place,
             (unsigned long long)session);
}

void neighbours_init(struct neighbours *n)
{
    *n = (struct neighbours){.fd = -1};
}

static void take_down(struct neighbours *n)
{
    if (n->fd >= 0)
        close(n->fd);
    n->fd = -1;
}

void neighbours_close(struct neighbours *n)
{
    take_down(n);
    n->session = 0;
}

void neighbours_settle(struct neighbours *n, int epoll, uint64_t place, uint64_t session)
{
    char name[DOORBELL_NAME_MAX];
    if (n->off || (n->place == place && n->session == session))
        return;
    neighbours_close(n);
    n->place = place;
    n->session = session;
    if (session == 0)
        return;
    name_of(place, session, name);
    n->fd = doorbell_hang(name);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = n->fd};
    if (n->fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, n->fd, &e) != 0)
        take_down(n);
}

void neighbours_hear(struct neighbours *n, struct hint_queue *hints)
{
    uint64_t key_hash = 0;
    int code = n->fd >= 0;
    for (int i = 0; i < RINGS_AT_ONCE && code > 0; i++) {
        code = doorbell_hear(n->fd, &key_hash);
        if (code > 0 && key_hash != 0)
            hint_queue_add(hints, key_hash);
        else if (code != 0)
            hints->all = true;
    }
    if (code < 0)
        take_down(n);
}

bool neighbours_ring(const struct neighbours *n, uint64_t session, uint64_t key_hash)
{
    char name[DOORBELL_NAME_MAX];
    if (n->off || n->place == 0)
        return false;
    name_of(n->place, session, name);
    return doorbell_ring(name, key_hash);
}
