/* core/guard.h - the rule of every guard (P10): what becomes of a write that shows a token.
 *
 * A guard keeps one number per name, its *mark*: the highest token that it was told of
 * (announced) or that a write has shown.  The mark never goes down.  A guard reads the mark,
 * asks this rule and stores the raised mark in the transaction of the write itself; what it
 * must never do is to decide first and write later.
 *
 * "Stale" and "newer" are different answers on purpose: a stale writer has been replaced and
 * must stop; a newer one met a guard that was not told of it, which is a mistake in the set-up.
 */
#ifndef CORE_GUARD_H
#define CORE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

enum guard_verdict {
    GUARD_ADMIT = 1, /* the token is the mark: the write goes on */
    GUARD_RAISE,     /* the token is higher: raise the mark to it, and the write goes on */
    GUARD_STALE,     /* the token is lower, or no token at all (0): refused */
    GUARD_NEWER,     /* the token is higher and has to be announced first: refused */
};

/* What becomes of a write that shows `token` to a guard whose mark is `mark`.  With `strict` only
 * an announcement raises the mark.  An announcement is judged by the same rule, never strict. */
enum guard_verdict guard_admit(uint64_t mark, uint64_t token, bool strict);

/* "admit", "raise", "stale", "newer": the words of every guard.  Static storage. */
const char *guard_verdict_text(enum guard_verdict verdict);

#endif
