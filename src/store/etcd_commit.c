/* store/etcd_commit.c - a decision as a commit: on what condition, what is written, what is known
 * afterwards. */
#include <stdio.h>
#include <string.h>

#include "store/etcd_engine.h"

/* ---- keys ------------------------------------------------------------------------------------ */

etcd_key etcd_name_key(struct etcd_store *s, const char *name)
{
    return etcd_key_of(&s->arena, s->prefix, "name/", name);
}

etcd_key etcd_session_key(struct etcd_store *s, uint64_t id)
{
    return etcd_key_number(&s->arena, s->prefix, "session/", id, NULL);
}

unsigned etcd_bucket(const char *name)
{
    return (unsigned)(store_key_hash(name) % ETCD_BUCKETS);
}

etcd_key etcd_bucket_key(struct etcd_store *s, const char *what, const char *name)
{
    char digits[8];
    snprintf(digits, sizeof digits, "%02x", etcd_bucket(name));
    return etcd_key_of(&s->arena, s->prefix, what, digits);
}

/* ---- conditions, and what else --------------------------------------------------------------- */

struct etcd_txn *etcd_txn_sealed(struct etcd_store *s)
{
    struct etcd_txn *t = etcd_txn_new(&s->arena);
    etcd_txn_if_version(t, etcd_key_of(&s->arena, s->prefix, "seal", NULL), s->seal_version);
    return t;
}

void etcd_commit_if(struct etcd_store *s, struct etcd_txn *t, const struct etcd_work *w,
                    uint64_t compared)
{
    for (int i = 0; i < w->count; i++) {
        const struct etcd_record *r = etcd_record_known(s, w->key[i]);
        etcd_txn_if_version(t, etcd_name_key(s, w->key[i]), w->version[i]);
        if (w->version[i] == 0)
            etcd_txn_if_unchanged(t, etcd_bucket_key(s, "gone/", w->key[i]), r ? r->as_of : 0);
    }
    for (size_t i = 0; i < w->relies; i++) {
        if (w->relied[i] != compared)
            etcd_txn_if_exists(t, etcd_session_key(s, w->relied[i]));
    }
}

void etcd_commit_else(struct etcd_store *s, struct etcd_txn *t, const struct etcd_work *w)
{
    for (int i = 0; i < w->count; i++)
        etcd_txn_else_range(t, etcd_name_key(s, w->key[i]), (etcd_key){0});
    for (size_t i = 0; i < w->relies; i++) {
        /* with what is below it: "session/ID" to "session/ID0", which is behind the slash */
        etcd_txn_else_range(t, etcd_session_key(s, w->relied[i]),
                            etcd_key_number(&s->arena, s->prefix, "session/", w->relied[i], "0"));
    }
}

/* Whether one before record n is deleted, too, in the same bucket: a key may be put but once. */
static bool is_gone_told(const struct etcd_work *w, int n)
{
    for (int i = 0; i < n; i++) {
        if (w->out[i].what == STORE_DELETE &&
            etcd_bucket(w->key[i]) == etcd_bucket(w->key[n]))
            return true;
    }
    return false;
}

void etcd_commit_writes(struct etcd_store *s, struct etcd_txn *t, const struct etcd_work *w)
{
    for (int i = 0; i < w->count; i++) {
        etcd_key key = etcd_name_key(s, w->key[i]);
        if (w->out[i].what == STORE_PUT)
            etcd_txn_put(t, key, w->out[i].bytes, w->out[i].len, 0);
        if (w->out[i].what != STORE_DELETE)
            continue;
        if (w->version[i] != 0)
            etcd_txn_delete(t, key);
        if (!is_gone_told(w, i))
            etcd_txn_put(t, etcd_bucket_key(s, "gone/", w->key[i]), NULL, 0, 0);
    }
    if (w->notice != 0) {
        struct etcd_txn *tell = etcd_txn_new(&s->arena);
        etcd_txn_if_exists(tell, etcd_session_key(s, w->notice));
        etcd_txn_touch(tell, etcd_session_key(s, w->notice));
        etcd_txn_nest(t, tell);
    }
}

/* ---- what is known afterwards ---------------------------------------------------------------- */

static void session_alive(struct etcd_store *s, const struct etcd_work *w, int64_t as_of)
{
    for (size_t i = 0; i < w->relies; i++)
        etcd_session_note(s, w->relied[i], SESSION_ALIVE, NULL, as_of);
}

void etcd_commit_done(struct etcd_store *s, const struct etcd_work *w, int64_t revision)
{
    session_alive(s, w, revision);
    etcd_bell_acted(s, revision);
    for (int i = 0; i < w->count; i++) {
        const struct store_write *out = &w->out[i];
        if (out->what == STORE_PUT)
            etcd_record_note(s, w->key[i], revision, revision, out->bytes, out->len);
        else if (out->what == STORE_DELETE)
            etcd_record_note(s, w->key[i], 0, revision, NULL, 0);
        else
            etcd_record_note(s, w->key[i], w->version[i], revision, NULL, 0); /* as it was */
        if (out->what != STORE_KEEP)
            fence_remove(&s->fences, w->key[i]);
    }
}

void etcd_record_hear(struct etcd_store *s, const char *name, const Etcd__KeyValue *kv,
                      int64_t as_of)
{
    etcd_record_note(s, name, kv->mod_revision, as_of, kv->value.data, kv->value.len);
    struct etcd_record *r = etcd_record_known(s, name);
    if (r && r->version == kv->mod_revision)
        r->written = kv->version;
}

void etcd_record_take(struct etcd_store *s, const char *name, const Etcd__RangeResponse *r,
                      int64_t as_of)
{
    if (!r)
        return;
    if (r->n_kvs == 0)
        etcd_record_note(s, name, 0, as_of, NULL, 0);
    else
        etcd_record_hear(s, name, r->kvs[0], as_of);
}

void etcd_session_take(struct etcd_store *s, uint64_t id, const Etcd__RangeResponse *r,
                       int64_t as_of)
{
    struct etcd_session value;
    size_t shortest = r && r->n_kvs > 0 ? r->kvs[0]->key.len : 0;
    size_t live = strlen(s->prefix) + strlen("session/") + 16;
    if (!r)
        return;
    if (shortest == live && etcd_session_decode(r->kvs[0]->value.data, r->kvs[0]->value.len,
                                                &value))
        etcd_session_note(s, id, SESSION_ALIVE, &value.ttl, as_of);
    else if (shortest == live)
        etcd_session_note(s, id, SESSION_ALIVE, NULL, as_of);
    else
        etcd_session_note(s, id, r->n_kvs > 0 ? SESSION_EXPIRED : SESSION_GONE, NULL, as_of);
}

void etcd_commit_failed(struct etcd_store *s, const struct etcd_work *w,
                        const Etcd__TxnResponse *answer, const Etcd__SubTxnResponse *nested,
                        int64_t as_of)
{
    size_t keys = (size_t)w->count;
    for (size_t i = 0; i < keys + w->relies; i++) {
        const Etcd__RangeResponse *r = nested ? etcd_sub_range(nested, i)
                                              : etcd_answer_range(answer, i);
        if (i < keys)
            etcd_record_take(s, w->key[i], r, as_of);
        else
            etcd_session_take(s, w->relied[i - keys], r, as_of);
    }
}
