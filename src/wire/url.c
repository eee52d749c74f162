#include "wire/url.h"

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_scheme(struct text t)
{
    for (size_t i = 0; i < t.len; i++) {
        if (!is_lower(t.at[i]) && (i == 0 || t.at[i] < '0' || t.at[i] > '9'))
            return false;
    }
    return t.len > 0;
}

/* Splits *t at the first `sep`: the front is returned, *t is what follows it. */
static struct text split(struct text *t, char sep)
{
    const char *at = t->len ? memchr(t->at, sep, t->len) : NULL;
    struct text front = *t;
    if (!at) {
        *t = (struct text){NULL, 0};
        return front;
    }
    front.len = (size_t)(at - t->at);
    *t = (struct text){at + 1, t->len - front.len - 1};
    return front;
}

enum url_flaw url_parse(struct text t, struct url *ret)
{
    if (t.len == 0)
        return URL_EMPTY;
    for (size_t i = 0; i < t.len; i++) {
        unsigned char c = (unsigned char)t.at[i];
        if (c < 0x20 || c == 0x7f)
            return URL_BAD_BYTE;
    }
    if (!memchr(t.at, ':', t.len))
        return URL_NO_COLON;
    struct url url;
    url.scheme = split(&t, ':');
    if (!is_scheme(url.scheme))
        return URL_BAD_SCHEME;
    url.body = split(&t, '?');
    url.query = t;
    *ret = url;
    return URL_FINE;
}

const char *url_flaw_text(enum url_flaw flaw)
{
    switch (flaw) {
    case URL_FINE:
        return "fine";
    case URL_EMPTY:
        return "it is empty";
    case URL_NO_COLON:
        return "there is no scheme in front of a colon";
    case URL_BAD_SCHEME:
        return "a scheme is lower-case letters and digits";
    case URL_BAD_BYTE:
        return "it has a control character";
    }
    return "unknown flaw";
}

bool url_option_next(struct text *query, struct text *ret_key, struct text *ret_value)
{
    if (query->len == 0)
        return false;
    struct text option = split(query, '&');
    *ret_key = split(&option, '=');
    *ret_value = option;
    return true;
}
