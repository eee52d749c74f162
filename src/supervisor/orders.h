/* supervisor/orders.h - what the guardian is to do, in memory that it shares with the supervisor.
 *
 * The guardian is born before anybody knows: while the store is still closed there is little to
 * copy, and once the tenure is granted the command has only to be named.  So the orders are
 * written once, between the fork and the datagram that tells the guardian to read them, and never
 * after; what changes is the leash.  Both see the memory at the same address, so what was copied
 * into it can be pointed at.
 */
#ifndef SUPERVISOR_ORDERS_H
#define SUPERVISOR_ORDERS_H

#include "os/spawn.h"
#include "supervisor/leash.h"

#include <stddef.h>

struct supervisor_options;

struct orders {
    struct leash leash;
    struct spawn spawn; /* but for its cgroup */
    struct signals_origin signals;
    char *const *last_words; /* see supervisor_options; NULL: none */
    int stop_signal;
    struct span leftover_grace;
    struct span margin; /* from kill_at to the deadline; 0: unknown */

    /* Which descriptors come with the datagram. */
    bool has_lifeline;
    bool has_group;
    char group[48]; /* its name */

    size_t used, size; /* of the memory */
};

/* What orders for this take; for NULL, what most do. */
size_t orders_size(const struct supervisor_options *opt);

/* Before the fork.  NULL, with errno. */
struct orders *orders_new(size_t size);
void orders_free(struct orders *o);

/* There is room for it, see above. */
void orders_write(struct orders *o, const struct supervisor_options *opt);

/* Has the guardian at the other end of the socket read them, and lends it the descriptors: the
 * lifeline, unless it is -1, and those of the group, where there is one.  0 or -errno: -EPIPE or
 * -ECONNRESET when there is no guardian any more. */
int orders_send(struct orders *o, int socket, int lifeline, const struct cgroup *group);

/* Waits for that, without a limit.  0, and *ret_lifeline (-1: none) and *ret_group are ours;
 * -EPIPE when the supervisor has ended; -EMFILE when the descriptors did not fit among ours. */
int orders_await(const struct orders *o, int socket, int *ret_lifeline, struct cgroup *ret_group);

#endif
