/* sim/resource.h - what the tenures are for: something that is written to, behind a guard.
 *
 * One for each name, not on the store's machine.  It keeps the highest token that it was told of
 * or has admitted and asks tenure/guard.h about each write.
 */
#ifndef SIM_RESOURCE_H
#define SIM_RESOURCE_H

#include <tenure/tenure.h>

#include "sim/host.h"

void resource_begin(void);

/* Sends a write from a host: it arrives later, whatever becomes of its writer. */
void resource_write(const struct host *from, int name, tenure_token token);

/* Announces a token, and waits until the resource has heard.  In a task. */
void resource_announce(int name, tenure_token token);

#endif
