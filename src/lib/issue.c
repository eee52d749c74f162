/* lib/issue.c - permits: granted in the store and signed, taken off the record, looked at. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <tenure/issue.h>

#include "lib/given.h"
#include "lib/handle.h"
#include "lib/holder.h"
#include "lib/permit_key.h"
#include "os/clock.h"
#include "wire/docket.h"
#include "wire/duration.h"
#include "wire/permit.h"

#define KEY_BYTES (NAME_BYTES_MAX + 1)
#define PARTS_MARK '#' /* between resource and operation; no name has one */

/* ---- what may be asked ---------------------------------------------------------------------- */

static int word_accept(const char *what, const char *word, size_t max, tenure_error *err)
{
    int code = name_accept(word, err);
    if (code == 0 && strlen(word) > max)
        code = error_set(err, TENURE_INVALID, "the %s has %zu bytes: it is at most %zu", what,
                         strlen(word), max);
    return code;
}

/* The key in the store. */
static int key_accept(const char *resource, const char *operation, char ret[KEY_BYTES],
                      tenure_error *err)
{
    int code = word_accept("resource", resource, TENURE_PERMIT_RESOURCE_MAX, err);
    if (code == 0)
        code = word_accept("operation", operation, TENURE_PERMIT_OPERATION_MAX, err);
    if (code == 0)
        snprintf(ret, KEY_BYTES, PERMIT_MARK "%s%c%s", resource, PARTS_MARK, operation);
    return code;
}

static int terms_accept(const tenure_permit_terms *terms, tenure_error *err)
{
    int code = name_accept(terms->role, err);
    if (code < 0)
        return code;
    if (terms->epoch == 0)
        return error_set(err, TENURE_INVALID, "epoch 0 of %s: a token is 1 or more", terms->role);
    if (terms->valid_ms < 0 || terms->valid_ms > TENURE_PERMIT_VALID_MAX_MS)
        return error_set(err, TENURE_INVALID, "a permit for %" PRId64 " ms: it is good for at most "
                                              "%d", terms->valid_ms, TENURE_PERMIT_VALID_MAX_MS);
    return text_accept("name of who asks", terms->by, CLAIM_AS_BYTES_MAX, err);
}

/* Dates a permit: the time, by how much it may be off, and how long a permit must be good so that
 * clocks which are both off by that much leave some of it. */
static int date(const tenure_permit_terms *terms, struct docket_terms *ret, int64_t *ret_error_ms,
                tenure_error *err)
{
    char given[DURATION_BYTES], least[DURATION_BYTES], error[DURATION_BYTES];
    int64_t error_ms;
    ret->wall_ms = clock_wall_bound(&error_ms);
    if (terms->clock_error_ms != TENURE_PERMIT_CLOCK_UNKNOWN)
        error_ms = terms->clock_error_ms;
    if (error_ms == TENURE_PERMIT_CLOCK_UNKNOWN)
        return error_set(err, TENURE_DENIED, "unknown clock: the kernel cannot say how far it may "
                                             "be off, and nobody else does (--clock-error)");
    if (error_ms < 0 || error_ms > TENURE_PERMIT_CLOCK_ERROR_MAX_MS)
        return error_set(err, TENURE_INVALID, "a clock that may be off by %" PRId64 " ms: at most "
                                              "%d", error_ms, TENURE_PERMIT_CLOCK_ERROR_MAX_MS);
    *ret_error_ms = error_ms;
    ret->valid = SPAN(terms->valid_ms);
    ret->least = SPAN(2 * error_ms + 1);
    if (terms->valid_ms == 0 || terms->valid_ms >= ret->least.ms)
        return 0;
    return error_set(err, TENURE_INVALID, "a permit for %s: with clocks that may be off by %s each "
                                          "it is good for at least %s, or nobody could use it",
                     duration_format(ret->valid, given), duration_format(SPAN(error_ms), error),
                     duration_format(ret->least, least));
}

/* ---- a change in the store ------------------------------------------------------------------ */

