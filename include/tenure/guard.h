/* tenure/guard.h - the rule of every guard, for who owns what is written to.
 *
 * WHAT IT IS FOR.  A lock, a lease or an election says who should write; a process that was stopped
 * for an hour writes all the same.  Only where the write lands can it be refused.  For tables in
 * SQLite and PostgreSQL `tenure guard` does that, without a line of code.  For anything else - a
 * file, a service, a database of another kind - keep a *mark* beside the thing, ask this rule, and
 * do what it says.  docs/boundary.md has recipes, docs/examples/replace.c a file.  A service whose
 * proxy asks tenure's HTTP guard does so, too: the proxy looks before the write, not with it.
 *
 * THE MARK of a name is the highest token that was announced or has written.  It begins at 0 and
 * never goes down.
 *
 * WHAT YOU MUST SEE TO, because no function can:
 *   - Read the mark, ask, store the raised mark and write in ONE transaction, or under one lock
 *     that every writer takes.  To decide first and write later is the race that it is to end.
 *   - Store the raised mark before the write is seen, and as durably.
 *   - Announce: who takes over raises the mark before its work starts, by the same rule and in a
 *     transaction without a write.  Else an old holder writes until the new one does.
 *
 * Pure functions: no memory, no lock, any thread, also after fork().
 */
#ifndef TENURE_GUARD_H
#define TENURE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "Stale" and "newer" are different answers on purpose: a stale writer has been replaced and must
 * stop; a newer one met a guard that was not told of it, which is a mistake in the set-up. */
typedef enum tenure_guard_verdict {
    TENURE_GUARD_ADMIT = 1, /* the token is the mark: the write goes on */
    TENURE_GUARD_RAISE,     /* the token is higher: raise the mark to it, and the write goes on */
    TENURE_GUARD_STALE,     /* the token is lower, or no token at all (0): refuse */
    TENURE_GUARD_NEWER,     /* the token is higher and has to be announced first: refuse */
} tenure_guard_verdict;

/* What becomes of a write that shows `token` to a guard whose mark is `mark`.  With `strict` only
 * an announcement raises the mark.  An announcement is judged by the same rule, never strict. */
tenure_guard_verdict tenure_guard_admit(uint64_t mark, uint64_t token, bool strict);

/* "admit", "raise", "stale", "newer": the words of every guard; "unknown" for anything else.
 * Static storage. */
const char *tenure_guard_verdict_text(tenure_guard_verdict verdict);

#ifdef __cplusplus
}
#endif

#endif
