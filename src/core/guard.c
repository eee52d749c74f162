/* core/guard.c - the rule of every guard (include/tenure/guard.h, P10). */
#include <tenure/guard.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT tenure_guard_verdict tenure_guard_admit(uint64_t mark, uint64_t token, bool strict)
{
    if (token == 0 || token < mark)
        return TENURE_GUARD_STALE;
    if (token == mark)
        return TENURE_GUARD_ADMIT;
    return strict ? TENURE_GUARD_NEWER : TENURE_GUARD_RAISE;
}

EXPORT const char *tenure_guard_verdict_text(tenure_guard_verdict verdict)
{
    static const char *const text[] = {"unknown", "admit", "raise", "stale", "newer"};
    return verdict <= TENURE_GUARD_NEWER ? text[verdict] : text[0];
}
