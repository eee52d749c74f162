/* store/postgres_news.c - what a doorbell is told of a commit, so that who is rung need not look.
 *
 * Who is granted something is told what the record is since the commit that did it, by one who has
 * queued behind it.  Who has not may be about to: then both would write at once, and one in vain,
 * again and again; a look takes about as long as that asking.  What is told is sealed
 * with a key which the store shows to all who may use it, and to nobody else: whoever can write
 * such news could write the record as well.  They may be late, though, or come twice.  So they
 * confirm nothing but a grant (GRANTS in store/store.h); a decision that is made on them names
 * their version, like any other. */
#include <string.h>

#include "store/postgres_engine.h"
#include "wire/bytes.h"

#define NEWS_FORMAT 1
#define NEWS_RECORD_MAX 8192 /* a longer record is asked for by who was rung */
#define SEAL_BYTES MAC_BYTES

size_t news_write(struct pg_store *s, const struct work *w, uint64_t session,
                  char buf[NEIGHBOURS_NEWS_MAX])
{
    const struct known_record *k = w->count == 1 ? known_record(s, w->key[0]) : NULL;
    if (!w->queued || !s->has_bell_key || !k || k->version == 0 || k->version != w->version[0] ||
        k->head.len > NEWS_RECORD_MAX)
        return 0;
    unsigned char *start = (unsigned char *)buf;
    struct writer out = {start + SEAL_BYTES, start + NEIGHBOURS_NEWS_MAX, false};
    put_u64(&out, NEWS_FORMAT);
    put_u64(&out, session);
    put_u64(&out, k->version);
    put_u64(&out, k->floor);
    put_text(&out, text_of(w->key[0]));
    put_text(&out, (struct text){k->head.bytes, k->head.len});
    size_t len = writer_length(&out, start);
    if (len == 0 || !mac_make(s->bell_key, start + SEAL_BYTES, len - SEAL_BYTES, start))
        return 0;
    return len;
}

/* What is known of a name that an answer is under way about stays as it was asked. */
static bool is_asked_about(const struct pg_store *s, const char *key)
{
    for (const struct work *w = s->flight; w; w = w->next) {
        for (int i = 0; i < w->count; i++) {
            if (strcmp(w->key[i], key) == 0)
                return true;
        }
    }
    return false;
}

static void take(struct pg_store *s, const char *key, uint64_t version, uint64_t floor,
                 struct text record)
{
    struct known_record *k = known_record(s, key);
    if (!k || s->stamp == 0 || is_asked_about(s, key))
        return;
    known_record_set(s, key, version, floor > k->floor ? floor : k->floor, record.at, record.len);
    k = known_record(s, key);
    if (!k)
        return;
    k->head.stamp = s->stamp - 1; /* no answer has said so */
    k->told = true;
}

void news_take(void *arg, const void *news, size_t len)
{
    struct pg_store *s = arg;
    const unsigned char *start = news;
    char key[NAME_BYTES_MAX + 1];
    if (!s->has_bell_key || len <= SEAL_BYTES)
        return;
    if (!mac_is(s->bell_key, start + SEAL_BYTES, len - SEAL_BYTES, start))
        return;
    struct reader in = {start + SEAL_BYTES, start + len, RECORD_FINE};
    uint64_t format = get_u64(&in), session = get_u64(&in), version = get_u64(&in);
    uint64_t floor = get_u64(&in);
    struct text name = get_bytes(&in, NAME_BYTES_MAX), record = get_bytes(&in, NEWS_RECORD_MAX);
    reader_finish(&in);
    if (in.flaw != RECORD_FINE || format != NEWS_FORMAT || version < 2 || name.len == 0 ||
        record.len == 0 || session == 0 || session != s->session)
        return;
    memcpy(key, name.at, name.len);
    key[name.len] = '\0';
    take(s, key, version, floor, record);
}

/* Whether the last that is known is news, and tells a grant that is to be believed.  Who has lost
 * its connection may find another server at the other end, which lacks the grant. */
bool news_tell_grant(struct pg_store *s, struct work *w)
{
    const struct known_record *k = w->count == 1 ? known_record(s, w->key[0]) : NULL;
    bool confirmed;
    if (!s->greeted || !k || !k->told || is_asked_about(s, w->key[0]) ||
        !update_decide(s, w, &confirmed))
        return false;
    return w->granted && !w->writes && w->verdict >= 0 && s->relied.count == 1 &&
           s->relied.at[0].session == s->session && s->relied.at[0].mode == RELY_ALIVE;
}
