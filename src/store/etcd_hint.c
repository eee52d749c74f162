/* store/etcd_hint.c - what may have changed: one stream of watches for the connection's life.
 *
 * etcd serves a watch that begins in the past on a tick of 100 ms, and one that begins now at once.
 * So the watch on our bell begins once, and one on a session begins where we last knew it alive,
 * which is almost always now.  They stay as long as they are of use. */
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"
#include "store/room.h"

/* ---- asking ---------------------------------------------------------------------------------- */

#define WATCHERS_IDLE_MAX 32

enum events { ALL_EVENTS, PUTS_ONLY, ENDS_ONLY };

/* Begins a watch; returns its number, or 0. */
static int64_t begin(struct etcd_store *s, etcd_key from, etcd_key to, int64_t revision,
                     enum events events)
{
    Etcd__WatchRequest m;
    Etcd__WatchCreateRequest create;
    Etcd__WatchCreateRequest__FilterType filter =
        events == ENDS_ONLY ? ETCD__WATCH_CREATE_REQUEST__FILTER_TYPE__NOPUT
                            : ETCD__WATCH_CREATE_REQUEST__FILTER_TYPE__NODELETE;
    etcd__watch_request__init(&m);
    etcd__watch_create_request__init(&create);
    m.request_union_case = ETCD__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST;
    m.create_request = &create;
    create.key = from;
    create.range_end = to;
    create.start_revision = revision;
    create.watch_id = s->next_watch + 1;
    create.n_filters = events != ALL_EVENTS;
    create.filters = &filter;
    if (s->arena.failed || !etcd_stream_send(s, s->ears, &m.base))
        return 0;
    return ++s->next_watch;
}

static void end(struct etcd_store *s, int64_t id)
{
    Etcd__WatchRequest m;
    Etcd__WatchCancelRequest cancel;
    if (id == 0 || !s->ears)
        return;
    etcd__watch_request__init(&m);
    etcd__watch_cancel_request__init(&cancel);
    m.request_union_case = ETCD__WATCH_REQUEST__REQUEST_UNION_CANCEL_REQUEST;
    m.cancel_request = &cancel;
    cancel.watch_id = id;
    etcd_stream_send(s, s->ears, &m.base); /* else it goes on, and nobody minds */
}

/* ---- who watches whom ------------------------------------------------------------------------ */

static struct etcd_watcher *watcher_of(struct etcd_store *s, uint64_t session)
{
    for (size_t i = 0; i < s->watchers; i++) {
        if (s->watcher[i].session == session)
            return &s->watcher[i];
    }
    return NULL;
}

static void watcher_remove(struct etcd_store *s, struct etcd_watcher *w)
{
    end(s, w->id);
    *w = s->watcher[--s->watchers];
}

/* Whether anybody waits for the end of that session; all who do are told when `tell`. */
static bool is_watched(struct etcd_store *s, uint64_t session, bool tell)
{
    bool found = false;
    for (size_t i = 0; i < s->watches; i++) {
        if (s->watch[i].session != session)
            continue;
        found = true;
        if (tell)
            hint_queue_add(&s->hints, s->watch[i].key_hash);
    }
    return found;
}

static void unwatch(struct etcd_store *s, uint64_t key_hash)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->watches; i++) {
        if (s->watch[i].key_hash != key_hash)
            s->watch[kept++] = s->watch[i];
    }
    s->watches = kept;
}

/* Who waits for a name again and again waits for the same few sessions: a watch that nobody needs
 * now is silent, and costs less than a new one.  One that may have begun too late is of no use. */
static void drop_idle_watchers(struct etcd_store *s)
{
    size_t idle = 0;
    for (size_t i = s->watchers; i > 0; i--) {
        struct etcd_watcher *w = &s->watcher[i - 1];
        if (!is_watched(s, w->session, false) && (w->unsure || ++idle > WATCHERS_IDLE_MAX))
            watcher_remove(s, w);
    }
}

