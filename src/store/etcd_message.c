#include "store/etcd_message.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (64u << 10)

/* ---- memory ---------------------------------------------------------------------------------- */

struct etcd_arena_block {
    struct etcd_arena_block *older;
    size_t used, size;
    max_align_t bytes[];
};

void *etcd_arena_take(struct etcd_arena *a, size_t size)
{
    struct etcd_arena_block *b = a->block;
    size = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!b || b->size - b->used < size) {
        size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        b = malloc(sizeof *b + room);
        if (!b) {
            a->failed = true;
            return NULL;
        }
        *b = (struct etcd_arena_block){.older = a->block, .size = room};
        a->block = b;
    }
    void *at = (char *)b->bytes + b->used;
    b->used += size;
    return memset(at, 0, size);
}

static void free_blocks(struct etcd_arena_block *b)
{
    while (b) {
        struct etcd_arena_block *older = b->older;
        free(b);
        b = older;
    }
}

void etcd_arena_clear(struct etcd_arena *a)
{
    a->failed = false;
    if (!a->block)
        return;
    free_blocks(a->block->older);
    a->block->older = NULL;
    a->block->used = 0;
}

void etcd_arena_free(struct etcd_arena *a)
{
    free_blocks(a->block);
    *a = (struct etcd_arena){0};
}

/* ---- keys ------------------------------------------------------------------------------------ */

static etcd_key key_from(struct etcd_arena *a, const char *const *part, size_t parts)
{
    etcd_key k = {0};
    for (size_t i = 0; i < parts; i++)
        k.len += part[i] ? strlen(part[i]) : 0;
    k.data = etcd_arena_take(a, k.len + 1); /* with a NUL behind it, which is zero already */
    if (!k.data)
        return (etcd_key){0};
    uint8_t *at = k.data;
    for (size_t i = 0; i < parts; i++) {
        size_t n = part[i] ? strlen(part[i]) : 0;
        if (n > 0)
            memcpy(at, part[i], n);
        at += n;
    }
    return k;
}

etcd_key etcd_key_of(struct etcd_arena *a, const char *prefix, const char *what, const char *b)
{
    return key_from(a, (const char *const[]){prefix, what, b}, 3);
}

etcd_key etcd_key_number(struct etcd_arena *a, const char *prefix, const char *what, uint64_t n,
                         const char *tail)
{
    char digits[17];
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)n);
    return key_from(a, (const char *const[]){prefix, what, digits, tail}, 4);
}

etcd_key etcd_key_end(struct etcd_arena *a, etcd_key k)
{
    etcd_key end = {k.len, etcd_arena_take(a, k.len)};
    if (!end.data || k.len == 0)
        return (etcd_key){0};
    memcpy(end.data, k.data, k.len);
    end.data[k.len - 1]++;
    return end;
}

/* ---- transactions ---------------------------------------------------------------------------- */

struct etcd_txn *etcd_txn_new(struct etcd_arena *a)
{
    struct etcd_txn *t = etcd_arena_take(a, sizeof *t);
    if (!t)
        t = &a->spare;
    t->arena = a;
    etcd__txn_request__init(&t->m);
    t->m.compare = t->compare;
    t->m.success = t->success;
    t->m.failure = t->failure;
    return t;
}

static Etcd__Compare *compare(struct etcd_txn *t, etcd_key k)
{
    assert(t->m.n_compare < ETCD_OPS_MAX);
    Etcd__Compare *c = etcd_arena_take(t->arena, sizeof *c);
    if (!c)
        return NULL;
    etcd__compare__init(c);
    c->key = k;
    t->compare[t->m.n_compare++] = c;
    return c;
}

void etcd_txn_if_version(struct etcd_txn *t, etcd_key k, int64_t mod_revision)
{
    Etcd__Compare *c = compare(t, k);
    if (!c)
        return;
    c->result = ETCD__COMPARE__COMPARE_RESULT__EQUAL;
    c->target = ETCD__COMPARE__COMPARE_TARGET__MOD;
    c->target_union_case = ETCD__COMPARE__TARGET_UNION_MOD_REVISION;
    c->mod_revision = mod_revision;
}

void etcd_txn_if_exists(struct etcd_txn *t, etcd_key k)
{
    Etcd__Compare *c = compare(t, k);
    if (!c)
        return;
    c->result = ETCD__COMPARE__COMPARE_RESULT__GREATER;
    c->target = ETCD__COMPARE__COMPARE_TARGET__CREATE;
    c->target_union_case = ETCD__COMPARE__TARGET_UNION_CREATE_REVISION;
    c->create_revision = 0;
}

void etcd_txn_if_unchanged(struct etcd_txn *t, etcd_key k, int64_t since)
{
    Etcd__Compare *c = compare(t, k);
    if (!c)
        return;
    c->result = ETCD__COMPARE__COMPARE_RESULT__LESS;
    c->target = ETCD__COMPARE__COMPARE_TARGET__MOD;
    c->target_union_case = ETCD__COMPARE__TARGET_UNION_MOD_REVISION;
    c->mod_revision = since + 1;
}

