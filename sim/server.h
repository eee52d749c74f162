/* sim/server.h - the store's server: records with versions, sessions, a floor for tokens.
 *
 * What a networked engine talks to; it never looks into a record.  A commit takes effect when the
 * record still has the version that was read (a missing one: when the floor did not move either,
 * or a record that was made and deleted meanwhile would go unnoticed), and every session that the
 * decision took for alive still is, and the session that it tells to stop was not renewed since the
 * decision's instant: that renewal could not have come with the notice.  Its clock counts sessions
 * from the receipt of a renewal.
 */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "core/name.h"
#include "lib/decision.h"
#include "sim/host.h"

#define SERVER_SESSIONS_MAX 128
#define CLIENTS_MAX 1024
#define REQUEST_LIST_MAX 32

enum request_kind {
    REQUEST_READ, /* one record; with `key` empty all of them */
    REQUEST_COMMIT,
    REQUEST_OPEN,
    REQUEST_RENEW,
    REQUEST_CLOSE,
    REQUEST_WATCH,
};

/* Which rule of the library a commit came from: for the judge alone. */
struct mark {
    enum decision_rule rule;
    struct ticket_id id;
    struct ticket_id instead; /* of a question: who leaves with it */
    uint64_t token;
};

struct request {
    int client;
    uint64_t id;
    enum request_kind kind;
    char key[NAME_BYTES_MAX + 1];
    /* commit */
    uint64_t version; /* as it was read; 0: there was no record */
    uint64_t floor_read;
    uint64_t floor;
    int what; /* STORE_KEEP: only the version is raised */
    const void *bytes;
    size_t len;
    uint64_t live[REQUEST_LIST_MAX];
    int live_count;
    uint64_t ring[REQUEST_LIST_MAX];
    int ring_count;
    uint64_t notice;
    int64_t decided_ms; /* facts.now of the decision */
    bool granted; /* the decision may rest on news: GRANTS in store/store.h */
    struct mark mark;
    /* sessions */
    uint64_t session;
    int64_t ttl_ms;
    uint64_t notices_seen;
    /* watch: these sessions, for `key`; or everything */
    uint64_t watch[REQUEST_LIST_MAX];
    int watch_count;
    bool watch_all;
};

struct alive {
    uint64_t session;
    int64_t until_ms;
};

struct record_state {
    uint64_t version;
    const void *bytes;
    size_t len;
};

struct reply {
    uint64_t id;
    int code; /* 0, or why the server does not serve */
    bool conflict;
    int64_t now_ms;
    uint64_t floor;
    struct record_state record[PLAN_NAMES_MAX]; /* [0] when one was read */
    const struct alive *alive;
    int alive_count;
    uint64_t session;
    uint64_t notices;
    uint64_t deletions; /* of records, so far: with OPEN and RENEW */
    uint64_t restores;  /* so far: with news */
};

/* The server's machine. */
extern struct host server_host;

void server_begin(void);

/* Does it, at this instant.  The reply lives until the end of the run. */
struct reply *server_serve(const struct request *q);

/* What becomes of a request that arrives: whether it is served now, dropped, refused (nothing
 * listens), or held up until *ret_until_us. */
enum server_fate { SERVER_SERVES, SERVER_DROPS, SERVER_REFUSES, SERVER_HOLDS };
enum server_fate server_fate(enum request_kind kind, int64_t *ret_until_us);

/* A process on the store's own machine ended (embedded): its sessions are over at once. */
void server_client_died(int client);

/* What the judge and the faults know of it. */
int server_name_index(const char *key);
bool server_session_is_alive(uint64_t session);
int server_sessions_alive(void);
struct record_state server_record(int name);

/* Faults. */
void server_crash(int64_t down_us);
/* Nothing is answered, or (records_only) what concerns sessions is: a table is locked. */
void server_stall(int64_t us, bool records_only);
void server_remember(void);        /* takes a copy */
uint64_t server_restores(void);    /* how often that was done: each breaks all connections */
bool server_restore(void);         /* goes back to the copy; refuses until an operator has acted */
void server_lose_last(void);       /* embedded: the machine died with the last commits */
bool server_remove(int name);      /* deletes a record without a word */

/* A hint on its way to a client; sim/engine.c carries it. */
void client_hint(int client, bool all, const char *key);

/* ... and with what the store was when it had to (sim/client.c). */
void client_tell(int client, const char *key, const struct reply *said);

#endif
