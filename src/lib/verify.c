/* lib/verify.c - permits, where they are shown: read, judged, remembered.  No store is asked. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/permit.h"
#include "lib/given.h"
#include "lib/handle.h"
#include "lib/permit_key.h"
#include "os/clock.h"
#include "os/sheet.h"
#include "wire/duration.h"
#include "wire/mark.h"
#include "wire/permit.h"

_Static_assert(PERMIT_SIGNATURE_BYTES == SIGNATURE_BYTES, "one kind of signature");

EXPORT int tenure_permit_read(const tenure_permit_keys *keys, const char *text, size_t len,
                              tenure_permit *ret)
{
    unsigned char signature[PERMIT_SIGNATURE_BYTES];
    struct text body;
    tenure_permit p;
    if (!permit_decode((struct text){text, len}, &p, &body, signature))
        return TENURE_PERMIT_MALFORMED;
    *ret = p;
    int verdict = TENURE_PERMIT_UNKNOWN_KEY;
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->key[i].id != p.key)
            continue;
        int good = verifier_verify(keys->key[i].verifier, body.at, body.len, signature);
        if (good < 0)
            return good;
        if (good > 0)
            return TENURE_PERMIT_ADMIT;
        verdict = TENURE_PERMIT_ALTERED;
    }
    return verdict;
}

EXPORT void tenure_permit_clock(int64_t *ret_now_ms, int64_t *ret_error_ms)
{
    *ret_now_ms = clock_wall_bound(ret_error_ms);
}

/* ---- why not -------------------------------------------------------------------------------- */

/* What it is a permit for, and what was to be done. */
static void explain_scope(const tenure_permit *p, const tenure_permit_demand *d, int verdict,
                          tenure_error *err)
{
    bool role = verdict == TENURE_PERMIT_WRONG_ROLE;
    bool resource = verdict == TENURE_PERMIT_WRONG_RESOURCE;
    error_set(err, 0, "%s: the permit is %s %s, not %s", tenure_permit_verdict_text(
                  (tenure_permit_verdict)verdict),
              role ? "of who holds" : resource ? "for the resource" : "for the operation",
              role ? p->role : resource ? p->resource : p->operation,
              role ? d->role : resource ? d->resource : d->operation);
}

static void explain_time(const tenure_permit *p, const tenure_permit_demand *d, int verdict,
                         tenure_error *err)
{
    char by[DURATION_BYTES], ours[DURATION_BYTES], its[DURATION_BYTES];
    bool early = verdict == TENURE_PERMIT_EARLY;
    int64_t off = early ? p->issued_ms - d->now_ms : d->now_ms - p->not_after_ms;
    duration_format(SPAN(off < 0 ? -off : off), by);
    duration_format(SPAN(d->clock_error_ms), ours);
    duration_format(SPAN(p->clock_error_ms), its);
    if (early)
        error_set(err, 0, "early: the permit was issued %s from now, and our clock is off by at "
                          "most %s, its issuer's by %s: one of them is not so", by, ours, its);
    else if (off >= 0)
        error_set(err, 0, "expired: the permit was good until %s ago", by);
    else
        error_set(err, 0, "expired: the permit is good for %s more, but our clock may be off by "
                          "%s, and its issuer's by %s", by, ours, its);
}

static void explain(int verdict, const tenure_permit *p, const tenure_permit_demand *d,
                    uint64_t epoch, tenure_error *err)
{
    switch (verdict) {
    case TENURE_PERMIT_MALFORMED:
        error_set(err, 0, "malformed: it is no permit of a kind that we know");
        break;
    case TENURE_PERMIT_UNKNOWN_KEY:
        error_set(err, 0, "unknown key: the permit was signed by %016" PRIx64 ", which is not "
                          "trusted here, or not yet", p->key);
        break;
    case TENURE_PERMIT_ALTERED:
        error_set(err, 0, "altered: the signature is not of this text by key %016" PRIx64, p->key);
        break;
    case TENURE_PERMIT_STALE:
        error_set(err, 0, "stale: the permit is of epoch %" PRIu64 " of %s, and %" PRIu64 " was "
                          "seen here: its holder has been replaced", p->epoch, p->role, epoch);
        break;
    case TENURE_PERMIT_UNKNOWN_CLOCK:
        error_set(err, 0, "unknown clock: the kernel cannot say how far it may be off, and nobody "
                          "else does (--clock-error)");
        break;
    case TENURE_PERMIT_EARLY:
    case TENURE_PERMIT_EXPIRED:
        explain_time(p, d, verdict, err);
        break;
    case TENURE_PERMIT_REPLAYED:
        error_set(err, 0, "replayed: permit %" PRIu64 " was shown before", p->serial);
        break;
    default:
        explain_scope(p, d, verdict, err);
    }
}

