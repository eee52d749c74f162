/* cli/permit_verify.h - tenure permit verify: the side of the effector, without a store. */
#ifndef CLI_PERMIT_VERIFY_H
#define CLI_PERMIT_VERIFY_H

#include <jansson.h>
#include <tenure/permit.h>

struct invocation;

int permit_verify(const struct invocation *inv);

/* What a permit says, as members of a JSON object. */
void permit_set_json(json_t *object, const tenure_permit *p);

#endif
