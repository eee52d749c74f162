#include "wire/token_header.h"

#include "core/name.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct text trim(struct text t)
{
    while (t.len > 0 && is_blank(t.at[0]))
        t = (struct text){t.at + 1, t.len - 1};
    while (t.len > 0 && is_blank(t.at[t.len - 1]))
        t.len--;
    return t;
}

static bool read_token(struct text t, uint64_t *ret)
{
    uint64_t token = 0;
    if (t.len == 0 || t.len > 19 || t.at[0] == '0')
        return false;
    for (size_t i = 0; i < t.len; i++) {
        if (t.at[i] < '0' || t.at[i] > '9')
            return false;
        token = 10 * token + (uint64_t)(t.at[i] - '0'); /* 19 digits fit */
    }
    *ret = token;
    return token <= TOKEN_HEADER_TOKEN_MAX;
}

enum token_header_flaw token_header_parse(struct text value, struct text *ret_name,
                                          uint64_t *ret_token)
{
    struct text name = trim(value);
    if (name.len == 0)
        return TOKEN_HEADER_EMPTY;
    const char *space = memchr(name.at, ' ', name.len);
    if (space == NULL)
        return TOKEN_HEADER_NO_TOKEN;
    struct text number = {space + 1, (size_t)(name.at + name.len - space) - 1};
    uint64_t token;
    name.len = (size_t)(space - name.at);
    if (name_check(name, NULL) != NAME_FINE)
        return TOKEN_HEADER_BAD_NAME;
    if (!read_token(number, &token))
        return TOKEN_HEADER_BAD_TOKEN;
    *ret_name = name;
    *ret_token = token;
    return TOKEN_HEADER_FINE;
}

const char *token_header_flaw_text(enum token_header_flaw flaw)
{
    switch (flaw) {
    case TOKEN_HEADER_FINE:
        return "it is fine";
    case TOKEN_HEADER_EMPTY:
        return "it is empty";
    case TOKEN_HEADER_NO_TOKEN:
        return "a token follows the name, behind a space";
    case TOKEN_HEADER_BAD_NAME:
        return "the first word is not a name";
    case TOKEN_HEADER_BAD_TOKEN:
        return "a token is a whole number from 1 to 9223372036854775807";
    }
    return "unknown flaw";
}