struct work {
    /* inputs */
    struct claim *scratch;
    const struct docket_terms *terms; /* NULL: a permit is taken off the record */
    uint64_t serial;
    struct text by;
    /* outputs */
    enum record_flaw flaw;
    bool flaw_in_name;
    struct holder holder;
    uint64_t granted, epoch; /* or of the grant in the way: */
    int64_t issued_ms, not_after_ms, left_ms;
    char role[NAME_BYTES_MAX + 1];
};

/* Notes the grant that was made, or that is in the way. */
static void note(struct work *w, const struct grant *g, const struct facts *f)
{
    w->granted = g->serial;
    w->epoch = g->epoch;
    w->issued_ms = g->issued_ms;
    w->not_after_ms = g->not_after_ms;
    w->left_ms = instant_diff(f->now, g->until).ms;
    snprintf(w->role, sizeof w->role, "%.*s", (int)g->role.len, g->role.at);
}

static enum docket_verdict decide(struct work *w, struct docket *d, struct store_view *view,
                                  bool *ret_new)
{
    uint32_t at = 0;
    struct facts f = store_facts_of(view, 0);
    if (!w->terms)
        return docket_revoke(d, &f, w->serial, w->by, ret_new);
    const struct facts of_role = store_facts_of(view, 1);
    enum docket_verdict verdict = docket_grant(d, w->scratch, &of_role, &f, w->terms, &at, ret_new);
    view->facts.token_floor = f.token_floor;
    if (verdict == DOCKET_GRANTED || verdict == DOCKET_TAKEN)
        note(w, &d->grant[at], &f);
    return verdict;
}

static int work_apply(void *arg, struct store_view *view)
{
    struct work *w = arg;
    struct docket d;
    bool changed;
    w->flaw = docket_decode(view->in[0].bytes, view->in[0].len, &d);
    w->flaw_in_name = false;
    if (w->flaw == RECORD_FINE && w->terms) {
        w->flaw = holder_find(&view->in[1], w->scratch, &w->holder);
        w->flaw_in_name = w->flaw != RECORD_FINE;
    }
    if (w->flaw != RECORD_FINE)
        return w->flaw == RECORD_FOREIGN ? TENURE_FOREIGN : TENURE_CORRUPT;
    enum docket_verdict verdict = decide(w, &d, view, &changed);
    if (!changed)
        return (int)verdict;
    view->fx->changed = true;
    view->out[0].len = docket_encode(&d, view->out[0].bytes, STORE_RECORD_MAX);
    if (view->out[0].len == 0)
        return TENURE_INTERNAL;
    view->out[0].what = STORE_PUT;
    return (int)verdict;
}

static int work_once(tenure *t, const char *key, const char *role, struct work *w,
                     tenure_error *err)
{
    struct store_update op = {
        .count = role ? 2 : 1, .key = {key, role}, .decide = work_apply, .arg = w};
    return handle_update(t, &op, err);
}

/* A reply that was lost is asked for once more: the ticket, or the serial, tells.  When that is not
 * answered either, whatever it fails with, it stays unsure. */
static int work_run(tenure *t, const char *key, const char *role, struct work *w,
                    tenure_error *err)
{
    if (!handle_enter(t))
        return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    w->scratch = &t->scratch;
    int code = work_once(t, key, role, w, err);
    if (code == TENURE_UNSURE) {
        int again = work_once(t, key, role, w, NULL);
        code = again < 0 ? TENURE_UNSURE : again;
    }
    handle_leave(t);
    if ((code == TENURE_CORRUPT || code == TENURE_FOREIGN) && w->flaw != RECORD_FINE)
        return error_set(err, code, "the record of %s cannot be used: %s",
                         w->flaw_in_name ? role : key, record_flaw_text(w->flaw));
    return code;
}

/* ---- issuing -------------------------------------------------------------------------------- */

