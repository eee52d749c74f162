/* sim/client.h - a handle of the simulated engine, from the inside; see sim/engine.h.
 *
 * sim/engine.c has the calls of the contract, sim/client.c the way to the server and back,
 * sim/decide.c what is decided on a reply, sim/embedded.c the engine that answers at once.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "sim/engine.h"
#include "sim/server.h"

#define HINTS_MAX 16

enum work { WORK_NONE, WORK_UPDATE, WORK_READ, WORK_OPEN, WORK_RENEW, WORK_CLOSE };

/* An operation in flight. */
struct pending {
    struct pending *next;
    uint64_t id; /* of the request that it waits for */
    enum work work;
    struct store_op *op;
    uint64_t doubt; /* of the key, when it was decided */
    bool commits;
};

struct client {
    struct store store; /* first: the library's handle */
    int index;
    struct host *host;
    uint64_t life;
    bool closed;
    int bell;
    struct pending *pending;
    struct reply **inbox;
    int inbox_count, inbox_room;
    struct {
        bool all;
        uint64_t hash[HINTS_MAX];
        int count;
    } hints;
    bool watches[PLAN_NAMES_MAX], watches_all;
    struct instant looked;            /* when the safety net was last due */
    uint64_t doubt[PLAN_NAMES_MAX];   /* counts abandoned updates */
    uint64_t settled[PLAN_NAMES_MAX]; /* ... that can do no harm any more */
    uint64_t notices; /* of the session, that were reported */
    uint64_t session, vigil;
    const struct reply *told[PLAN_NAMES_MAX]; /* the last that is known of a name is news */
    struct engine_cost cost;
};

/* ---- sim/client.c --------------------------------------------------------------------------- */

void clients_begin(void);
void client_add(struct client *c); /* numbers it */
int client_count(void);
struct client *client_at(int index);
uint64_t client_next_id(void); /* of a request */
void client_ring(const struct client *c); /* its bell, when it has something to do */

/* Sends the request, and notes the operation that waits for its reply (WORK_NONE: none does). */
void client_send(struct client *c, struct request *q, enum work work, struct store_op *op);

/* Takes what has arrived. */
void client_process(struct client *c);

/* Whether news tell of a grant that ends the operation. */
bool client_knows(struct client *c, struct store_update *op);

/* Gives up an operation in flight. */
void client_abandon(struct client *c, struct store_op *op);

/* ---- sim/decide.c --------------------------------------------------------------------------- */

/* Calls the decision and makes the commit that follows from it.  Returns its verdict or code. */
int decide_on(struct store_update *op, const struct reply *p, struct request *q);
void decide_read(struct store_read *op, const struct reply *p);

/* ---- sim/embedded.c ------------------------------------------------------------------------- */

void embedded_update(struct client *c, struct store_update *op);
void embedded_read(struct client *c, struct store_read *op);
void embedded_open(struct client *c, struct store_session_open *op);
void embedded_renew(struct client *c, struct store_session_renew *op);
void embedded_close(struct client *c, struct store_session_close *op);

#endif
