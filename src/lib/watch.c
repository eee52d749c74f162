/* lib/watch.c - whose end the claims of a handle that wait want to hear of. */
#include <string.h>

#include "lib/handle.h"

/* More than an engine has descriptors for: the safety net does the rest. */
#define SESSIONS_MAX 256

static void add(uint64_t session[SESSIONS_MAX], uint32_t *count, uint64_t id)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (session[i] == id)
            return;
    }
    if (*count < SESSIONS_MAX)
        session[(*count)++] = id;
}

/* A store knows one set for each name, so what claim c watches is told together with what others of
 * the handle watch who wait for the name: else one of them would not hear of the death of who is in
 * front of it, and nobody else would ever tell it (P7). */
static void tell(const tenure_claim *c)
{
    struct store *store = c->handle->store;
    uint64_t session[SESSIONS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->watch_count; i++)
        add(session, &count, c->watch[i]);
    for (const tenure_claim *o = c->handle->claims; o; o = o->next) {
        bool waits = o->watch_count > 0 && o->phase == PHASE_WAITING;
        if (!waits || o->key_hash != c->key_hash || strcmp(o->name, c->name) != 0)
            continue;
        for (uint32_t i = 0; i < o->watch_count; i++)
            add(session, &count, o->watch[i]);
    }
    store->ops->watch_sessions(store, c->name, session, count);
}

void watch_begin(tenure_claim *c, const uint64_t *session, uint32_t count)
{
    memcpy(c->watch, session, count * sizeof *session);
    c->watch_count = count;
    c->watches = true;
    tell(c);
}

void watch_hinted(tenure_claim *c)
{
    c->watch_count = 0;
}

void watch_end(tenure_claim *c)
{
    if (!c->watches)
        return;
    c->watches = false;
    c->watch_count = 0;
    tell(c);
}