static int explain(const struct work *w, int verdict, const tenure_permit_terms *terms,
                   tenure_error *err)
{
    char left[DURATION_BYTES];
    switch (verdict) {
    case DOCKET_NOT_HELD:
        return holder_explain(&w->holder, terms->role, terms->epoch, err);
    case DOCKET_NOT_ALONE:
        return error_set(err, TENURE_CONFLICT, "%s can be held by several at once: a higher token "
                                               "of it replaces nobody", terms->role);
    case DOCKET_TAKEN:
        return error_set(err, TENURE_HELD, "%s %s: permit %" PRIu64 " of epoch %" PRIu64 " of %s "
                                           "is good for %s more", terms->operation,
                         terms->resource, w->granted, w->epoch, w->role,
                         duration_format(SPAN(w->left_ms), left));
    case DOCKET_CROWDED:
        return error_set(err, TENURE_CROWDED, "%s %s: %d shared permits are good at once",
                         terms->operation, terms->resource, DOCKET_GRANTS_MAX);
    case DOCKET_TOO_LATE:
        return error_set(err, TENURE_TIMED_OUT, "the tenure of %s may end before a permit could be "
                                                "used: it was not renewed for too long, or is too "
                                                "short for the clocks", terms->role);
    default:
        return 0;
    }
}

static int sign(const tenure_permit_key *key, const tenure_permit *p,
                char ret_text[TENURE_PERMIT_TEXT_BYTES], tenure_error *err)
{
    unsigned char signature[PERMIT_SIGNATURE_BYTES];
    char text[TENURE_PERMIT_TEXT_BYTES];
    size_t len = permit_encode(p, text);
    if (len == 0)
        return error_set(err, TENURE_INTERNAL, "a permit that cannot be written");
    int code = signer_sign(key->signer, text, len, signature, err);
    if (code < 0)
        return code;
    permit_append_signature(text, signature);
    memcpy(ret_text, text, sizeof text);
    return 0;
}

static int issue(tenure *t, const tenure_permit_key *key, const tenure_permit_terms *terms,
                 char ret_text[TENURE_PERMIT_TEXT_BYTES], tenure_permit *ret, tenure_error *err)
{
    char stored[KEY_BYTES];
    tenure_permit p = {.key = key->id, .epoch = terms->epoch};
    struct docket_terms asked = {.epoch = terms->epoch, .shared = terms->shared};
    struct work w = {.terms = &asked};
    int code = terms_accept(terms, err);
    if (code == 0)
        code = key_accept(terms->resource, terms->operation, stored, err);
    if (code == 0)
        code = date(terms, &asked, &p.clock_error_ms, err);
    if (code < 0)
        return code;
    if (getrandom(&asked.ticket, sizeof asked.ticket, 0) != sizeof asked.ticket)
        return error_set(err, TENURE_INTERNAL, "no randomness");
    asked.role = text_of(terms->role);
    asked.by = text_of(terms->by ? terms->by : t->as);
    code = work_run(t, stored, terms->role, &w, err);
    if (code >= 0)
        code = explain(&w, code, terms, err);
    if (code < 0)
        return code;
    snprintf(p.role, sizeof p.role, "%s", terms->role);
    snprintf(p.resource, sizeof p.resource, "%s", terms->resource);
    snprintf(p.operation, sizeof p.operation, "%s", terms->operation);
    p.serial = w.granted;
    p.issued_ms = w.issued_ms;
    p.not_after_ms = w.not_after_ms;
    code = sign(key, &p, ret_text, err);
    if (code == 0 && ret)
        *ret = p;
    return code;
}

EXPORT int tenure_permit_issue(tenure *t, const tenure_permit_key *key,
                               const tenure_permit_terms *given,
                               char ret_text[TENURE_PERMIT_TEXT_BYTES], tenure_permit *ret,
                               tenure_error *err)
{
    tenure_permit_terms terms = TENURE_PERMIT_TERMS_INIT;
    int code = given_take(&terms, sizeof terms, GIVEN_LEAST(tenure_permit_terms, by), given,
                          "TENURE_PERMIT_TERMS_INIT", err);
    return code < 0 ? code : issue(t, key, &terms, ret_text, ret, err);
}

