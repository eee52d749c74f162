#include "wire/endpoint.h"

#include <string.h>

static bool is_host_byte(char c, bool in_brackets)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return true;
    return c == '.' || c == '-' || c == '_' || (in_brackets && (c == ':' || c == '%'));
}

bool endpoint_take_host(struct text *t, struct text *ret)
{
    bool in_brackets = t->len > 0 && t->at[0] == '[';
    size_t from = in_brackets, n = from;
    while (n < t->len && is_host_byte(t->at[n], in_brackets))
        n++;
    if (n == from || n - from > ENDPOINT_HOST_BYTES_MAX)
        return false;
    if (in_brackets && (n == t->len || t->at[n] != ']' || !memchr(t->at, ':', n)))
        return false;
    *ret = (struct text){t->at + from, n - from};
    n += in_brackets;
    *t = (struct text){t->at + n, t->len - n};
    return true;
}

bool endpoint_read_port(struct text t, uint16_t standard, uint16_t *ret)
{
    unsigned port = 0;
    if (t.len == 0) {
        *ret = standard;
        return true;
    }
    if (t.at[0] != ':' || t.len < 2 || t.len > 6)
        return false;
    for (size_t i = 1; i < t.len; i++) {
        if (t.at[i] < '0' || t.at[i] > '9')
            return false;
        port = 10 * port + (unsigned)(t.at[i] - '0');
    }
    if (port > UINT16_MAX)
        return false;
    *ret = (uint16_t)port;
    return true;
}