static void watch(struct etcd_store *s, uint64_t key_hash, uint64_t session)
{
    const struct etcd_known_session *k = etcd_session_known(s, session);
    void *watches = s->watch, *watchers = s->watcher;
    if (k && k->state != SESSION_ALIVE) {
        hint_queue_add(&s->hints, key_hash); /* it ended since the caller looked */
        return;
    }
    if (!room_for_one_more(&watches, s->watches, &s->watches_cap, sizeof *s->watch))
        return; /* a hint may be lost */
    s->watch = watches;
    s->watch[s->watches++] = (struct etcd_watch){key_hash, session};
    if (watcher_of(s, session) ||
        !room_for_one_more(&watchers, s->watchers, &s->watchers_cap, sizeof *s->watcher))
        return;
    s->watcher = watchers;
    s->watcher[s->watchers++] = (struct etcd_watcher){.session = session, .unsure = !k};
}

void etcd_watch_sessions(struct store *store, const char *key, const uint64_t *session,
                         uint32_t count)
{
    struct etcd_store *s = etcd_of(store);
    uint64_t hash = store_key_hash(key);
    unwatch(s, hash);
    drop_idle_watchers(s); /* first: one that may have begun too late is not to be used again */
    for (uint32_t i = 0; i < count; i++)
        watch(s, hash, session[i]);
    etcd_works_start(s);
    etcd_link_flush(s);
}

int etcd_watch_all(struct store *store, bool on, tenure_error *err)
{
    struct etcd_store *s = etcd_of(store);
    (void)err;
    s->all = on;
    etcd_works_start(s);
    etcd_link_flush(s);
    return 0;
}

bool etcd_next_hint(struct store *store, struct store_hint *ret)
{
    struct etcd_store *s = etcd_of(store);
    if (s->ended != 0) {
        *ret = (struct store_hint){.ended = s->ended};
        s->ended = 0;
        return true;
    }
    bool found = hint_queue_take(&s->hints, ret);
    if (found && ret->all && s->vigil != 0)
        s->vigil = ++s->vigils; /* it stands for others that were dropped */
    return found;
}

uint64_t etcd_vigil(struct store *store)
{
    return etcd_of(store)->vigil;
}

void etcd_grants_since(struct etcd_store *s, int64_t revision)
{
    if (revision > s->grants_since)
        s->grants_since = revision;
}

struct instant etcd_hint_due(const struct etcd_store *s)
{
    return s->ended != 0 || s->hints.all || s->hints.count > 0 ? INSTANT(0) : INSTANT_NEVER;
}

void etcd_hint_ended(struct etcd_store *s, uint64_t session)
{
    struct etcd_watcher *w = watcher_of(s, session);
    if (!w)
        return;
    is_watched(s, session, true);
    watcher_remove(s, w);
}

/* ---- hearing --------------------------------------------------------------------------------- */

/* What a record is as of `revision`; it goes through the memory like an answer. */
static void take_state(struct etcd_store *s, const char *name, int64_t revision,
                       const struct etcd_news *news)
{
    s->answer++;
    if (revision > s->revision)
        s->revision = revision;
    etcd_record_note(s, name, news ? revision : 0, revision, news ? news->record : NULL,
                     news ? news->len : 0);
    if (!news || !news->quiet)
        hint_queue_add(&s->hints, store_key_hash(name));
    struct etcd_record *r = etcd_record_known(s, name);
    if (r && news && news->quiet)
        r->told = revision;
    if (r && news && !news->quiet && !news->queued) {
        r->rung = revision;
        r->heard = clock_now();
    }
}

/* The commit that rings puts the record, too: both have its revision. */
static void hear_bell(struct etcd_store *s, const Etcd__KeyValue *kv)
{
    struct etcd_news news;
    char name[ETCD_NEWS_NAME_MAX + 1];
    bool is_news = etcd_news_decode(kv->value.data, kv->value.len, &news);
    if (is_news) {
        memcpy(name, news.name.at, news.name.len);
        name[news.name.len] = '\0';
        take_state(s, name, kv->mod_revision, &news);
        return;
    }
    if (kv->value.len == 0 || kv->value.len % 8 != 0)
        s->hints.all = true;
    for (size_t i = 0; i + 8 <= kv->value.len; i += 8)
        hint_queue_add(&s->hints, etcd_hash_decode(kv->value.data + i));
}

/* Our bell goes with our session.  Whoever ends that while we renew it, an operator or a leader of
 * before that was late (docs/stores.md), lets others in at once: so we do not wait for the next
 * renewal to tell us (P3). */
