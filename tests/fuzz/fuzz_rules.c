/* Whatever record decodes, no rule breaks it, and what a rule leaves behind can be written. */
#include <stdlib.h>

#include "core/rules.h"
#include "wire/record.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static enum liveness liveness(void *oracle, uint64_t session, struct instant *ret_until)
{
    (void)oracle;
    *ret_until = INSTANT(1000);
    return session % 3 == 0 ? LIVE_GONE : session % 3 == 1 ? LIVE : LIVE_EXPIRED;
}

static void sound(const struct claim *c)
{
    static unsigned char buf[1 << 20];
    static struct claim again;
    if (!claim_check(c))
        abort();
    size_t len = record_encode(c, buf, sizeof buf);
    if (len == 0 || record_decode(buf, len, &again) != RECORD_FINE)
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static struct claim c;
    static struct effects fx;
    struct standing standing;
    struct facts f = {.now = INSTANT(500), .liveness = liveness};
    struct ask ask = {.id = {4, 1}, .kind = TENURE_ELECTION, .permits = 1, .ttl = SPAN(1000),
                      .as = text_of("fuzz")};
    if (record_decode(data, size, &c) != RECORD_FINE || c.last_token > INT64_MAX - 4096)
        return 0;
    rules_ask(&c, &f, &ask, &fx, &standing);
    sound(&c);
    if (c.ticket_count > 0)
        rules_end(&c, &f, c.ticket[0].token, CAUSE_EVICTED, ask.as, ask.as, &fx);
    sound(&c);
    rules_transfer(&c, &f, text_of("fuzz"), ask.as, &fx, &standing);
    sound(&c);
    rules_look(&c, &f, ask.id, 0, &fx, &standing);
    rules_leave(&c, &f, ask.id, &fx);
    sound(&c);
    rules_sweep(&c, &f, &fx);
    sound(&c);
    return 0;
}
