/* sim/actor.h - programs that use the library as the header says, each on a host of its own.
 *
 * An actor is a task that draws one action after the other: lock and work, try, wait for several
 * names and change its mind, lead, take leases, look, evict, resign, transfer, close and open
 * again, hang.  When the run becomes quiet it lets go of everything, and then wants each name once
 * more: whoever is not served then has been forgotten.
 */
#ifndef SIM_ACTOR_H
#define SIM_ACTOR_H

#include "sim/resource.h"
#include "sim/server.h"
#include "sim/task.h"

#define ACTOR_CLAIMS_MAX 4

struct actor {
    int index;
    struct host host;
    char as[24];
    tenure *t; /* NULL between two handles, and while its host is down */
    int client;
    struct {
        tenure_claim *c;
        int name;
    } claim[ACTOR_CLAIMS_MAX]; /* of the main task */
    int claims;
    tenure_token lease[PLAN_NAMES_MAX]; /* that it took and did not drop; on its disk */
    struct task *helper;                /* a second thread, or NULL */
    bool down;                          /* its host has crashed */
    bool served;                        /* in the quiet phase: it got every name once more */
    bool closed;
};

struct cast {
    struct actor actor[PLAN_ACTORS_MAX];
    int count;
    bool rests; /* all are to wait for one name, and do nothing */
    bool ends;  /* all are to close their handles */
    tenure *orphan[CLIENTS_MAX]; /* handles of programs that died */
    int orphans;
};
extern struct cast cast;

void cast_begin(void);

/* The host vanishes with its programs; it comes back after down_us. */
void actor_crash(struct actor *a, int64_t down_us);

/* Frees what the dead left in memory. */
void cast_end(void);

/* ---- sim/script.c: what actors do -------------------------------------------------------- */

/* One action. */
void script_act(struct actor *a);

/* Lets go of all, and then gets each name once. */
void script_settle(struct actor *a);
void script_prove(struct actor *a);

/* Stands by for the first name, until cast.ends. */
void script_rest(struct actor *a);

/* ---- sim/deed.c: single calls, traced and judged ----------------------------------------- */

/* Works as an event loop, or leaves it to the pump, for so long; takes events. */
void deed_nap(struct actor *a, int64_t ms);

/* Acquires, with the name's terms; 0 and *ret, or a code. */
int deed_acquire(struct actor *a, int name, int64_t wait_ms, tenure_claim **ret);
int deed_ask(struct actor *a, int name, tenure_claim **ret);
int deed_release(struct actor *a, tenure_claim *c);
void deed_leave(struct actor *a, tenure_claim *c);

/* One or the other. */
void deed_give_back(struct actor *a, tenure_claim *c);

/* Writes to the resource while the claim stands, about `writes` times. */
void deed_work(struct actor *a, tenure_claim *c, int name, int writes);

int deed_lease_take(struct actor *a, int name, int64_t ttl_ms);
void deed_lease_renew(struct actor *a, int name);
void deed_lease_drop(struct actor *a, int name);

/* Looks around and ends, resigns or transfers something that it saw. */
void deed_operate(struct actor *a);
void deed_look(struct actor *a);

#endif
