/* wire/endpoint.h - HOST[:PORT] as it stands in URLs; an IPv6 address is in brackets.  Pure. */
#ifndef WIRE_ENDPOINT_H
#define WIRE_ENDPOINT_H

#include <stdint.h>

#include "core/text.h"

#define ENDPOINT_HOST_BYTES_MAX 255

/* Takes the host from the front of *t; *ret is without brackets, which only an IPv6 address has.
 * False, and both untouched, when there is none. */
bool endpoint_take_host(struct text *t, struct text *ret);

/* Reads ":PORT"; `standard` when t is empty.  Port 0 is a port here: who listens may mean any.
 * False, and *ret untouched, when it is none. */
bool endpoint_read_port(struct text t, uint16_t standard, uint16_t *ret);

#endif
