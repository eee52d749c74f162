/* http/verdict.h - what a check of a request can end with.  The first four are those of
 * tenure/guard.h; a request goes on with the first two, and with nothing else. */
#ifndef HTTP_VERDICT_H
#define HTTP_VERDICT_H

#include <stdbool.h>
#include <tenure/guard.h>

enum http_verdict {
    HTTP_ADMIT = TENURE_GUARD_ADMIT,
    HTTP_RAISE = TENURE_GUARD_RAISE,
    HTTP_STALE = TENURE_GUARD_STALE,
    HTTP_NEWER = TENURE_GUARD_NEWER,
    HTTP_MISSING,     /* no token for this guard was shown */
    HTTP_INVALID,     /* what was shown is no token, or there are two */
    HTTP_BROKEN,      /* there is no such guard: a mistake in the set-up */
    HTTP_UNAVAILABLE, /* the mark could not be made durable */
    HTTP_VERDICTS,    /* how many, and one: none is 0 */
};

static inline bool http_verdict_admits(enum http_verdict v)
{
    return v == HTTP_ADMIT || v == HTTP_RAISE;
}

/* Its word, as in the header Tenure-Verdict; static storage. */
static inline const char *http_verdict_text(enum http_verdict v)
{
    static const char *const text[] = {"missing", "invalid", "broken", "unavailable"};
    return v < HTTP_MISSING ? tenure_guard_verdict_text((tenure_guard_verdict)v)
                            : text[v - HTTP_MISSING];
}

#endif