static void hear_own_end(struct etcd_store *s, const Etcd__KeyValue *kv)
{
    if (s->own.id == 0 || s->own.id != s->bell_session)
        return; /* we have closed it */
    etcd_session_note(s, s->own.id, SESSION_EXPIRED, NULL, kv->mod_revision);
    s->ended = s->own.id;
}

/* A record was changed; or, when only that is asked for, deleted: what we deleted is no news. */
static void hear_change(struct etcd_store *s, const Etcd__KeyValue *kv, bool by_others)
{
    size_t front = strlen(s->prefix) + strlen("name/");
    char name[NAME_BYTES_MAX + 1];
    if (kv->key.len <= front || kv->key.len - front > NAME_BYTES_MAX)
        return;
    memcpy(name, kv->key.data + front, kv->key.len - front);
    name[kv->key.len - front] = '\0';
    const struct etcd_record *r = by_others ? etcd_record_known(s, name) : NULL;
    if (r && r->version != 0 && r->as_of < kv->mod_revision)
        take_state(s, name, kv->mod_revision, NULL);
    else if (!r || r->version != 0)
        hint_queue_add(&s->hints, store_key_hash(name));
}

/* Somebody wrote the record that we follow. */
static void hear_followed(struct etcd_store *s, const Etcd__KeyValue *kv)
{
    s->answer++;
    if (kv->mod_revision > s->revision)
        s->revision = kv->mod_revision;
    etcd_record_hear(s, s->followed, kv, kv->mod_revision);
}

static struct etcd_watcher *watcher_numbered(struct etcd_store *s, int64_t id)
{
    for (size_t i = 0; i < s->watchers; i++) {
        if (s->watcher[i].id == id)
            return &s->watcher[i];
    }
    return NULL;
}

/* What was rung before we listened is looked for.  But nobody rings at a session before it is in a
 * record: so not when it acted for the first time after we had begun to listen. */
static void bell_begins(struct etcd_store *s, int64_t revision)
{
    if (s->bell_session != s->own.id)
        return; /* of a session that was */
    s->own.heard = revision;
    if (!s->own.certain || (s->own.acted != 0 && s->own.acted < revision))
        s->hints.all = true;
}

void etcd_bell_acted(struct etcd_store *s, int64_t revision)
{
    if (s->own.id == 0 || (s->own.acted != 0 && s->own.acted <= revision))
        return; /* the answer to a later one may have come first */
    s->own.acted = revision;
    if (s->own.heard > revision)
        s->hints.all = true;
}

/* The watch has begun, or was ended by etcd because what it asked for is no longer there. */
static void hear_about(struct etcd_store *s, const Etcd__WatchResponse *r)
{
    struct etcd_watcher *w = watcher_numbered(s, r->watch_id);
    if (w && (w->unsure || r->canceled))
        is_watched(s, w->session, true); /* they look */
    if (r->watch_id == s->bell_watch)
        bell_begins(s, r->header ? r->header->revision : INT64_MAX);
    if (r->watch_id == s->all_watch)
        s->hints.all = true; /* what changed before we listened */
    if (r->watch_id == s->names_watch) {
        s->vigil = r->canceled ? 0 : ++s->vigils;
        etcd_grants_since(s, r->header ? r->header->revision : INT64_MAX);
    }
    if (!r->canceled)
        return;
    if (r->watch_id == s->names_watch)
        s->names_watch = 0;
    if (w) {
        w->id = 0;
        w->unsure = true;
    }
    if (r->watch_id == s->bell_watch)
        s->bell_watch = 0;
    if (r->watch_id == s->all_watch)
        s->all_watch = 0;
    if (r->watch_id == s->followed_watch)
        s->followed_watch = 0;
}

