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

/* ---- showing -------------------------------------------------------------------------------- */

struct shown {
    char *at;
    size_t len, cap;
};

static void show(struct shown *s, struct text t)
{
    for (size_t i = 0; i < t.len && s->len + 1 < s->cap; i++)
        s->at[s->len++] = t.at[i];
}

/* The body; a password lies between the first ":" of "//USER:PASSWORD@" and the last "@". */
static void show_body(struct shown *s, struct text body)
{
    struct text user = body, host = body;
    const char *at = NULL, *colon = NULL;
    bool has_host = body.len > 2 && memcmp(body.at, "//", 2) == 0;
    for (size_t i = 0; has_host && i < body.len; i++)
        at = body.at[i] == '@' ? body.at + i : at;
    if (at)
        colon = memchr(body.at, ':', (size_t)(at - body.at));
    if (!colon) {
        show(s, body);
        return;
    }
    user.len = (size_t)(colon + 1 - body.at);
    host = (struct text){at, body.len - (size_t)(at - body.at)};
    show(s, user);
    show(s, text_of("***"));
    show(s, host);
}

static bool is_secret(struct text key)
{
    static const char word[] = "password";
    size_t n = sizeof word - 1;
    return key.len >= n && memcmp(key.at + key.len - n, word, n) == 0;
}

void url_show(struct text whole, char *ret, size_t cap)
{
    struct shown s = {ret, 0, cap};
    struct url url;
    struct text key, value;
    if (url_parse(whole, &url) != URL_FINE || text_equal(url.scheme, text_of("sqlite"))) {
        show(&s, whole); /* a path is no secret */
    } else {
        show(&s, url.scheme);
        show(&s, text_of(":"));
        show_body(&s, url.body);
        for (const char *mark = "?"; url_option_next(&url.query, &key, &value); mark = "&") {
            show(&s, text_of(mark));
            show(&s, key);
            show(&s, text_of("="));
            show(&s, is_secret(key) ? text_of("***") : value);
        }
    }
    ret[s.len] = '\0';
}
