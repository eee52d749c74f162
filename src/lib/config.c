/* lib/config.c - entries of the configuration: changed on demands, looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenure/config.h>

#include "lib/given.h"
#include "lib/handle.h"
#include "lib/holder.h"
#include "os/clock.h"
#include "wire/entry.h"

_Static_assert(TENURE_CONFIG_VALUE_MAX == ENTRY_VALUE_BYTES_MAX, "one limit");
_Static_assert(ENTRY_BYTES_MAX <= STORE_RECORD_MAX, "the largest entry is a record");

#define KEY_BYTES (NAME_BYTES_MAX + 1)

/* The key in the store: the mark, which no name can begin with, and the key. */
static int key_accept(const char *key, char ret[KEY_BYTES], tenure_error *err)
{
    int code = name_accept(key, err);
    if (code == 0 && strlen(key) + sizeof CONFIG_MARK > KEY_BYTES)
        code = error_set(err, TENURE_INVALID, "the key has %zu bytes: it is at most %zu",
                         strlen(key), KEY_BYTES - sizeof CONFIG_MARK);
    if (code == 0)
        snprintf(ret, KEY_BYTES, CONFIG_MARK "%s", key);
    return code;
}

static int terms_accept(const tenure_config_terms *terms, tenure_error *err)
{
    int code = terms->name ? name_accept(terms->name, err) : 0;
    if (code < 0)
        return code;
    if (terms->name && terms->epoch == 0)
        return error_set(err, TENURE_INVALID, "epoch 0 of %s: a token is 1 or more", terms->name);
    if (!terms->name && terms->epoch != 0)
        return error_set(err, TENURE_INVALID, "epoch %llu of no name",
                         (unsigned long long)terms->epoch);
    return text_accept("name of who does it", terms->by, CLAIM_AS_BYTES_MAX, err);
}

/* ---- a change -------------------------------------------------------------------------------- */

struct change {
    /* inputs */
    struct claim *scratch;
    struct entry_terms terms;
    const struct text *value; /* NULL: it is deleted */
    /* outputs */
    enum record_flaw flaw;
    bool flaw_in_name;
    uint64_t version; /* the new one, or the one that it is at */
    struct holder holder;
};

/* Decodes the record of the name that must be held; notes who holds it. */
static bool find_holder(struct change *c, const struct store_record *record)
{
    c->flaw = holder_find(record, c->scratch, &c->holder);
    c->flaw_in_name = c->flaw != RECORD_FINE;
    return !c->flaw_in_name;
}

static int change_apply(void *arg, struct store_view *view)
{
    struct change *c = arg;
    struct entry e;
    c->flaw = entry_decode(view->in[0].bytes, view->in[0].len, &e);
    c->flaw_in_name = false;
    bool fine = c->flaw == RECORD_FINE && (view->count == 1 || find_holder(c, &view->in[1]));
    if (!fine)
        return c->flaw == RECORD_FOREIGN ? TENURE_FOREIGN : TENURE_CORRUPT;
    enum entry_verdict verdict = entry_change(&e, view->count == 1 ? NULL : c->scratch,
                                              &view->facts, &c->terms, c->value);
    c->version = verdict == ENTRY_DONE ? e.change[0].version : entry_version(&e);
    if (verdict != ENTRY_DONE)
        return (int)verdict;
    e.touched = store_facts_of(view, 0).now;
    view->fx->changed = true;
    view->out[0].len = entry_encode(&e, view->out[0].bytes, STORE_RECORD_MAX);
    if (view->out[0].len == 0)
        return TENURE_INTERNAL;
    view->out[0].what = STORE_PUT;
    return (int)verdict;
}

static int explain(const struct change *c, int verdict, const char *key,
                   const tenure_config_terms *terms, tenure_error *err)
{
    switch (verdict) {
    case ENTRY_NOT_HELD:
        return holder_explain(&c->holder, terms->name, terms->epoch, err);
    case ENTRY_CHANGED:
        if (c->version == 0)
            return error_set(err, TENURE_CHANGED, "%s is not there, and not at version %llu", key,
                             (unsigned long long)terms->version);
        if (terms->version == 0)
            return error_set(err, TENURE_CHANGED, "%s is there, at version %llu", key,
                             (unsigned long long)c->version);
        return error_set(err, TENURE_CHANGED, "%s is at version %llu, not %llu", key,
                         (unsigned long long)c->version, (unsigned long long)terms->version);
    case ENTRY_ABSENT:
        return error_set(err, TENURE_CHANGED, "%s is not there", key);
    default:
        return 0;
    }
}

static int decide(tenure *t, const char *key, const tenure_config_terms *terms, struct change *c,
                  tenure_error *err)
{
    char stored[KEY_BYTES];
    int code = key_accept(key, stored, err);
    if (code == 0)
        code = terms_accept(terms, err);
    if (code < 0)
        return code;
    struct store_update op = {
        .count = terms->name ? 2 : 1,
        .key = {stored, terms->name},
        .decide = change_apply,
        .arg = c,
    };
    if (!handle_enter(t))
        return error_set(err, TENURE_FORKED, "the handle belongs to the parent process");
    c->scratch = &t->scratch;
    c->terms = (struct entry_terms){
        .at = terms->version != TENURE_CONFIG_ANY_VERSION,
        .version = terms->version,
        .name = text_of(terms->name),
        .epoch = terms->epoch,
        .by = text_of(terms->by ? terms->by : t->as),
    };
    code = handle_update(t, &op, err);
    handle_leave(t);
    if (code < 0 && c->flaw != RECORD_FINE)
        return error_set(err, code, "the record of %s cannot be used: %s",
                         c->flaw_in_name ? terms->name : key, record_flaw_text(c->flaw));
    return code < 0 ? code : explain(c, code, key, terms, err);
}

