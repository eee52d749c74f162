/* sim/judge.h - the promises (docs/promises.md), checked after every event of a run.
 *
 * The judge sees what nobody in the world can see: every record at the moment it changes, and the
 * belief of every claim on every host at the same instant.  What it checks:
 *
 *   P1  every grant's token is higher than all that the name ever gave
 *   P2  a grant goes to a live session, and to no ticket that was given up
 *   P3  beliefs of one name exclude each other as its terms say, and who believes is in the record
 *   P4  a claim whose belief has ended never believes again
 *   P5  a change takes away exactly the tenure that it names, or a dead one
 *   P6  an answer is what happened: done, refused, or not known - never something else
 *   P8  tickets are served by priority, then in the order of asking; who rings whom is constant
 *   P10 a resource admits no write below a token that it was told of or has admitted
 */
#ifndef SIM_JUDGE_H
#define SIM_JUDGE_H

#include <tenure/tenure.h>

#include "sim/server.h"

/* What a run showed, for the summary. */
struct tally {
    uint64_t grants, losses, writes, stale_writes, late_writes, unsure;
    uint64_t overlaps;  /* in runs whose clocks drift beyond the bound: beliefs in a token that */
    int64_t overlap_us; /* the store had taken away; the longest, which those clocks allow */
};
extern struct tally tally;

void judge_begin(void);

/* After every event. */
void judge_look(void);

/* The run is quiet from now on; at its end nothing may be left. */
void judge_quiet(void);
void judge_end(void);

/* ---- the server's side ------------------------------------------------------------------- */

void judge_commit(int name, const struct record_state *before, const struct record_state *after,
                  const struct request *q);
void judge_session_ended(uint64_t session);

/* The record was replaced behind everybody's back: who was in it is excused from P3. */
void judge_replaced(int name, const struct record_state *now);

/* ---- the programs' side ------------------------------------------------------------------ */

void judge_opened(struct host *host, tenure *t, int client);
void judge_closed(const tenure *t); /* or dead */

/* How often a commit of this rule took effect for a client. */
uint64_t judge_commits(int client, enum decision_rule rule);

/* A release of a ticket (as tenure_claim_ticket() gives it) was answered with code.  `stood`: the
 * tenure stood before the call and its deadline has not passed yet. */
void judge_released(const char *ticket, int code, bool stood);

/* A claim is held with this token, its owner was told. */
void judge_granted(const char *name, const char *ticket, tenure_token token);

/* An operation on a token (evict, lease renew and drop) was answered with code; `commits` of it
 * took effect meanwhile. */
void judge_operated(enum decision_rule rule, const char *name, tenure_token token, int code,
                    uint64_t commits);

/* A resource admitted a write. */
void judge_admitted(int name, tenure_token token, tenure_token announced);

/* Of the programs' side: sim/belief.c. */
void belief_begin(void);
void belief_look(void);
void belief_replaced(int name);

/* What the record of a name says now, as the last commit left it. */
bool judge_stands(int name, uint64_t token);
bool judge_is_excused(int name, uint64_t token); /* it was replaced behind its back */
bool judge_is_exclusive_ticket(int name, uint64_t token);

#endif
