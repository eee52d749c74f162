/* store/etcd_message.h - messages to etcd, put together in memory that is given back at once. */
#ifndef STORE_ETCD_MESSAGE_H
#define STORE_ETCD_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcd.pb-c.h"

/* ---- memory ---------------------------------------------------------------------------------- */

#define ETCD_OPS_MAX 128

struct etcd_txn {
    struct etcd_arena *arena;
    Etcd__TxnRequest m;
    Etcd__Compare *compare[ETCD_OPS_MAX];
    Etcd__RequestOp *success[ETCD_OPS_MAX], *failure[ETCD_OPS_MAX];
};

struct etcd_arena_block;

struct etcd_arena {
    struct etcd_arena_block *block; /* the newest first */
    bool failed;                    /* something did not fit: nothing built since is to be used */
    struct etcd_txn spare;          /* written to, and never sent: there was no memory for one */
};

/* Zeroed; NULL without memory. */
void *etcd_arena_take(struct etcd_arena *a, size_t size);

/* Empties it, and keeps a block for the next time. */
void etcd_arena_clear(struct etcd_arena *a);
void etcd_arena_free(struct etcd_arena *a);

/* ---- keys ------------------------------------------------------------------------------------ */

typedef ProtobufCBinaryData etcd_key;

/* Texts one behind the other; `b` may be NULL.  Behind the key lies a NUL. */
etcd_key etcd_key_of(struct etcd_arena *a, const char *prefix, const char *what, const char *b);

/* prefix, what, 16 hexadecimal digits, tail. */
etcd_key etcd_key_number(struct etcd_arena *a, const char *prefix, const char *what, uint64_t n,
                         const char *tail);

/* The first key behind all that begin with it; it does not end in 0xff. */
etcd_key etcd_key_end(struct etcd_arena *a, etcd_key k);

/* ---- transactions ---------------------------------------------------------------------------- */

/* An empty one.  Never NULL: without memory a spare one, and the arena has failed. */
struct etcd_txn *etcd_txn_new(struct etcd_arena *a);

/* Conditions. */
void etcd_txn_if_version(struct etcd_txn *t, etcd_key k, int64_t mod_revision); /* 0: none */
void etcd_txn_if_exists(struct etcd_txn *t, etcd_key k);
void etcd_txn_if_unchanged(struct etcd_txn *t, etcd_key k, int64_t since); /* a revision */

/* What then happens. */
void etcd_txn_put(struct etcd_txn *t, etcd_key k, const void *value, size_t len, int64_t lease);
void etcd_txn_touch(struct etcd_txn *t, etcd_key k); /* same value and lease, a new version */
void etcd_txn_ring(struct etcd_txn *t, etcd_key k, const void *value, size_t len); /* same lease */
void etcd_txn_delete(struct etcd_txn *t, etcd_key k);
void etcd_txn_nest(struct etcd_txn *t, struct etcd_txn *sub);
void etcd_txn_range(struct etcd_txn *t, etcd_key k, etcd_key end, int64_t limit, bool keys_only);

/* What else. */
void etcd_txn_else_range(struct etcd_txn *t, etcd_key k, etcd_key end);
void etcd_txn_else_put(struct etcd_txn *t, etcd_key k); /* nothing, there */

/* How many operations etcd counts. */
size_t etcd_txn_width(const struct etcd_txn *t);

/* ---- answers --------------------------------------------------------------------------------- */

/* The result of the nth operation as a Range; NULL when it is none. */
const Etcd__RangeResponse *etcd_answer_range(const Etcd__TxnResponse *t, size_t n);
const Etcd__RangeResponse *etcd_sub_range(const Etcd__SubTxnResponse *t, size_t n);

#endif
