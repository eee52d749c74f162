/* sim/net.h - the network between hosts and the store: it loses, delays, repeats, overtakes. */
#ifndef SIM_NET_H
#define SIM_NET_H

#include "sim/host.h"

enum net_way { NET_UP, NET_DOWN }; /* to the store, from it */

/* Sends: fn(arg, n) is called on arrival, never, later than something sent after it, or twice. */
void net_send(const struct host *host, enum net_way way, event_fn *fn, void *arg, uint64_t n);

#endif
