/* store/memory.h - the reference engine, in one process; and what tests may do to it.
 *
 * "memory:NAME" is one store for all handles of the process that name it, until the process ends;
 * "memory:" is a store of its own for each handle.  Sessions end by expiry, by
 * store_session_close(), or by memory_session_end(); they do not hang on a process.
 *
 * A handle is used by one thread at a time; handles of one store by any number of threads.
 * decide() and store_read_fn run with the store locked and must not call it. */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "store/store.h"

/* Takes the store's clock into the caller's hands: from now on it is `now` and moves only by
 * further calls, never back. */
void memory_clock_set(struct store *store, struct instant now);

/* Ends a session as the death of its process would. */
void memory_session_end(struct store *store, uint64_t session);

#endif