static int change(tenure *t, const char *key, const tenure_config_terms *given,
                  const struct text *value, uint64_t *ret_version, tenure_error *err)
{
    tenure_config_terms terms = TENURE_CONFIG_TERMS_INIT;
    struct change c = {.value = value};
    int code = given ? given_take(&terms, sizeof terms, GIVEN_LEAST(tenure_config_terms, by), given,
                                  "TENURE_CONFIG_TERMS_INIT", err)
                     : 0;
    if (code == 0)
        code = decide(t, key, &terms, &c, err);
    if (code == 0 && ret_version)
        *ret_version = c.version;
    return code;
}

EXPORT int tenure_config_put(tenure *t, const char *key, const void *value, size_t len,
                             const tenure_config_terms *terms, uint64_t *ret_version,
                             tenure_error *err)
{
    const struct text text = {len > 0 ? value : NULL, len};
    if (len > ENTRY_VALUE_BYTES_MAX)
        return error_set(err, TENURE_INVALID, "the value has %zu bytes: it is at most %d", len,
                         ENTRY_VALUE_BYTES_MAX);
    if (!value && len > 0)
        return error_set(err, TENURE_INVALID, "a value of %zu bytes at NULL", len);
    return change(t, key, terms, &text, ret_version, err);
}

EXPORT int tenure_config_delete(tenure *t, const char *key, const tenure_config_terms *terms,
                                uint64_t *ret_version, tenure_error *err)
{
    return change(t, key, terms, NULL, ret_version, err);
}

/* ---- looking --------------------------------------------------------------------------------- */

struct looker {
    const char *only; /* NULL, or the one key that is meant */
    tenure_config_fn *fn;
    void *arg;
    int code;
    tenure_error *err;
};

/* Texts of changes, with their ends. */
struct strings {
    char by[ENTRY_CHANGES_MAX][CLAIM_AS_BYTES_MAX + 1];
    char name[ENTRY_CHANGES_MAX][NAME_BYTES_MAX + 1];
};

static void show_changes(const struct entry *e, struct strings *s, tenure_config_change *ret)
{
    for (uint32_t i = 0; i < e->change_count; i++) {
        const struct entry_change *c = &e->change[i];
        ret[i] = (tenure_config_change){
            .version = c->version,
            .deleted = c->deleted,
            .bytes = (size_t)c->bytes,
            .by = text_string(c->by, s->by[i]),
            .name = text_string(c->name, s->name[i]),
            .epoch = c->epoch,
            .wall_ms = c->wall_ms,
        };
    }
}

/* Deleted so long ago that nobody asks any more. */
static bool is_forgotten(const struct entry *e, struct instant now)
{
    return !entry_exists(e) &&
           instant_reached(now, instant_add(e->touched, SPAN(DECISION_HISTORY_MS)));
}

static bool look_at(void *arg, const struct store_record *record, struct facts *f)
{
    struct looker *l = arg;
    const char *key = record->key + sizeof CONFIG_MARK - 1;
    struct entry e;
    struct strings strings;
    tenure_config_change changes[ENTRY_CHANGES_MAX];
    if (l->only && strcmp(key, l->only) != 0)
        return false;
    enum record_flaw flaw = entry_decode(record->bytes, record->len, &e);
    if (flaw != RECORD_FINE) {
        l->code = error_set(l->err, flaw == RECORD_FOREIGN ? TENURE_FOREIGN : TENURE_CORRUPT,
                            "the record of %s cannot be used: %s", key, record_flaw_text(flaw));
        return false;
    }
    if (is_forgotten(&e, f->now))
        return !l->only;
    show_changes(&e, &strings, changes);
    const tenure_config_entry entry = {
        .key = key,
        .exists = entry_exists(&e),
        .version = entry_version(&e),
        .value = e.value.at,
        .len = e.value.len,
        .changes = changes,
        .change_count = e.change_count,
    };
    return l->fn(l->arg, &entry) && !l->only;
}

static int look(tenure *t, const char *prefix, struct looker *l)
{
    char stored[KEY_BYTES];
    if (strlen(prefix) + sizeof CONFIG_MARK > sizeof stored)
        return error_set(l->err, TENURE_INVALID, "the prefix has %zu bytes: it is at most %zu",
                         strlen(prefix), sizeof stored - sizeof CONFIG_MARK);
    snprintf(stored, sizeof stored, CONFIG_MARK "%s", prefix);
    struct store_read op = {.prefix = stored, .fn = look_at, .arg = l};
    if (!handle_enter(t))
        return error_set(l->err, TENURE_FORKED, "the handle belongs to the parent process");
    int code = handle_read(t, &op, l->err);
    handle_leave(t);
    return l->code < 0 ? l->code : code;
}

EXPORT int tenure_config_get(tenure *t, const char *key, tenure_config_fn *fn, void *arg,
                             tenure_error *err)
{
    struct looker l = {.only = key, .fn = fn, .arg = arg, .err = err};
    int code = name_accept(key, err);
    return code < 0 ? code : look(t, key, &l);
}

EXPORT int tenure_config_look(tenure *t, const char *prefix, tenure_config_fn *fn, void *arg,
                              tenure_error *err)
{
    struct looker l = {.fn = fn, .arg = arg, .err = err};
    return look(t, prefix ? prefix : "", &l);
}
