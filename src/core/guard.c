#include "core/guard.h"

enum guard_verdict guard_admit(uint64_t mark, uint64_t token, bool strict)
{
    if (token == 0 || token < mark)
        return GUARD_STALE;
    if (token == mark)
        return GUARD_ADMIT;
    return strict ? GUARD_NEWER : GUARD_RAISE;
}

const char *guard_verdict_text(enum guard_verdict verdict)
{
    static const char *const text[] = {"none", "admit", "raise", "stale", "newer"};
    return verdict <= GUARD_NEWER ? text[verdict] : "unknown";
}
