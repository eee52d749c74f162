#include "cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/say.h"

int output_finish(int code)
{
    bool failed = ferror(stdout) != 0;
    if (fflush(stdout) != 0 || failed) {
        say_error("standard output: %s", strerror(errno));
        return EXIT_INTERNAL;
    }
    return code;
}

/* What can only fail for want of memory. */
static void must(bool done)
{
    if (done)
        return;
    say_error("out of memory");
    exit(EXIT_INTERNAL);
}

void *output_alloc(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);
    must(p != NULL);
    return p;
}

char *output_copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    return memcpy(output_alloc(bytes), text, bytes);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

void output_json(json_t *object, bool flush)
{
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    must(line != NULL);
    puts(line);
    free(line);
    json_decref(object);
    if (flush)
        fflush(stdout); /* a failure stays in ferror() for output_finish() */
}

void output_set(json_t *object, const char *key, json_t *value)
{
    must(json_object_set_new(object, key, value) == 0);
}

void output_append(json_t *array, json_t *value)
{
    must(json_array_append_new(array, value) == 0);
}

void output_update(json_t *object, json_t *from)
{
    must(json_object_update(object, from) == 0);
}

void output_set_token(json_t *object, uint64_t token)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, token);
    bool fits = token > 0 && token <= INT64_MAX;
    output_set(object, "token", fits ? json_integer((json_int_t)token) : json_null());
    output_set(object, "token_text", token > 0 ? json_string(text) : json_null());
}

/* JSON is UTF-8, and the path of a store need not be: then "?" is shown for each odd byte. */
static json_t *shown(const char *text)
{
    json_t *s = json_string(text);
    char *copy = s ? NULL : strdup(text);
    if (!copy)
        return s;
    for (char *at = copy; *at != '\0'; at++) {
        if ((unsigned char)*at > 0x7e)
            *at = '?';
    }
    s = json_string(copy);
    free(copy);
    return s;
}

void output_set_text(json_t *object, const char *key, const char *text)
{
    output_set(object, key, text ? shown(text) : json_null());
}

void output_set_number(json_t *object, const char *key, int64_t n)
{
    output_set(object, key, json_integer(n));
}

const char *output_time_utc(int64_t wall_ms, char buf[OUTPUT_TIME_BYTES])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;
    char day[24];
    if (!gmtime_r(&seconds, &tm) || strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
        snprintf(buf, OUTPUT_TIME_BYTES, "-");
    else
        snprintf(buf, OUTPUT_TIME_BYTES, "%s.%03dZ", day, (int)(wall_ms % 1000));
    return buf;
}

const char *output_time_local(int64_t wall_ms, char buf[OUTPUT_TIME_BYTES])
{
    time_t seconds = (time_t)(wall_ms / 1000);
    struct tm tm;
    if (!localtime_r(&seconds, &tm) ||
        strftime(buf, OUTPUT_TIME_BYTES, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(buf, OUTPUT_TIME_BYTES, "-");
    return buf;
}

/* ---- tables -------------------------------------------------------------------------------- */

void output_table_open(struct output_table *t, int columns, const char *const *headings)
{
    *t = (struct output_table){.columns = columns, .capacity = 16};
    t->cells = output_alloc(t->capacity * (size_t)columns * sizeof *t->cells);
    output_table_row(t, headings);
}

void output_table_row(struct output_table *t, const char *const *cells)
{
    size_t columns = (size_t)t->columns;
    if (t->rows == t->capacity) {
        char **more = output_alloc(2 * t->capacity * columns * sizeof *more);
        memcpy(more, t->cells, t->rows * columns * sizeof *more);
        free(t->cells);
        t->cells = more;
        t->capacity *= 2;
    }
    for (size_t i = 0; i < columns; i++) {
        const char *text = cells[i] && cells[i][0] != '\0' ? cells[i] : "-";
        t->cells[t->rows * columns + i] = output_copy(text);
    }
    t->rows++;
}

/* How many characters a UTF-8 text shows: one for each byte that is no continuation. */
static int text_width(const char *s)
{
    int n = 0;
    for (; *s != '\0'; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static bool heading_is_bold(void)
{
    const char *no = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && no[0] != '\0') && term && strcmp(term, "dumb") != 0;
}

static void print_row(const struct output_table *t, size_t row, const int *width)
{
    for (int i = 0; i < t->columns; i++) {
        const char *text = t->cells[row * (size_t)t->columns + (size_t)i];
        bool last = i == t->columns - 1;
        printf("%s%*s", text, last ? 0 : width[i] - text_width(text) + 2, "");
    }
}

void output_table_close(struct output_table *t)
{
    int width[OUTPUT_COLUMNS_MAX] = {0};
    bool bold = heading_is_bold();
    for (size_t i = 0; i < t->rows * (size_t)t->columns; i++) {
        int n = text_width(t->cells[i]);
        int *w = &width[i % (size_t)t->columns];
        *w = n > *w ? n : *w;
    }
    for (size_t row = 0; row < t->rows && t->rows > 1; row++) {
        if (row == 0 && bold)
            fputs("\033[1m", stdout);
        print_row(t, row, width);
        puts(row == 0 && bold ? "\033[0m" : "");
    }
    for (size_t i = 0; i < t->rows * (size_t)t->columns; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = (struct output_table){0};
}
