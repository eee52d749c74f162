/* store/etcd_hello.c - whether the cluster behind a connection is the one that we know (P1).
 *
 * Tokens are revisions, lifted by the seal's base; so a cluster that went back to an old snapshot
 * would give them out again.  It is noticed in three ways, and then refused until an operator has
 * raised the base:
 *     an answer has a lower revision than we had seen before we asked;
 *     the cluster is not the one that the seal names (a restored one is a new one, unless it was
 *     given the very same names);
 *     its log is shorter than its history: entries that make no revision are only ever added, so
 *     how many there are of them, the *distance* of log and revision, never shrinks but by a
 *     restore, which begins a new log. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"

#define DISTANCE_SLACK 8 /* the two numbers are not read at one instant: */
#define DISTANCE_LOOKS 3 /* so a bad one is looked at again before it is believed */
#define CLOCK_TTL_S 9000000000LL  /* the longest that etcd takes: 285 years */

uint64_t etcd_floor_at(const struct etcd_store *s, int64_t revision)
{
    return s->seal.base + ((uint64_t)revision << ETCD_TOKENS_SHIFT);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void refuse_copy(struct etcd_store *s, const char *why)
{
    char text[400];
    snprintf(text, sizeof text,
             "etcd went back in time (%s), and tokens would be given out twice; stop what uses the "
             "store, then `tenure store check --raise-to TOKEN`", why);
    etcd_link_drop(s, TENURE_WENT_BACK, text);
}

bool etcd_answer_note(struct etcd_store *s, const struct etcd_call *c,
                      const Etcd__ResponseHeader *header)
{
    if (!header)
        return false;
    if (header->cluster_id != s->cluster) {
        refuse_copy(s, "another cluster answers");
        return false;
    }
    if (header->revision < c->after) {
        refuse_copy(s, "its revision is lower than it was");
        return false;
    }
    if (header->revision > s->revision)
        s->revision = header->revision;
    etcd_clock_read(&s->clock, header->revision, header->raft_term, c->sent);
    s->answer++;
    return true;
}

/* ---- the clock ------------------------------------------------------------------------------- */

static void clock_answered(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                           const ProtobufCMessage *answer)
{
    const Etcd__LeaseTimeToLiveResponse *r = (const void *)answer;
    s->clock_asked = false;
    if (end == CALL_ANSWERED && r->header && r->id == s->seal.clock)
        etcd_clock_take(&s->clock, (uint64_t)r->id, r->header->raft_term, r->grantedttl, r->ttl,
                        c->sent, clock_now());
}

static void ask_clock(struct etcd_store *s, etcd_done_fn *done)
{
    Etcd__LeaseTimeToLiveRequest m;
    etcd__lease_time_to_live_request__init(&m);
    m.id = s->seal.clock;
    s->clock_asked = true;
    s->clock_asked_at = clock_now();
    if (!etcd_call_start(s, ETCD_LEASE_TIME_TO_LIVE, &m.base,
                         &etcd__lease_time_to_live_response__descriptor, done, NULL))
        s->clock_asked = false;
}

void etcd_clock_ask(struct etcd_store *s)
{
    struct instant due = instant_add(s->clock_asked_at, SPAN(ETCD_CLOCK_FRESH_MS));
    if (s->greeted && !s->clock_asked && instant_reached(clock_now(), due))
        ask_clock(s, clock_answered);
}

/* ---- the greeting ---------------------------------------------------------------------------- */

static void ask_seal(struct etcd_store *s, etcd_done_fn *done);

void etcd_hello_failed(struct etcd_store *s, const struct etcd_call *c, enum etcd_call_end end)
{
    tenure_error err;
    if (s->link.state != LINK_UP)
        return; /* it was dropped, and why is known */
    etcd_error(s, c, end, &err);
    etcd_link_drop(s, err.code, err.text);
}

/* The server has said goodbye since the last one, or there is no memory. */
void etcd_hello_not_asked(struct etcd_store *s)
{
    if (s->link.leaves)
        etcd_link_drop(s, TENURE_UNREACHABLE, "etcd said goodbye before it had greeted us");
    else
        etcd_link_drop(s, TENURE_NO_MEMORY, "out of memory");
}

static void sealed(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                   const ProtobufCMessage *answer)
{
    const Etcd__TxnResponse *r = (const void *)answer;
    if (end != CALL_ANSWERED) {
        etcd_hello_failed(s, c, end);
        return;
    }
    if (!r->succeeded)
        etcd_lease_revoke(s, s->seal.clock); /* somebody else was faster: that seal counts */
    etcd_hello(s);
}

/* Writes the seal in place of the one that has this version. */
static void write_seal(struct etcd_store *s, int64_t version)
{
    uint8_t value[ETCD_SEAL_BYTES];
    etcd_arena_clear(&s->arena);
    struct etcd_txn *t = etcd_txn_new(&s->arena);
    etcd_key key = etcd_key_of(&s->arena, s->prefix, "seal", NULL);
    etcd_seal_encode(&s->seal, value);
    etcd_txn_if_version(t, key, version);
    etcd_txn_put(t, key, value, sizeof value, 0);
    if (s->arena.failed || !etcd_call_start(s, ETCD_KV_TXN, &t->m.base,
                                            &etcd__txn_response__descriptor, sealed, NULL))
        etcd_hello_not_asked(s);
}

static void clock_granted(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                          const ProtobufCMessage *answer)
{
    const Etcd__LeaseGrantResponse *r = (const void *)answer;
    if (end != CALL_ANSWERED) {
        etcd_hello_failed(s, c, end);
        return;
    }
    uint64_t floor = (uint64_t)s->revision << ETCD_TOKENS_SHIFT;
    s->seal.cluster = s->cluster;
    s->seal.clock = r->id;
    s->seal.distance = s->cluster_distance;
    s->seal.generation++; /* and the base stays, also when somebody has deleted the seal */
    if (s->raise_above >= floor && s->seal.base < s->raise_above - floor + 1)
        s->seal.base = s->raise_above - floor + 1;
    write_seal(s, s->seal_version);
}

/* Makes a seal: the clock's lease comes first. */
static void make_seal(struct etcd_store *s)
{
    Etcd__LeaseGrantRequest m;
    etcd__lease_grant_request__init(&m);
    m.ttl = CLOCK_TTL_S;
    if (!etcd_call_start(s, ETCD_LEASE_GRANT, &m.base, &etcd__lease_grant_response__descriptor,
                         clock_granted, NULL))
        etcd_hello_not_asked(s);
}

/* Who raises waits until nobody believes in what the store has forgotten. */
static void sessions_counted(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                             const ProtobufCMessage *answer)
{
    const Etcd__RangeResponse *r = (const void *)answer;
    size_t live = strlen(s->prefix) + strlen("session/") + 16;
    if (end != CALL_ANSWERED) {
        etcd_hello_failed(s, c, end);
        return;
    }
    for (size_t i = 0; i < r->n_kvs; i++) {
        if (r->kvs[i]->key.len != live)
            continue;
        etcd_link_drop(s, TENURE_BUSY, "sessions of this store still run; those of processes that "
                                       "are gone end after their ttl");
        return;
    }
    s->raising = false;
    make_seal(s);
}

static void ask_sessions(struct etcd_store *s)
{
    Etcd__RangeRequest m;
    etcd_arena_clear(&s->arena);
    etcd__range_request__init(&m);
    m.key = etcd_key_of(&s->arena, s->prefix, "session/", NULL);
    m.range_end = etcd_key_end(&s->arena, m.key);
    m.keys_only = true;
    if (s->arena.failed || !etcd_call_start(s, ETCD_KV_RANGE, &m.base,
                                            &etcd__range_response__descriptor, sessions_counted,
                                            NULL))
        etcd_hello_not_asked(s);
}

/* The same seal again, after the clock was read: now that reading is confirmed. */
static void confirmed(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                      const ProtobufCMessage *answer)
{
    const Etcd__RangeResponse *r = (const void *)answer;
    if (end != CALL_ANSWERED) {
        etcd_hello_failed(s, c, end);
        return;
    }
    if (!etcd_answer_note(s, c, r->header))
        return;
    if (r->n_kvs != 1 || r->kvs[0]->mod_revision != s->seal_version) {
        etcd_hello(s);
        return;
    }
    s->greeted = true;
    s->sealing = false;
    s->link.failures %= (unsigned)s->place.endpoints; /* a round of failures ends with a pause */
    s->link.turned = false;
    s->link.trouble.code = 0;
    if (s->own.id != 0 || s->watches > 0 || s->all)
        s->hints.all = true; /* what was missed while there was no connection */
}

static void clock_read(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                       const ProtobufCMessage *answer)
{
    clock_answered(s, c, end, answer);
    if (s->link.state == LINK_UP)
        ask_seal(s, confirmed); /* without a clock, too: records only age more slowly */
}

void etcd_hello_stay(struct etcd_store *s)
{
    ask_clock(s, clock_read);
    if (!s->clock_asked)
        etcd_hello_not_asked(s);
}

static void ask_status(struct etcd_store *s);

/* To seal, the distance is taken rather too short: by the entries that are applied.  To be checked,
 * rather too long: by those that are on their way, too. */
static void take_status(struct etcd_store *s, const Etcd__StatusResponse *r)
{
    uint64_t applied = r->raftappliedindex != 0 ? r->raftappliedindex : r->raftindex;
    bool sealing = s->raising || s->seal_version == 0;
    s->cluster_distance = (int64_t)(sealing ? applied : r->raftindex) - r->header->revision;
    s->db_bytes = r->dbsize;
    snprintf(s->version, sizeof s->version, "%.20s", r->version);
    snprintf(s->alarms, sizeof s->alarms, "%s", r->n_errors > 0 ? r->errors[0] : "");
}

static void status_answered(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                            const ProtobufCMessage *answer)
{
    const Etcd__StatusResponse *r = (const void *)answer;
    if (end != CALL_ANSWERED || !r->header) {
        etcd_hello_failed(s, c, end);
        return;
    }
    take_status(s, r);
    bool is_short = s->cluster_distance + DISTANCE_SLACK < s->seal.distance;
    if (s->raising) {
        ask_sessions(s);
    } else if (s->seal_version == 0) {
        make_seal(s);
    } else if (s->seal.cluster != s->cluster) {
        refuse_copy(s, "it is another cluster than the store was made in");
    } else if (is_short && ++s->looks < DISTANCE_LOOKS) {
        ask_status(s);
    } else if (is_short) {
        refuse_copy(s, "its log is younger than its data");
    } else {
        etcd_leader_seek(s, r);
    }
}

static void ask_status(struct etcd_store *s)
{
    Etcd__StatusRequest m;
    etcd__status_request__init(&m);
    if (!etcd_call_start(s, ETCD_STATUS, &m.base, &etcd__status_response__descriptor,
                         status_answered, NULL))
        etcd_hello_not_asked(s);
}

/* What is under the seal's key; false when the connection was dropped for it. */
static bool take_seal(struct etcd_store *s, const Etcd__RangeResponse *r)
{
    struct etcd_seal seal = {0};
    s->seal_version = 0;
    if (r->n_kvs == 0) {
        if (s->create)
            return true;
        char why[ETCD_PREFIX_BYTES_MAX + 100];
        snprintf(why, sizeof why,
                 "there is no such store: nothing under %s in this etcd (what needs it first makes "
                 "it)",
                 s->prefix);
        s->link.absent = s->link.failures + 1;
        etcd_link_drop(s, TENURE_ABSENT, why);
        return false;
    }
    const Etcd__KeyValue *kv = r->kvs[0];
    if (!etcd_seal_decode(kv->value.data, kv->value.len, &seal)) {
        char why[ETCD_PREFIX_BYTES_MAX + 80];
        snprintf(why, sizeof why, "%sseal is not of this version of tenure", s->prefix);
        etcd_link_drop(s, TENURE_FOREIGN, why);
        return false;
    }
    if (seal.generation > s->seal.generation) {
        s->revision = 0; /* an operator has accepted it as it is */
        etcd_memory_forget(s);
    }
    s->seal = seal;
    s->seal_version = kv->mod_revision;
    return true;
}

static void seal_answered(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                          const ProtobufCMessage *answer)
{
    const Etcd__RangeResponse *r = (const void *)answer;
    if (end != CALL_ANSWERED || !r->header) {
        etcd_hello_failed(s, c, end);
        return;
    }
    bool is_known = s->seal.generation > 0;
    if (is_known && r->n_kvs == 0 && s->seal.cluster != r->header->cluster_id) {
        refuse_copy(s, "another cluster answers");
        return;
    }
    if (!take_seal(s, r))
        return;
    s->cluster = r->header->cluster_id;
    if (s->revision == 0)
        c->after = 0;
    if (!etcd_answer_note(s, c, r->header))
        return;
    s->looks = 0;
    ask_status(s);
}

static void ask_seal(struct etcd_store *s, etcd_done_fn *done)
{
    Etcd__RangeRequest m;
    etcd_arena_clear(&s->arena);
    etcd__range_request__init(&m);
    m.key = etcd_key_of(&s->arena, s->prefix, "seal", NULL);
    if (s->arena.failed ||
        !etcd_call_start(s, ETCD_KV_RANGE, &m.base, &etcd__range_response__descriptor, done, NULL))
        etcd_hello_not_asked(s);
}

static void authenticated(struct etcd_store *s, struct etcd_call *c, enum etcd_call_end end,
                          const ProtobufCMessage *answer)
{
    const Etcd__AuthenticateResponse *r = (const void *)answer;
    if (end != CALL_ANSWERED) {
        etcd_hello_failed(s, c, end);
        return;
    }
    s->token = strdup(r->token);
    if (s->token)
        ask_seal(s, seal_answered);
    else
        etcd_hello_not_asked(s);
}

/* What is in the file, up to the end of its first line; false, and *err is filled. */
static bool read_password(const char *path, char *to, size_t cap, tenure_error *err)
{
    FILE *f = fopen(path, "re");
    char *line = f ? fgets(to, (int)cap, f) : NULL;
    if (!line)
        fail_errno(err, f ? ENODATA : errno, "the password in %s", path);
    else
        to[strcspn(to, "\r\n")] = '\0';
    if (f)
        fclose(f);
    return line != NULL;
}

static void authenticate(struct etcd_store *s)
{
    Etcd__AuthenticateRequest m;
    char password[1024];
    tenure_error err;
    if (!read_password(s->password_file, password, sizeof password, &err)) {
        etcd_link_drop(s, TENURE_DENIED, err.text);
        return;
    }
    etcd__authenticate_request__init(&m);
    m.name = s->user;
    m.password = password;
    bool sent = etcd_call_start(s, ETCD_AUTHENTICATE, &m.base,
                                &etcd__authenticate_response__descriptor, authenticated, NULL);
    explicit_bzero(password, sizeof password);
    if (!sent)
        etcd_hello_not_asked(s);
}

void etcd_hello(struct etcd_store *s)
{
    s->greeted = false;
    s->sealing = true;
    if (s->user && !s->token)
        authenticate(s);
    else
        ask_seal(s, seal_answered);
}

void etcd_hello_again(struct etcd_store *s)
{
    if (s->greeted)
        etcd_hello(s);
}
