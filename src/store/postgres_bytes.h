/* store/postgres_bytes.h - parameters of a statement in PostgreSQL's binary format. */
#ifndef STORE_POSTGRES_BYTES_H
#define STORE_POSTGRES_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer that grows; `failed` when memory ran out, and then it is not to be used. */
struct bytes {
    char *at;
    size_t len, cap;
    bool failed;
};

void bytes_put(struct bytes *b, const void *at, size_t len);
void bytes_put_i32(struct bytes *b, int32_t n);
void bytes_put_i64(struct bytes *b, int64_t n);
void bytes_free(struct bytes *b);

/* Types, as PostgreSQL numbers them. */
enum pg_type {
    PG_BOOL = 16,
    PG_BYTEA = 17,
    PG_INT8 = 20,
    PG_INT4 = 23,
    PG_TEXT = 25,
    PG_BYTEA_ARRAY = 1001,
    PG_INT4_ARRAY = 1007,
    PG_TEXT_ARRAY = 1009,
    PG_INT8_ARRAY = 1016,
};

#define PG_PARAMS_MAX 16

/* The parameters of one statement; used again and again. */
struct pg_params {
    int count;
    unsigned type[PG_PARAMS_MAX]; /* Oid */
    struct bytes value[PG_PARAMS_MAX];
    int32_t elements[PG_PARAMS_MAX];
};

void params_clear(struct pg_params *p);
void params_free(struct pg_params *p);
bool params_failed(const struct pg_params *p);

/* Adds a parameter; returns its index. */
int params_i64(struct pg_params *p, int64_t n);
int params_i32(struct pg_params *p, int32_t n);
int params_bool(struct pg_params *p, bool b);
int params_text(struct pg_params *p, const char *s);
int params_array(struct pg_params *p, enum pg_type type);

/* Adds an element to the array with that index. */
void params_add_i64(struct pg_params *p, int i, int64_t n);
void params_add_i32(struct pg_params *p, int i, int32_t n);
void params_add_bytes(struct pg_params *p, int i, const void *at, size_t len);
void params_add_null(struct pg_params *p, int i);

#endif
