/* lib/lease.c - leases: ownership that is shown by its token and outlives the process. */
#include <sys/random.h>

#include "lib/handle.h"
#include "wire/duration.h"

static int ttl_accept(int64_t ttl_ms, tenure_error *err)
{
    char text[DURATION_BYTES];
    if (ttl_ms >= TIMING_TTL_FLOOR_MS && ttl_ms <= TIMING_LEASE_CEILING_MS)
        return 0;
    return error_set(err, TENURE_INVALID, "a lease of %s: it is %dms to 366d",
                     duration_format(SPAN(ttl_ms), text), TIMING_TTL_FLOOR_MS);
}

static int owner_accept(const char *owner, tenure_error *err)
{
    if (owner && !*owner)
        return error_set(err, TENURE_INVALID, "the owner is empty");
    return text_accept("owner", owner, CLAIM_AS_BYTES_MAX, err);
}

/* Enters, decides, and leaves. */
static int decide(tenure *t, const char *name, struct decision *d, tenure_error *err)
{
    if (!handle_enter(t))
        return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    int code = handle_decide(t, name, d, err);
    handle_leave(t);
    return code;
}

static int take_answer(const char *name, const struct decision *d, int verdict,
                       tenure_token *ret, tenure_error *err)
{
    switch (verdict) {
    case VERDICT_HELD:
        *ret = d->standing.token;
        return 0;
    case VERDICT_REFUSED:
        return error_set(err, TENURE_HELD, "%s is held by %s (token %llu)", name, d->as,
                         (unsigned long long)d->standing.token);
    default:
        return error_set(err, TENURE_CONFLICT, "%s is in use as a lock or an election, not as a "
                                               "lease", name);
    }
}

EXPORT int tenure_lease_take(tenure *t, const char *name, const char *owner, int64_t ttl_ms,
                             tenure_token *ret, tenure_error *err)
{
    struct decision d = {.rule = DECIDE_LEASE_TAKE};
    int code = name_accept(name, err);
    if (code == 0)
        code = ttl_accept(ttl_ms, err);
    if (code == 0)
        code = owner_accept(owner, err);
    if (code < 0)
        return code;
    d.ask = (struct ask){
        .kind = TENURE_LEASE,
        .permits = 1,
        .ttl = SPAN(ttl_ms),
        .as = text_of(owner ? owner : t->as),
    };
    if (getrandom(&d.ask.id.serial, sizeof d.ask.id.serial, 0) != sizeof d.ask.id.serial)
        return error_set(err, TENURE_INTERNAL, "the kernel gave no random bytes");
    code = decide(t, name, &d, err);
    if (code == TENURE_UNSURE) /* the same ticket again tells whether it was taken */
        code = decide(t, name, &d, err);
    return code < 0 ? code : take_answer(name, &d, code, ret, err);
}

static int by_token(tenure *t, const char *name, struct decision *d, tenure_error *err)
{
    int code = name_accept(name, err);
    if (code < 0)
        return code;
    code = decide(t, name, d, err);
    if (code == VERDICT_GONE)
        return error_set(err, TENURE_NOT_OWNED, "no lease on %s stands under token %llu", name,
                         (unsigned long long)d->token);
    return code < 0 ? code : 0;
}

EXPORT int tenure_lease_renew(tenure *t, const char *name, tenure_token token, int64_t ttl_ms,
                              tenure_error *err)
{
    struct decision d = {.rule = DECIDE_LEASE_RENEW, .token = token, .ttl = SPAN(ttl_ms)};
    int code = ttl_accept(ttl_ms, err);
    return code < 0 ? code : by_token(t, name, &d, err);
}

EXPORT int tenure_lease_drop(tenure *t, const char *name, tenure_token token, tenure_error *err)
{
    struct decision d = {.rule = DECIDE_LEASE_DROP, .token = token};
    return by_token(t, name, &d, err);
}
