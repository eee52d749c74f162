/* cli/output.h - what commands print on stdout: tables for people, JSON lines for programs.
 *
 * A command prints as if stdout could not fail and ends with output_finish(), which tells a
 * full disk or a closed pipe from success.  Tokens are printed to JSON as numbers and as strings
 * ("token", "token_text"), because many readers round numbers above 2^53.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flushes stdout.  Returns `code`, or says why and returns EXIT_INTERNAL when something that was
 * printed did not arrive. */
int output_finish(int code);

/* Memory or an end with EXIT_INTERNAL: for commands that hold nothing and only print. */
void *output_alloc(size_t bytes);
char *output_copy(const char *text);

/* ---- JSON ---------------------------------------------------------------------------------- */

/* Prints the object in one line, flushes when `flush`, and drops the reference.  NULL (no memory)
 * ends the program with EXIT_INTERNAL. */
void output_json(json_t *object, bool flush);

/* Sets a member, or appends; the reference to `value` is taken, NULL (no memory) ends the
 * program with EXIT_INTERNAL. */
void output_set(json_t *object, const char *key, json_t *value);
void output_append(json_t *array, json_t *value);

/* Copies all members of `from` into the object. */
void output_update(json_t *object, json_t *from);

/* Sets "token" and "token_text"; both null for token 0. */
void output_set_token(json_t *object, uint64_t token);

/* Sets a text, or null for NULL. */
void output_set_text(json_t *object, const char *key, const char *text);
void output_set_number(json_t *object, const char *key, int64_t n);

/* A time of day, as RFC 3339 in UTC with milliseconds. */
#define OUTPUT_TIME_BYTES 40
const char *output_time_utc(int64_t wall_ms, char buf[OUTPUT_TIME_BYTES]);

/* The same for people: local time, in seconds. */
const char *output_time_local(int64_t wall_ms, char buf[OUTPUT_TIME_BYTES]);

/* ---- tables -------------------------------------------------------------------------------- */

#define OUTPUT_COLUMNS_MAX 10

struct output_table {
    int columns;
    size_t rows, capacity; /* the heading is row 0 */
    char **cells;          /* rows x columns, owned */
};

/* Starts a table with these headings. */
void output_table_open(struct output_table *t, int columns, const char *const *headings);

/* Adds a row; the texts are copied, NULL and "" are shown as "-". */
void output_table_row(struct output_table *t, const char *const *cells);

/* Prints the table, unless it has no rows, and frees it.  The heading is bold on a terminal
 * (NO_COLOR is honoured). */
void output_table_close(struct output_table *t);

#endif