EXPORT int tenure_permit_revoke(tenure *t, const char *resource, const char *operation,
                                uint64_t serial, const char *by, tenure_error *err)
{
    char stored[KEY_BYTES];
    struct work w = {.serial = serial, .by = text_of(by && *by ? by : t->as)};
    int code = key_accept(resource, operation, stored, err);
    if (code == 0)
        code = text_accept("name of who revokes", by, CLAIM_AS_BYTES_MAX, err);
    if (code == 0)
        code = work_run(t, stored, NULL, &w, err);
    if (code != DOCKET_NONE)
        return code < 0 ? code : 0;
    return error_set(err, TENURE_NOT_OWNED, "%s %s: no permit %" PRIu64 " is good", operation,
                     resource, serial);
}

/* ---- looking -------------------------------------------------------------------------------- */

struct looker {
    tenure_permit_fn *fn;
    void *arg;
    int code;
    tenure_error *err;
};

static bool show(struct looker *l, const char *resource, const char *operation,
                 const struct grant *g, struct instant now)
{
    char role[NAME_BYTES_MAX + 1], by[CLAIM_AS_BYTES_MAX + 1], revoked_by[CLAIM_AS_BYTES_MAX + 1];
    bool live = grant_is_live(g, now);
    const tenure_permit_info info = {
        .resource = resource,
        .operation = operation,
        .state = live                    ? TENURE_PERMIT_LIVE
                 : g->revoked_by.len > 0 ? TENURE_PERMIT_REVOKED
                                         : TENURE_PERMIT_OVER,
        .serial = g->serial,
        .role = text_string(g->role, role),
        .epoch = g->epoch,
        .by = text_string(g->by, by),
        .revoked_by = text_string(g->revoked_by, revoked_by),
        .shared = g->shared,
        .issued_ms = g->issued_ms,
        .not_after_ms = g->not_after_ms,
        .left_ms = live ? instant_diff(now, g->until).ms : 0,
    };
    return l->fn(l->arg, &info);
}

static bool look_at(void *arg, const struct store_record *record, struct facts *f)
{
    struct looker *l = arg;
    struct docket d;
    char resource[KEY_BYTES];
    const char *key = record->key + sizeof PERMIT_MARK - 1;
    const char *mark = strchr(key, PARTS_MARK);
    enum record_flaw flaw = docket_decode(record->bytes, record->len, &d);
    if (!mark)
        flaw = RECORD_INVALID;
    if (flaw != RECORD_FINE) {
        l->code = error_set(l->err, flaw == RECORD_FOREIGN ? TENURE_FOREIGN : TENURE_CORRUPT,
                            "the record of %s cannot be used: %s", key, record_flaw_text(flaw));
        return false;
    }
    text_string((struct text){key, (size_t)(mark - key)}, resource);
    bool more = true;
    for (uint32_t i = 0; i < d.count && more; i++)
        more = show(l, resource, mark + 1, &d.grant[i], f->now);
    return more;
}

EXPORT int tenure_permit_look(tenure *t, const char *prefix, tenure_permit_fn *fn, void *arg,
                              tenure_error *err)
{
    char stored[KEY_BYTES];
    struct looker l = {.fn = fn, .arg = arg, .err = err};
    int n = snprintf(stored, sizeof stored, PERMIT_MARK "%s", prefix ? prefix : "");
    if (n < 0 || n >= (int)sizeof stored)
        return error_set(err, TENURE_INVALID, "the prefix has %zu bytes: it is at most %d",
                         strlen(prefix), TENURE_PERMIT_RESOURCE_MAX);
    struct store_read op = {.prefix = stored, .fn = look_at, .arg = &l};
    if (!handle_enter(t))
        return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    int code = handle_read(t, &op, err);
    handle_leave(t);
    return l.code < 0 ? l.code : code;
}
