/* tests/turns/script.h - a store that answers when it is told to, and a clock that is set by hand.
 *
 * Handles of the library, as it is in the product, on the memory engine behind a wrapper that can
 * hold each kind of request back.  There are no threads and nothing sleeps: the clock moves only
 * in script_run() and script_pass(), and where a call of the library waits, to the instant that
 * it waits for.  So each order of events is forced, and no case takes time.
 *
 * Handles are numbered in the order in which they were opened, from 0. */
#ifndef TESTS_TURNS_SCRIPT_H
#define TESTS_TURNS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <tenure/tenure.h>

enum call { CALL_UPDATE, CALL_READ, CALL_OPEN, CALL_RENEW, CALL_CLOSE, CALL_KINDS };

/* A new store, which no handle has open; counts start over. */
void script_begin(void);

/* A handle of it. */
tenure *script_open(int64_t ttl_ms, int64_t max_silence_ms);

/* From now on requests of this kind by the handle wait until they are served, or no longer. */
void script_hold(int handle, enum call kind, bool on);

/* From now on its updates wait until it has nothing more to ask: for its store's next turn. */
void script_gather(int handle);

/* Serves those that wait; each turns into an answer that the next turn finds. */
void script_serve(int handle, enum call kind);

/* They happen, and their answers are lost. */
void script_swallow(int handle, enum call kind);

/* The next so many happen at once, and their answers are lost. */
void script_lose(int handle, enum call kind, unsigned count);

/* So many (behind those that are lost) do not happen: the store cannot be reached. */
void script_refuse(int handle, enum call kind, unsigned count);

unsigned script_waiting(int handle, enum call kind);

/* What another thread does while the next call waits, once. */
void script_meanwhile(void (*fn)(void));

/* The next request of this kind takes so long, as in a process that is stopped in its middle. */
void script_slow(int handle, enum call kind, int64_t ms);

/* From now on each request of this kind takes so long, and then does not happen. */
void script_jam(int handle, enum call kind, int64_t ms);

/* How many requests of this kind the handle has sent. */
unsigned script_asked(int handle, enum call kind);

/* Puts bytes into the place of a record, or takes it away (NULL), behind everybody's back. */
void script_put(const char *name, const void *bytes, size_t len);

/* Whether the store has a record of this name. */
bool script_has(const char *name);

/* What store_vigil() says; at the beginning 0: nobody hears of deletions. */
void script_vigil(uint64_t number);

/* Whether the handle's descriptor is readable. */
bool script_is_readable(int handle);

/* Ends the handle's session as the death of its process would. */
void script_end_session(int handle);

/* The clock goes on and every handle does what is due, as in an event loop. */
void script_run(int64_t ms);

/* The clock goes on, and nobody runs: all programs are stopped. */
void script_pass(int64_t ms);

/* Only this one's program runs, the others are stopped. */
void script_run_alone(int handle, int64_t ms);

/* Each handle turns once, as if its descriptor were readable. */
void script_turn(void);

#endif