static void hear(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end how,
                 const ProtobufCMessage *answer)
{
    const Etcd__WatchResponse *r = (const void *)answer;
    if (how != CALL_ANSWERED) {
        tenure_error err;
        etcd_error(s, c, how, &err);
        s->ears = NULL;
        if (s->link.state == LINK_UP)
            etcd_link_drop(s, err.code, err.text);
        return;
    }
    if (r->created || r->canceled)
        hear_about(s, r);
    for (size_t i = 0; i < r->n_events; i++) {
        const Etcd__KeyValue *kv = r->events[i]->kv;
        struct etcd_watcher *w = watcher_numbered(s, r->watch_id);
        bool ends = r->events[i]->type == ETCD__EVENT__EVENT_TYPE__DELETE;
        if (kv && r->watch_id == s->bell_watch && ends)
            hear_own_end(s, kv);
        else if (kv && r->watch_id == s->bell_watch)
            hear_bell(s, kv);
        else if (kv && s->followed && r->watch_id == s->followed_watch)
            hear_followed(s, kv);
        else if (kv && r->watch_id == s->all_watch)
            hear_change(s, kv, false);
        else if (kv && r->watch_id == s->names_watch)
            hear_change(s, kv, true);
        else if (w && ends)
            etcd_hint_ended(s, w->session); /* how it ended is asked for by who looks */
    }
}

/* ---- keeping up ------------------------------------------------------------------------------ */

void etcd_ears_lost(struct etcd_store *s)
{
    s->ears = NULL;
    s->own.certain = false;
    s->bell_watch = s->all_watch = s->names_watch = s->followed_watch = 0;
    s->vigil = 0;
    for (size_t i = 0; i < s->watchers; i++)
        s->watcher[i].id = 0;
}

static void keep_bell(struct etcd_store *s)
{
    if (s->bell_watch != 0 && s->bell_session != s->own.id) {
        end(s, s->bell_watch);
        s->bell_watch = 0;
    }
    if (s->bell_watch == 0 && s->own.id != 0) {
        etcd_key key = etcd_key_number(&s->arena, s->prefix, "bell/", s->own.id, NULL);
        s->bell_watch = begin(s, key, (etcd_key){0}, 0, ALL_EVENTS);
        s->bell_session = s->own.id;
    }
}

static void keep_all(struct etcd_store *s)
{
    if (!s->all && s->all_watch != 0) {
        end(s, s->all_watch);
        s->all_watch = 0;
    }
    if (s->all && s->all_watch == 0) {
        etcd_key names = etcd_key_of(&s->arena, s->prefix, "name/", NULL);
        s->all_watch = begin(s, names, etcd_key_end(&s->arena, names), 0, ALL_EVENTS);
    }
}

/* Who has a session may hold something, and somebody else's tool may delete it. */
static void keep_names(struct etcd_store *s)
{
    if (s->own.id == 0 || s->names_watch != 0)
        return;
    etcd_key names = etcd_key_of(&s->arena, s->prefix, "name/", NULL);
    s->names_watch = begin(s, names, etcd_key_end(&s->arena, names), 0, ENDS_ONLY);
}

/* A watch from now on may begin on the tick of 100 ms, too, when others write at that moment.  So
 * this one begins a little later than what we know of: what it tells first says how often the
 * record was written, those that it missed included. */
static void keep_followed(struct etcd_store *s)
{
    const struct etcd_work *w = etcd_fight_followed(s);
    bool same = w && s->followed && strcmp(s->followed, w->key[0]) == 0;
    if (!same) {
        end(s, s->followed_watch);
        free(s->followed);
        s->followed = w ? strdup(w->key[0]) : NULL;
        s->followed_watch = 0;
    }
    if (s->followed && s->followed_watch == 0)
        s->followed_watch = begin(s, etcd_name_key(s, s->followed), (etcd_key){0},
                                  s->revision + w->loss.ahead + 2, PUTS_ONLY);
}

void etcd_ears_step(struct etcd_store *s)
{
    bool wanted = s->own.id != 0 || s->all || s->watchers > 0;
    if (wanted && !s->ears)
        s->ears = etcd_stream_start(s, ETCD_WATCH, &etcd__watch_response__descriptor, hear);
    if (!s->ears)
        return;
    etcd_arena_clear(&s->arena);
    keep_bell(s);
    keep_all(s);
    keep_names(s);
    keep_followed(s);
    for (size_t i = 0; i < s->watchers; i++) {
        struct etcd_watcher *w = &s->watcher[i];
        if (w->id != 0)
            continue;
        const struct etcd_known_session *k = etcd_session_known(s, w->session);
        int64_t from = k && !w->unsure ? k->as_of + 1 : 0;
        w->id = begin(s, etcd_session_key(s, w->session), (etcd_key){0}, from, ENDS_ONLY);
    }
}
