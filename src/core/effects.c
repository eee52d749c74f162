#include "core/effects.h"

void effects_clear(struct effects *fx)
{
    fx->changed = false;
    fx->ring_count = 0;
    fx->next = fx->notice = 0;
}

bool effects_rings(const struct effects *fx, uint64_t session)
{
    for (uint32_t i = 0; i < fx->ring_count; i++) {
        if (fx->ring[i] == session)
            return true;
    }
    return false;
}

void effects_ring(struct effects *fx, uint64_t session)
{
    if (session != 0 && fx->ring_count < CLAIM_TICKETS_MAX && !effects_rings(fx, session))
        fx->ring[fx->ring_count++] = session;
}

void effects_unring(struct effects *fx, uint64_t session)
{
    for (uint32_t i = 0; i < fx->ring_count; i++) {
        if (fx->ring[i] == session)
            fx->ring[i] = fx->ring[--fx->ring_count];
    }
}
