/* sim/system.h - the simulator's side of the twins: bells, memory that is counted, fork.
 *
 * A bell is what a descriptor is to epoll: it is rung when there is something to do.
 */
#ifndef SIM_SYSTEM_H
#define SIM_SYSTEM_H

#include "os/waiter.h"
#include "sim/task.h"

#define BELLS_MAX 4096

int bell_new(void);
void bell_set(int bell, bool rings); /* wakes up who waits on it, or on the waiter around it */

/* As a program polls tenure_fd(): waiter_wait() without the library's nudges. */
bool waiter_poll(const struct waiter *w, struct instant until);

/* A number that no other block of the run ever had. */
uint64_t memory_birth(const void *p);

/* Blocks that tasks of hosts in their present life have and did not free. */
unsigned memory_left(void);

/* Makes all open handles the handles of a parent process, as fork() does in the child: then
 * tenure_close() only frees them.  For the programs that died. */
void system_orphan_handles(void);

/* Frees what the dead left; between two runs. */
void system_reset(void);

#endif
