#include "supervisor/orders.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "supervisor/supervisor.h"

enum { FDS_MAX = 4 }; /* lifeline; parent, fd and kill of the group */

/* More than nearly all arguments and environments have.  What is not written to costs nothing; but
 * from 2 MiB on the kernel lays it out so that the first page is dear. */
#define ORDERS_BYTES ((size_t)256 << 10)

static size_t aligned(size_t n)
{
    return (n + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

/* Of a list of texts that ends with NULL: its addresses, and then the texts. */
static size_t list_size(char *const *list, size_t *ret_addresses)
{
    size_t count = 1, bytes = 0;
    for (; *list; list++, count++)
        bytes += strlen(*list) + 1;
    *ret_addresses = count * sizeof *list;
    return aligned(*ret_addresses + bytes);
}

size_t orders_size(const struct supervisor_options *opt)
{
    size_t n, size = aligned(sizeof(struct orders));
    if (opt)
        size += list_size(opt->argv, &n) + list_size(opt->envp, &n);
    if (opt && opt->last_words)
        size += list_size(opt->last_words, &n);
    return size > ORDERS_BYTES ? size : ORDERS_BYTES;
}

struct orders *orders_new(size_t size)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    struct orders *o = at;
    o->used = aligned(sizeof *o);
    o->size = size;
    return o;
}

void orders_free(struct orders *o)
{
    if (o)
        munmap(o, o->size);
}

static char *const *copy_list(struct orders *o, char *const *list)
{
    size_t addresses, size = list_size(list, &addresses);
    assert(size <= o->size - o->used);
    char **copy = (char **)(void *)((char *)o + o->used), **at = copy;
    char *text = (char *)copy + addresses;
    o->used += size;
    for (; *list; list++) {
        *at++ = text;
        text = stpcpy(text, *list) + 1;
    }
    *at = NULL;
    return copy;
}

void orders_write(struct orders *o, const struct supervisor_options *opt)
{
    o->spawn = (struct spawn){.argv = copy_list(o, opt->argv), .envp = copy_list(o, opt->envp),
                              .signals = &o->signals, .aside = opt->aside};
    o->last_words = opt->last_words ? copy_list(o, opt->last_words) : NULL;
    if (opt->signals)
        o->signals = *opt->signals;
    else
        signals_look(&o->signals);
    o->stop_signal = opt->stop_signal ? opt->stop_signal : SIGTERM;
    o->leftover_grace = opt->leftover_grace;
    o->margin = opt->margin;
    atomic_init(&o->leash.stop_at, opt->stop_at.ms);
    atomic_init(&o->leash.kill_at, opt->kill_at.ms);
    atomic_init(&o->leash.end_at, INT64_MAX);
}

/* ---- the datagram -------------------------------------------------------------------------- */

struct datagram {
    char word[1];
    struct iovec iov;
    alignas(struct cmsghdr) char control[CMSG_SPACE(FDS_MAX * sizeof(int))];
    struct msghdr head;
};

static void datagram_make(struct datagram *d)
{
    memset(d, 0, sizeof *d);
    d->iov = (struct iovec){d->word, sizeof d->word};
    d->head = (struct msghdr){.msg_iov = &d->iov, .msg_iovlen = 1};
}

static void datagram_lend(struct datagram *d, const int *fd, size_t count)
{
    d->head.msg_control = d->control;
    d->head.msg_controllen = CMSG_SPACE(count * sizeof *fd);
    struct cmsghdr *c = CMSG_FIRSTHDR(&d->head);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof *fd);
    memcpy(CMSG_DATA(c), fd, count * sizeof *fd);
}

/* How many came. */
static size_t datagram_take(struct datagram *d, int fd[FDS_MAX])
{
    const struct cmsghdr *c = CMSG_FIRSTHDR(&d->head);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t bytes = c->cmsg_len - CMSG_LEN(0);
    memcpy(fd, CMSG_DATA(c), bytes);
    return bytes / sizeof *fd;
}

int orders_send(struct orders *o, int socket, int lifeline, const struct cgroup *group)
{
    struct datagram d;
    int fd[FDS_MAX];
    size_t n = 0;
    ssize_t sent;
    o->has_lifeline = lifeline >= 0;
    o->has_group = cgroup_exists(group);
    if (o->has_lifeline)
        fd[n++] = lifeline;
    if (o->has_group) {
        fd[n++] = group->parent;
        fd[n++] = group->fd;
        fd[n++] = group->kill;
        memcpy(o->group, group->name, sizeof o->group);
    }
    datagram_make(&d);
    if (n > 0)
        datagram_lend(&d, fd, n);
    do
        sent = sendmsg(socket, &d.head, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

int orders_await(const struct orders *o, int socket, int *ret_lifeline, struct cgroup *ret_group)
{
    struct datagram d;
    int fd[FDS_MAX];
    size_t n = 0;
    ssize_t came;
    datagram_make(&d);
    d.head.msg_control = d.control;
    d.head.msg_controllen = sizeof d.control;
    do
        came = recvmsg(socket, &d.head, MSG_CMSG_CLOEXEC);
    while (came < 0 && errno == EINTR);
    if (came <= 0)
        return -EPIPE;
    if (datagram_take(&d, fd) != o->has_lifeline + (o->has_group ? 3U : 0U))
        return -EMFILE;
    *ret_lifeline = o->has_lifeline ? fd[n++] : -1;
    *ret_group = CGROUP_NONE;
    if (o->has_group) {
        *ret_group = (struct cgroup){.parent = fd[n], .fd = fd[n + 1], .kill = fd[n + 2]};
        memcpy(ret_group->name, o->group, sizeof ret_group->name);
    }
    return 0;
}
