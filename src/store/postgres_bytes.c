#include "store/postgres_bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_HEAD 20 /* dimensions, flags, type of elements; length and first index of the one */

void bytes_put(struct bytes *b, const void *at, size_t len)
{
    if (b->len + len > b->cap && !b->failed) {
        size_t cap = 2 * b->cap + len + 64;
        char *more = realloc(b->at, cap);
        if (more) {
            b->at = more;
            b->cap = cap;
        } else {
            b->failed = true;
        }
    }
    if (b->failed)
        return;
    if (len > 0)
        memcpy(b->at + b->len, at, len);
    b->len += len;
}

static void store_big_endian(char *to, uint64_t n, size_t width)
{
    for (size_t i = 0; i < width; i++)
        to[i] = (char)(unsigned char)(n >> (8 * (width - 1 - i)));
}

void bytes_put_i32(struct bytes *b, int32_t n)
{
    char at[4];
    store_big_endian(at, (uint32_t)n, sizeof at);
    bytes_put(b, at, sizeof at);
}

void bytes_put_i64(struct bytes *b, int64_t n)
{
    char at[8];
    store_big_endian(at, (uint64_t)n, sizeof at);
    bytes_put(b, at, sizeof at);
}

void bytes_free(struct bytes *b)
{
    free(b->at);
    *b = (struct bytes){0};
}

/* ---- parameters ----------------------------------------------------------------------------- */

void params_clear(struct pg_params *p)
{
    for (int i = 0; i < PG_PARAMS_MAX; i++) {
        p->value[i].len = 0;
        p->value[i].failed = false;
        p->elements[i] = 0;
    }
    p->count = 0;
}

void params_free(struct pg_params *p)
{
    for (int i = 0; i < PG_PARAMS_MAX; i++)
        bytes_free(&p->value[i]);
    p->count = 0;
}

bool params_failed(const struct pg_params *p)
{
    for (int i = 0; i < p->count; i++) {
        if (p->value[i].failed)
            return true;
    }
    return false;
}

static struct bytes *add(struct pg_params *p, enum pg_type type)
{
    assert(p->count < PG_PARAMS_MAX);
    p->type[p->count] = type;
    return &p->value[p->count++];
}

int params_i64(struct pg_params *p, int64_t n)
{
    bytes_put_i64(add(p, PG_INT8), n);
    return p->count - 1;
}

int params_i32(struct pg_params *p, int32_t n)
{
    bytes_put_i32(add(p, PG_INT4), n);
    return p->count - 1;
}

int params_bool(struct pg_params *p, bool b)
{
    bytes_put(add(p, PG_BOOL), b ? "\1" : "\0", 1);
    return p->count - 1;
}

int params_text(struct pg_params *p, const char *s)
{
    bytes_put(add(p, PG_TEXT), s, strlen(s) + 1); /* the end is there, so it is never NULL */
    p->value[p->count - 1].len--;
    return p->count - 1;
}

static enum pg_type element_type(enum pg_type array)
{
    switch (array) {
    case PG_BYTEA_ARRAY:
        return PG_BYTEA;
    case PG_INT4_ARRAY:
        return PG_INT4;
    case PG_TEXT_ARRAY:
        return PG_TEXT;
    default:
        return PG_INT8;
    }
}

int params_array(struct pg_params *p, enum pg_type type)
{
    struct bytes *b = add(p, type);
    bytes_put_i32(b, 1);
    bytes_put_i32(b, 0);
    bytes_put_i32(b, (int32_t)element_type(type));
    bytes_put_i32(b, 0); /* counted by add_element() */
    bytes_put_i32(b, 1);
    return p->count - 1;
}

static struct bytes *add_element(struct pg_params *p, int i)
{
    struct bytes *b = &p->value[i];
    p->elements[i]++;
    if (!b->failed)
        store_big_endian(b->at + ARRAY_HEAD - 8, (uint32_t)p->elements[i], 4);
    return b;
}

void params_add_i64(struct pg_params *p, int i, int64_t n)
{
    struct bytes *b = add_element(p, i);
    bytes_put_i32(b, 8);
    bytes_put_i64(b, n);
}

void params_add_i32(struct pg_params *p, int i, int32_t n)
{
    struct bytes *b = add_element(p, i);
    bytes_put_i32(b, 4);
    bytes_put_i32(b, n);
}

void params_add_bytes(struct pg_params *p, int i, const void *at, size_t len)
{
    struct bytes *b = add_element(p, i);
    bytes_put_i32(b, (int32_t)len);
    bytes_put(b, at, len);
}

void params_add_null(struct pg_params *p, int i)
{
    bytes_put_i32(add_element(p, i), -1);
}