static Etcd__RequestOp *then(struct etcd_txn *t)
{
    assert(t->m.n_success < ETCD_OPS_MAX);
    Etcd__RequestOp *op = etcd_arena_take(t->arena, sizeof *op);
    if (!op)
        return NULL;
    etcd__request_op__init(op);
    t->success[t->m.n_success++] = op;
    return op;
}

static Etcd__RequestOp *otherwise(struct etcd_txn *t)
{
    assert(t->m.n_failure < ETCD_OPS_MAX);
    Etcd__RequestOp *op = etcd_arena_take(t->arena, sizeof *op);
    if (!op)
        return NULL;
    etcd__request_op__init(op);
    t->failure[t->m.n_failure++] = op;
    return op;
}

static Etcd__PutRequest *put_at(struct etcd_txn *t, Etcd__RequestOp *op, etcd_key k)
{
    Etcd__PutRequest *p = op ? etcd_arena_take(t->arena, sizeof *p) : NULL;
    if (!p)
        return NULL;
    etcd__put_request__init(p);
    p->key = k;
    op->request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_PUT;
    op->request_put = p;
    return p;
}

static Etcd__PutRequest *put(struct etcd_txn *t, etcd_key k)
{
    return put_at(t, then(t), k);
}

/* What is only read: protobuf-c has no constants. */
static ProtobufCBinaryData borrowed(const void *at, size_t len)
{
    return (ProtobufCBinaryData){len, (uint8_t *)(uintptr_t)at};
}

void etcd_txn_put(struct etcd_txn *t, etcd_key k, const void *value, size_t len, int64_t lease)
{
    Etcd__PutRequest *p = put(t, k);
    if (!p)
        return;
    p->value = borrowed(value, len);
    p->lease = lease;
}

void etcd_txn_touch(struct etcd_txn *t, etcd_key k)
{
    Etcd__PutRequest *p = put(t, k);
    if (p)
        p->ignore_value = p->ignore_lease = true;
}

void etcd_txn_ring(struct etcd_txn *t, etcd_key k, const void *value, size_t len)
{
    Etcd__PutRequest *p = put(t, k);
    if (!p)
        return;
    p->value = borrowed(value, len);
    p->ignore_lease = true;
}

void etcd_txn_delete(struct etcd_txn *t, etcd_key k)
{
    Etcd__DeleteRangeRequest *d = etcd_arena_take(t->arena, sizeof *d);
    Etcd__RequestOp *op = d ? then(t) : NULL;
    if (!op)
        return;
    etcd__delete_range_request__init(d);
    d->key = k;
    op->request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE;
    op->request_delete_range = d;
}

void etcd_txn_nest(struct etcd_txn *t, struct etcd_txn *sub)
{
    Etcd__RequestOp *op = then(t);
    if (!op)
        return;
    op->request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_TXN;
    op->request_txn = &sub->m;
}

static void range(struct etcd_txn *t, Etcd__RequestOp *op, etcd_key k, etcd_key end,
                  int64_t limit, bool keys_only)
{
    Etcd__RangeRequest *r = op ? etcd_arena_take(t->arena, sizeof *r) : NULL;
    if (!r)
        return;
    etcd__range_request__init(r);
    r->key = k;
    r->range_end = end;
    r->limit = limit;
    r->keys_only = keys_only;
    op->request_case = ETCD__REQUEST_OP__REQUEST_REQUEST_RANGE;
    op->request_range = r;
}

void etcd_txn_range(struct etcd_txn *t, etcd_key k, etcd_key end, int64_t limit, bool keys_only)
{
    range(t, then(t), k, end, limit, keys_only);
}

void etcd_txn_else_range(struct etcd_txn *t, etcd_key k, etcd_key end)
{
    range(t, otherwise(t), k, end, 0, false);
}

void etcd_txn_else_put(struct etcd_txn *t, etcd_key k)
{
    put_at(t, otherwise(t), k);
}

size_t etcd_txn_width(const struct etcd_txn *t)
{
    size_t n = t->m.n_compare > t->m.n_success ? t->m.n_compare : t->m.n_success;
    return n > t->m.n_failure ? n : t->m.n_failure;
}

/* ---- answers --------------------------------------------------------------------------------- */

const Etcd__RangeResponse *etcd_answer_range(const Etcd__TxnResponse *t, size_t n)
{
    if (n >= t->n_responses ||
        t->responses[n]->response_case != ETCD__RESPONSE_OP__RESPONSE_RESPONSE_RANGE)
        return NULL;
    return t->responses[n]->response_range;
}

const Etcd__RangeResponse *etcd_sub_range(const Etcd__SubTxnResponse *t, size_t n)
{
    if (n >= t->n_responses ||
        t->responses[n]->response_case != ETCD__SUB_RESPONSE_OP__RESPONSE_RESPONSE_RANGE)
        return NULL;
    return t->responses[n]->response_range;
}
