/* cli/guard.h - `tenure guard`, and the announcement that lock and lead make for --guard.
 *
 * A target is where writes land, as a URL: "sqlite:PATH" (guards/sqlite), "postgres://..."
 * (guards/postgres), "http://..." (guards/http).  What knows about the kinds of targets is here
 * alone.
 */
#ifndef CLI_GUARD_H
#define CLI_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <tenure/error.h>

struct invocation;

/* Whether the target is one that this program knows; opens nothing.  0 or TENURE_INVALID. */
int guard_target_check(const char *target, tenure_error *err);

/* Tells the guard `name` at the target that `token` stands now: from then on every lower one is
 * refused there.  Called before the work of a new holder starts; when it fails, the work must not
 * start.  Takes the calling thread for at most GUARD_PATIENCE_MS while a transaction of the
 * former holder is open, and for as long again to reach a server.
 *   TENURE_NOT_OWNED    the guard knows a higher token: this one is stale
 *   TENURE_INVALID      no such kind of target, or no guard of this name there
 *   and the codes of guards/target/target.h: BUSY, UNREACHABLE, UNSURE, DENIED, ... */
#define GUARD_PATIENCE_MS 2000
int guard_announce(const char *target, const char *name, uint64_t token, tenure_error *err);

/* Whether the guard at this target (NULL: none) looks for the token in a setting that programs take
 * from PGOPTIONS. */
bool guard_takes_pgoptions(const char *target);

/* `tenure guard install|announce|check|remove`. */
int command_guard(struct invocation *inv);

/* `tenure guard serve` (guard_serve.c). */
int command_guard_serve(struct invocation *inv);

#endif
