/* store/etcd_error.c - what it means when a call was not answered. */
#include <stdio.h>
#include <string.h>

#include "store/etcd_engine.h"

static bool says(const struct etcd_call *c, const char *text)
{
    return strstr(c->text, text) != NULL;
}

/* The code, for a status that means: it did not happen, and will not. */
static int refusal(const struct etcd_call *c)
{
    switch (c->status) {
    case GRPC_PERMISSION_DENIED:
        return TENURE_DENIED;
    case GRPC_RESOURCE_EXHAUSTED:
        return says(c, "space exceeded") ? TENURE_NO_SPACE : TENURE_INVALID;
    case GRPC_DATA_LOSS:
        return TENURE_CORRUPT;
    case GRPC_UNIMPLEMENTED:
        return TENURE_FOREIGN; /* it speaks gRPC, but it is no etcd of version 3.4 or later */
    case GRPC_INVALID_ARGUMENT:
    case GRPC_FAILED_PRECONDITION:
        return says(c, "user name is empty") || says(c, "authentication") ? TENURE_DENIED
                                                                          : TENURE_INTERNAL;
    case GRPC_NOT_FOUND:
    case GRPC_OUT_OF_RANGE:
        return TENURE_INTERNAL;
    default:
        return 0;
    }
}

enum etcd_error_kind etcd_error(const struct etcd_store *s, const struct etcd_call *c,
                                enum etcd_call_end end, tenure_error *err)
{
    if (end != CALL_REFUSED) {
        fail(err, TENURE_UNREACHABLE, "%s",
             s->link.trouble.code < 0     ? s->link.trouble.text
             : s->link.state == LINK_UP ? "etcd broke off a request"
                                          : "the connection to etcd was lost");
        return end == CALL_UNSENT ? ETCD_ERROR_AGAIN : ETCD_ERROR_UNSURE;
    }
    const char *text = c->text[0] ? c->text : "no reason given";
    if (c->status == GRPC_RESOURCE_EXHAUSTED && says(c, "too many requests")) {
        fail(err, TENURE_BUSY, "etcd: %s", text);
        return ETCD_ERROR_AGAIN;
    }
    if (c->status == GRPC_UNAUTHENTICATED || says(c, "auth store is old")) {
        /* A login has expired: the next connection makes a new one.  Only its refusal is one. */
        fail(err, s->token ? TENURE_UNREACHABLE : TENURE_DENIED, "etcd: %s", text);
        return ETCD_ERROR_AGAIN;
    }
    int code = refusal(c);
    if (code < 0) {
        fail(err, code, "etcd: %s", text);
        return ETCD_ERROR_REFUSED;
    }
    fail(err, TENURE_UNREACHABLE, "etcd: %s (gRPC status %d)", text, c->status);
    return ETCD_ERROR_UNSURE;
}
