/* store/etcd_ping.h - how the server's pings are answered: now and then.
 *
 * gRPC in Go pings with each request that it reads, to learn how much a connection carries, unless
 * one of its pings is still unanswered.  To answer each at once wakes the server once more for each
 * request; so one is held for a while after the last answer, and until then no other comes.  Who
 * pings to learn whether we live, or before it says goodbye, gives us seconds.
 *
 * What must never happen: a ping that is not answered, or out of its turn. */
#ifndef STORE_ETCD_PING_H
#define STORE_ETCD_PING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/time.h"

struct etcd_store;

#define ETCD_PING_BYTES 8

struct etcd_ping {
    bool held;
    uint8_t bytes[ETCD_PING_BYTES]; /* of the one that is */
    struct instant answered;        /* when the last one was */
};

/* The server pings: it is answered, at once or in etcd_ping_step().  False without memory. */
bool etcd_ping_take(struct etcd_store *s, const uint8_t bytes[ETCD_PING_BYTES]);
void etcd_ping_step(struct etcd_store *s);
struct instant etcd_ping_due(const struct etcd_store *s);

#endif
