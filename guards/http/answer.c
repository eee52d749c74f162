#include "http/answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <tenure/error.h>

#include "http/request.h"

#define BYTES_MAX ((size_t)64 << 20) /* a list of a hundred thousand guards fits */

bool answer_take_body(struct answer *a, const char *bytes, size_t more)
{
    if (more == 0)
        return true;
    if (more > BYTES_MAX - a->bytes)
        return false;
    char *text = realloc(a->text, a->bytes + more + 1);
    if (text == NULL)
        return false;
    memcpy(text + a->bytes, bytes, more);
    a->text = text;
    a->bytes += more;
    text[a->bytes] = '\0';
    return true;
}

void answer_take_header(struct answer *a, const char *line, size_t len)
{
    static const char name[] = HTTP_RESULT_HEADER ":";
    size_t from = sizeof name - 1;
    if (len < from || strncasecmp(line, name, from) != 0)
        return;
    while (from < len && line[from] == ' ')
        from++;
    size_t n = 0;
    while (from + n < len && line[from + n] > ' ' && n < sizeof a->result - 1)
        n++;
    memcpy(a->result, line + from, n);
    a->result[n] = '\0';
}

int answer_code(const struct answer *a)
{
#define CODE_OF(code_name, value, class, sentence)                                                 \
    if (strcmp(a->result, #code_name) == 0)                                                        \
        return TENURE_##code_name;
    TENURE_ERROR_TABLE(CODE_OF)
#undef CODE_OF
    return strcmp(a->result, "OK") == 0 ? 0 : ANSWER_OF_A_STRANGER;
}

int answer_sentence_length(const struct answer *a)
{
    int len = 0;
    while (a->text && a->text[len] >= ' ' && a->text[len] <= '~')
        len++;
    return len;
}
