#include <string.h>

#include "store/etcd_engine.h"

#define HOLD_MS 100

static bool answer(struct etcd_store *s)
{
    struct etcd_ping *p = &s->link.ping;
    p->held = false;
    p->answered = clock_now();
    return ng.nghttp2_submit_ping(s->link.http, NGHTTP2_FLAG_ACK, p->bytes) == 0;
}

struct instant etcd_ping_due(const struct etcd_store *s)
{
    const struct etcd_ping *p = &s->link.ping;
    return p->held ? instant_add(p->answered, SPAN(HOLD_MS)) : INSTANT_NEVER;
}

bool etcd_ping_take(struct etcd_store *s, const uint8_t bytes[ETCD_PING_BYTES])
{
    struct etcd_ping *p = &s->link.ping;
    if (p->held && !answer(s)) /* somebody who does not wait for it */
        return false;
    memcpy(p->bytes, bytes, ETCD_PING_BYTES);
    p->held = true;
    return !instant_reached(clock_now(), etcd_ping_due(s)) || answer(s);
}

void etcd_ping_step(struct etcd_store *s)
{
    if (instant_reached(clock_now(), etcd_ping_due(s)) && !answer(s))
        etcd_link_drop(s, TENURE_NO_MEMORY, "out of memory");
}
