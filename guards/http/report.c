#include "http/report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "os/fail.h"

/* ---- JSON ---------------------------------------------------------------------------------- */

static uint64_t refused(const struct marks_info *info)
{
    uint64_t sum = 0;
    for (int v = HTTP_ADMIT; v < HTTP_VERDICTS; v++)
        sum += http_verdict_admits((enum http_verdict)v) ? 0 : info->count[v];
    return sum;
}

/* What cannot be made for want of memory is missing from the array, which report_json() sees. */
static void append(void *arg, const struct marks_info *info)
{
    json_t *last = json_null();
    if (info->last != 0)
        last = json_pack("{s:s, s:I, s:I}", "verdict", http_verdict_text(info->last), "token",
                         (json_int_t)info->last_token, "at_ms", (json_int_t)info->last_at_ms);
    (void)json_array_append_new(
        arg, json_pack("{s:s, s:I, s:b, s:I, s:o}", "guard", info->name, "mark",
                       (json_int_t)info->mark, "strict", info->strict, "refused",
                       (json_int_t)refused(info), "last", last));
}

char *report_json(struct marks *m, struct text name, size_t *ret_found)
{
    char *text = NULL;
    json_t *array = json_array();
    if (array) {
        *ret_found = marks_each(m, name, append, array);
        if (json_array_size(array) == *ret_found)
            text = json_dumps(array, JSON_COMPACT);
    }
    json_decref(array);
    return text;
}

/* What is read goes to a terminal, and who answers over plain HTTP may be anybody. */
static bool is_word(const char *text)
{
    return text[0] != '\0' && strspn(text, "abcdefghijklmnopqrstuvwxyz ") == strlen(text);
}

static int read_guard(json_t *guard, target_finding_fn *fn, void *arg)
{
    struct target_refusals refusals = {.count = 0};
    struct target_finding f = {.refusals = &refusals};
    const char *name;
    int strict;
    json_int_t mark, count, token, at_ms;
    json_t *last;
    if (json_unpack(guard, "{s:s, s:I, s:b, s:I, s:o}", "guard", &name, "mark", &mark, "strict",
                    &strict, "refused", &count, "last", &last) != 0)
        return -1;
    if (name_check(text_of(name), NULL) != NAME_FINE || mark < 0 || count < 0)
        return -1;
    if (!json_is_null(last)) {
        if (json_unpack(last, "{s:s, s:I, s:I}", "verdict", &refusals.verdict, "token", &token,
                        "at_ms", &at_ms) != 0 ||
            !is_word(refusals.verdict) || token < 0)
            return -1;
        refusals.count = (uint64_t)count;
        refusals.token = (uint64_t)token;
        refusals.at_ms = at_ms;
    }
    f.guard = name;
    f.mark = (uint64_t)mark;
    f.strict = strict;
    fn(arg, &f);
    return 0;
}

int report_read(const char *json, target_finding_fn *fn, void *arg, tenure_error *err)
{
    json_t *array = json_loads(json, JSON_REJECT_DUPLICATES, NULL), *guard;
    size_t i;
    int rc = json_is_array(array) ? 0 : -1;
    json_array_foreach(array, i, guard) {
        if (rc == 0)
            rc = read_guard(guard, fn, arg);
    }
    json_decref(array);
    return rc == 0 ? 0 : fail(err, TENURE_FOREIGN, "the answer is not that of a checker of tenure");
}

/* ---- metrics ------------------------------------------------------------------------------- */

/* Names hold nothing that would have to be quoted (core/name.h). */
static void print_checks(void *arg, const struct marks_info *info)
{
    for (int v = HTTP_ADMIT; v < HTTP_VERDICTS; v++)
        if (info->name[0] ? v != HTTP_BROKEN : v == HTTP_BROKEN)
            fprintf(arg, "tenure_guard_checks_total{guard=\"%s\",verdict=\"%s\"} %" PRIu64 "\n",
                    info->name, http_verdict_text((enum http_verdict)v), info->count[v]);
}

static void print_mark(void *arg, const struct marks_info *info)
{
    fprintf(arg, "tenure_guard_mark{guard=\"%s\"} %" PRIu64 "\n", info->name, info->mark);
}

static void print_announced(void *arg, const struct marks_info *info)
{
    fprintf(arg, "tenure_guard_announcements_total{guard=\"%s\"} %" PRIu64 "\n", info->name,
            info->announced);
}

static void print_head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void print_metrics(FILE *out, struct marks *m)
{
    struct marks_totals totals;
    marks_total(m, &totals);
    print_head(out, "tenure_guard_checks_total", "counter",
               "Requests that were checked, by guard and verdict; no guard: there is none.");
    marks_each(m, MARKS_ALL, print_checks, out);
    marks_unknown(m, print_checks, out);
    print_head(out, "tenure_guard_mark", "gauge", "The highest token announced or admitted.");
    marks_each(m, MARKS_ALL, print_mark, out);
    print_head(out, "tenure_guard_announcements_total", "counter",
               "Announcements that were taken.");
    marks_each(m, MARKS_ALL, print_announced, out);
    print_head(out, "tenure_guard_commit_seconds", "summary",
               "How long it took to make a change of the marks durable.");
    fprintf(out, "tenure_guard_commit_seconds_sum %.6f\ntenure_guard_commit_seconds_count %" PRIu64
            "\n", (double)totals.commit_ns / 1e9, totals.commits);
    print_head(out, "tenure_guard_durable", "gauge", "Whether the last change became durable.");
    fprintf(out, "tenure_guard_durable %d\n", totals.durable);
}

char *report_metrics(struct marks *m)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL)
        return NULL;
    print_metrics(out, m);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
