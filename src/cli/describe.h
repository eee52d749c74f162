/* cli/describe.h - the words and the JSON for what tenure_look() shows. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include <jansson.h>
#include <tenure/tenure.h>

/* "lock", "lease", "election" */
const char *kind_text(tenure_kind kind);

/* "held", "shared", "serving", "ending", "waiting", "dead" */
const char *ticket_text(const tenure_ticket_info *t);

static inline bool ticket_waits(const tenure_ticket_info *t)
{
    return t->state == TENURE_TICKET_WAITING;
}

/* How many of a name's tickets hold; they come first. */
size_t name_holders(const tenure_name_info *info);

/* What stays the same while nothing changes: ticket, state, token, as, value, shared, priority,
 * ttl_ms, since (time of day).  New reference. */
json_t *ticket_json(const tenure_ticket_info *t);

/* A tenure that ended.  New reference. */
json_t *past_json(const tenure_past_info *p);

/* Looks at exactly one name: fn is called once, or not at all when there is no such record. */
int look_at(tenure *t, const char *name, tenure_look_fn *fn, void *arg, tenure_error *err);

#endif
