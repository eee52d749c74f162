#include "wire/mark.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

const struct text mark_head = {"tenure-permit-marks-1\n", 22};

/* A number in its one spelling. */
static bool number_next(struct text *line, uint64_t *ret)
{
    struct text word;
    uint64_t n = 0;
    if (!text_next_word(line, &word) || (word.len > 1 && word.at[0] == '0'))
        return false;
    for (size_t i = 0; i < word.len; i++) {
        unsigned digit = (unsigned)(unsigned char)word.at[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n))
            return false;
    }
    *ret = n;
    return true;
}

bool mark_parse(struct text line, struct text *ret_role, struct text *ret_resource,
                tenure_permit_mark *ret)
{
    memset(ret, 0, sizeof *ret);
    if (!text_next_word(&line, ret_role) || !text_next_word(&line, ret_resource))
        return false;
    if (!permit_word_check(*ret_role, TENURE_PERMIT_ROLE_MAX) ||
        !permit_word_check(*ret_resource, TENURE_PERMIT_RESOURCE_MAX))
        return false;
    if (!number_next(&line, &ret->epoch) || !number_next(&line, &ret->floor) || ret->epoch == 0)
        return false;
    while (line.len > 0) {
        if (ret->seen_count == TENURE_PERMIT_SEEN_MAX ||
            !number_next(&line, &ret->seen[ret->seen_count]))
            return false;
        ret->seen_count++;
    }
    return permit_mark_check(ret);
}

size_t mark_format(struct text role, struct text resource, const tenure_permit_mark *m,
                   char ret[MARK_LINE_BYTES])
{
    int n = snprintf(ret, MARK_LINE_BYTES, "%.*s %.*s %" PRIu64 " %" PRIu64, (int)role.len,
                     role.at, (int)resource.len, resource.at, m->epoch, m->floor);
    for (uint32_t i = 0; i < m->seen_count; i++)
        n += snprintf(ret + n, MARK_LINE_BYTES - (size_t)n, " %" PRIu64, m->seen[i]);
    n += snprintf(ret + n, MARK_LINE_BYTES - (size_t)n, "\n");
    assert(n < MARK_LINE_BYTES);
    return (size_t)n;
}

bool mark_find(struct text file, struct text role, struct text resource, struct text *ret_line,
               tenure_permit_mark *ret)
{
    bool found = false;
    memset(ret, 0, sizeof *ret);
    *ret_line = (struct text){file.len > 0 ? file.at + file.len : file.at, 0};
    if (file.len == 0)
        return true;
    if (file.len < mark_head.len || memcmp(file.at, mark_head.at, mark_head.len) != 0)
        return false;
    for (size_t at = mark_head.len; at < file.len;) {
        struct text line = {file.at + at, 0}, a_role, a_resource;
        tenure_permit_mark mark;
        const char *newline = memchr(line.at, '\n', file.len - at);
        if (!newline)
            return false; /* cut off */
        line.len = (size_t)(newline - line.at);
        at += line.len + 1;
        if (!mark_parse(line, &a_role, &a_resource, &mark))
            return false;
        if (!text_equal(a_role, role) || !text_equal(a_resource, resource))
            continue;
        if (found)
            return false; /* two marks of one thing */
        found = true;
        *ret = mark;
        *ret_line = (struct text){line.at, line.len + 1};
    }
    return true;
}
