/* cli/run.h - what lock and lead share: stand in line, run a command for a term, give it back.
 *
 * A term is the time from a grant to its end.  Whatever happens in it, these hold:
 *   - the command is started only while the tenure stands, and after the guard was told;
 *   - the command's whole tree is gone before the tenure is given back (P12);
 *   - a term that ended before its work is *cut*, whatever the command's own code is (81).
 *
 * run_open() -> { run_stand() -> run_term() [-> run_rest()] } once for each term -> run_close()
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <stdbool.h>
#include <tenure/tenure.h>

#include "core/timing.h"
#include "os/signals.h"

struct invocation;
struct supervisor;

struct run {
    const struct invocation *inv;
    const char *name;
    tenure_kind kind;
    tenure_terms terms;
    struct timing timing;
    struct signals signals;
    struct supervisor *ready; /* for the next term: its guardian stands by; NULL: none does */
    tenure *t;
    tenure_claim *claim; /* NULL between terms */
    struct instant began;
    bool stood_before;   /* the store has accepted a question of ours */
    bool cut;            /* the present term was lost, or told to end */
    bool lost;           /* it was lost, and people were told */
    unsigned sick_terms; /* in a row, ended by a probe that never succeeded; cli/probe.h counts */
    int ended_by;        /* the signal by which we were asked to end during the term, or 0 */
    struct instant troubled; /* since when the store cannot be used; INSTANT_NEVER: it can */
};

/* Checks the settings, opens the store and the signals.  0, or it was said what is wrong and the
 * exit code is returned; then nothing is open. */
int run_open(struct run *r, const struct invocation *inv, tenure_kind kind);

/* Waits in line until r->claim is held: true.  Else false with the exit code (which -E can make
 * any number, 0 too), and nothing is left behind. */
bool run_stand(struct run *r, int *ret_code);

/* Runs the command, or holds for a signal, until the work or the term is over, and gives the
 * tenure back.  Returns the exit code; r->cut says whether the term ended first. */
int run_term(struct run *r);

/* Lets time pass, and the library work, while nothing is asked for.  False when a signal ended it,
 * with the exit code. */
bool run_rest(struct run *r, struct instant until, int *ret_code);

/* Closes everything; returns `code`. */
int run_close(struct run *r, int code);

/* ---- for serve.c and hold.c ----------------------------------------------------------------- */

/* Lets the library work and takes its events: what people should know is said, and r->cut is set
 * when the term is over.  Returns true when it is lost for good, not only told to end. */
bool run_turn(struct run *r);

/* A leader serves: tells the store, for who waits for a transfer, when *must is set, which is
 * cleared once the store has heard.  Call it again whenever the loop comes round. */
void run_report(struct run *r, bool *must);

/* While no command runs: the number of a signal that asks us to end, or 0.  A stop from the
 * terminal is obeyed on the way. */
int run_signal(struct run *r);

/* The limit of a poll() that ends at `until`; -1 for never. */
int run_poll_ms(struct instant until);

/* run_term() with and without a command, without giving it back. */
int serve_term(struct run *r);
int hold_term(struct run *r);

#endif