/* ---- with a file of marks ------------------------------------------------------------------- */

static int demand_accept(const tenure_permit_demand *d, tenure_error *err)
{
    if (d->now_ms < 0)
        return error_set(err, TENURE_INVALID, "now is %" PRId64 " ms: it is counted from 1970",
                         d->now_ms);
    int code = name_accept(d->role, err);
    if (code == 0)
        code = name_accept(d->resource, err);
    return code < 0 ? code : name_accept(d->operation, err);
}

/* Judges by the mark in the sheet, and puts the new one there before anybody acts. */
static int judge_by(const struct sheet *s, const tenure_permit *p, const tenure_permit_demand *d,
                    uint64_t *ret_epoch, tenure_error *err)
{
    const struct text file = {s->bytes, s->len};
    struct text line;
    tenure_permit_mark before, mark;
    char fresh[MARK_LINE_BYTES];
    if (!mark_find(file, text_of(p->role), text_of(p->resource), &line, &before))
        return error_set(err, TENURE_CORRUPT, "%s cannot be read as what was seen of permits: "
                                              "nothing is admitted until it is put right",
                         s->path);
    mark = before;
    tenure_permit_verdict verdict = tenure_permit_judge(p, d, &mark);
    *ret_epoch = mark.epoch;
    if (memcmp(&mark, &before, sizeof mark) == 0)
        return (int)verdict;
    size_t len = mark_format(text_of(p->role), text_of(p->resource), &mark, fresh);
    size_t front = (size_t)(line.at - file.at), back = front + line.len;
    const struct text piece[] = {
        s->len == 0 ? mark_head : (struct text){file.at, front},
        {fresh, len},
        {file.at + back, file.len - back},
    };
    int code = sheet_replace(s, piece, 3, err);
    return code < 0 ? code : (int)verdict;
}

static int judge_in_file(const char *state, const tenure_permit *p, const tenure_permit_demand *d,
                         uint64_t *ret_epoch, tenure_error *err)
{
    struct sheet s;
    tenure_permit_demand now = *d;
    int64_t known_ms;
    int code = sheet_open(state, &s, err);
    if (code < 0)
        return code;
    if (d->now_ms == 0) /* after the wait for the lock */
        tenure_permit_clock(&now.now_ms, &known_ms);
    if (d->now_ms == 0 && d->clock_error_ms == TENURE_PERMIT_CLOCK_UNKNOWN)
        now.clock_error_ms = known_ms;
    code = judge_by(&s, p, &now, ret_epoch, err);
    sheet_close(&s);
    if (code > TENURE_PERMIT_ADMIT)
        explain(code, p, &now, *ret_epoch, err);
    return code;
}

EXPORT int tenure_permit_verify(const tenure_permit_keys *keys, const char *state,
                                const char *text, size_t len, const tenure_permit_demand *given,
                                tenure_permit *ret, tenure_error *err)
{
    tenure_permit p;
    tenure_permit_demand demand = TENURE_PERMIT_DEMAND_INIT;
    uint64_t epoch = 0;
    int code = given_take(&demand, sizeof demand, GIVEN_LEAST(tenure_permit_demand, retries), given,
                          "TENURE_PERMIT_DEMAND_INIT", err);
    if (code == 0)
        code = demand_accept(&demand, err);
    if (code < 0)
        return code;
    if (len > 0 && text[len - 1] == '\n')
        len--;
    code = tenure_permit_read(keys, text, len, &p);
    if (code < 0)
        return error_set(err, code, "the permit cannot be verified: %s",
                         tenure_error_sentence(code));
    if (code != TENURE_PERMIT_ADMIT) {
        explain(code, &p, &demand, 0, err);
        return code;
    }
    if (ret)
        *ret = p;
    return judge_in_file(state, &p, &demand, &epoch, err);
}
