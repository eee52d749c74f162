/* cli/client.h - a store, opened for a command; and how its errors end the program. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <stdbool.h>
#include <tenure/tenure.h>

#include "core/time.h"

struct invocation;

/* Opens the store that --store or the environment names.  `opt` NULL: as it is by
 * default, and only a store that is there, because to look at a mistyped one must not make it.
 * 0, or it was said what is wrong and the exit code is returned. */
int client_open(const struct invocation *inv, const tenure_options *opt, tenure **ret);

/* The same for who watches, and may be there first: while the store cannot be reached, or is not
 * made yet, it says so once and goes on trying.  *ret_new: it was made after this began, so
 * whatever is in it happened since. */
int client_open_to_watch(const struct invocation *inv, tenure **ret, bool *ret_new);

/* Says it when what is held there keeps nobody else away. */
void client_note_kind(const tenure *t);

/* Where the store is, for people and logs: without a password. */
#define CLIENT_WHERE_BYTES 4200 /* more than a URL may have */
const char *client_where(const tenure *t, char buf[CLIENT_WHERE_BYTES]);

/* Says the error and returns its exit code. */
int client_fail(const tenure_error *err);

/* "user@host": who acts at this terminal.  --as wins. */
#define CLIENT_ACTOR_BYTES 129
const char *client_actor(const struct invocation *inv, char buf[CLIENT_ACTOR_BYTES]);

/* After a call that was answered with `*code`: true when it is to be made again, because it was
 * TENURE_HELD, `limit` (os/clock.h) is still to come, and something may have changed since.  An
 * error of the waiting takes the place of *code, in *err. */
bool client_asks_again(tenure *t, struct instant limit, int *code, tenure_error *err);

/* One call of an operator about inv->operand[0].  `by` is who acts; *ret_token, 0 before, is what
 * is printed when it is set. */
typedef int client_call(tenure *t, const struct invocation *inv, const char *by,
                        tenure_token *ret_token, tenure_error *err);

/* Makes it on a store that is there already.  Returns the exit code. */
int client_operate(const struct invocation *inv, client_call *call);

/* Looks, waits until something may have changed, and looks again, until stdout is broken.  An
 * outage is said once, and its end; what cannot pass by itself ends it.  Returns the exit code. */
typedef int client_look(void *arg, tenure *t, tenure_error *err);
int client_watch(tenure *t, client_look *look, void *arg);

#endif
