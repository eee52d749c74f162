/* store/postgres_answer.c - reads the rows of type `answer` (postgres.sql). */
#include <string.h>

#include "store/postgres_engine.h"

static uint64_t big_endian(const PGresult *r, int row, int column, int width)
{
    uint64_t n = 0;
    if (pq.PQgetisnull(r, row, column) || pq.PQgetlength(r, row, column) != width)
        return 0;
    const unsigned char *at = (const unsigned char *)pq.PQgetvalue(r, row, column);
    for (int i = 0; i < width; i++)
        n = n << 8 | at[i];
    return n;
}

uint64_t answer_u64(const PGresult *r, int row, int column)
{
    return big_endian(r, row, column, 8);
}

int64_t answer_i64(const PGresult *r, int row, int column)
{
    return (int64_t)big_endian(r, row, column, 8);
}

int32_t answer_i32(const PGresult *r, int row, int column)
{
    return (int32_t)big_endian(r, row, column, 4);
}

static void take_token(struct pg_store *s, uint64_t token)
{
    if (token > s->high)
        s->high = token;
    if (s->tokens < PG_TOKENS_MAX)
        s->token[s->tokens++] = token;
}

#define LONGEST_MS (INT64_MAX / 4) /* sums of what a broken store says stay numbers */

static int64_t length_ms(int64_t said)
{
    return said < 0 ? 0 : said > LONGEST_MS ? LONGEST_MS : said;
}

static void take_session(struct pg_store *s, const PGresult *r, int row)
{
    int state = answer_i32(r, row, 1);
    struct known_session seen = {
        .head.id = answer_u64(r, row, 2),
        .state = state == 1                 ? KNOWN_DEAD
                 : state == 2 || state == 4 ? KNOWN_GONE
                                            : KNOWN_ALIVE,
        .beat = answer_u64(r, row, 3),
        .expires = INSTANT(answer_i64(r, row, 4)),
        .ttl_ms = length_ms(answer_i64(r, row, 5)),
        .suspect = state == 3,
    };
    known_session_set(s, &seen);
}

void answer_take(struct pg_store *s, const PGresult *r)
{
    int rows = pq.PQntuples(r);
    for (int row = 0; row < rows; row++) {
        if (answer_i32(r, row, 0) != 0)
            continue;
        clock_heard(s, INSTANT(answer_i64(r, row, 2)), s->line.since);
        uint64_t floor = answer_u64(r, row, 3);
        if (floor > s->floor)
            s->floor = floor;
        if (pq.PQgetlength(r, row, 6) == MAC_KEY_BYTES) {
            memcpy(s->bell_key, pq.PQgetvalue(r, row, 6), MAC_KEY_BYTES);
            s->has_bell_key = true;
        }
    }
    for (int row = 0; row < rows; row++) {
        int kind = answer_i32(r, row, 0);
        if (kind == 1)
            take_token(s, answer_u64(r, row, 2));
        else if (kind == 4)
            take_session(s, r, row);
    }
}
