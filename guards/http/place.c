#include "http/place.h"

#include <stdio.h>
#include <string.h>

#include "os/fail.h"
#include "wire/url.h"

/* The only option is the last thing in the text, so its value ends with a NUL. */
static bool read_options(struct text query, struct http_place *place)
{
    struct text key, value;
    while (url_option_next(&query, &key, &value)) {
        if (!text_equal(key, text_of("secret")) || value.len == 0 || query.len > 0)
            return false;
        place->secret_file = value.at;
    }
    return true;
}

#define NOT_A_PLACE "it is http://HOST[:PORT]"

/* NULL, or the rule that was broken.  The port of https is that of the proxy in front. */
static const char *read_place(const struct url *url, struct http_place *place)
{
    struct text rest = url->body, host;
    place->tls = text_equal(url->scheme, text_of("https"));
    if (!place->tls && !text_equal(url->scheme, text_of("http")))
        return NOT_A_PLACE;
    if (rest.len < 2 || rest.at[0] != '/' || rest.at[1] != '/')
        return NOT_A_PLACE;
    rest = (struct text){rest.at + 2, rest.len - 2};
    if (memchr(rest.at, '@', rest.len))
        return "it takes no user: use ?secret=FILE";
    if (!endpoint_take_host(&rest, &host))
        return "a host is missing";
    const char *slash = rest.len ? memchr(rest.at, '/', rest.len) : NULL;
    struct text port = {rest.at, slash ? (size_t)(slash - rest.at) : rest.len};
    if (!endpoint_read_port(port, place->tls ? 443 : HTTP_PORT, &place->port))
        return "a port is a number from 0 to 65535";
    if (!read_options(url->query, place))
        return "its one option is secret=FILE";
    struct text path = {slash, slash ? rest.len - port.len : 0};
    while (path.len > 0 && path.at[path.len - 1] == '/')
        path.len--;
    bool v6 = memchr(host.at, ':', host.len) != NULL;
    place->prefix = path.len > 0;
    int n = snprintf(place->base, sizeof place->base, "%.*s://%s%.*s%s:%u%.*s",
                     (int)url->scheme.len, url->scheme.at, v6 ? "[" : "", (int)host.len, host.at,
                     v6 ? "]" : "", place->port, (int)path.len, path.len ? path.at : "");
    if (n < 0 || (size_t)n >= sizeof place->base)
        return "it is too long";
    memcpy(place->host, host.at, host.len);
    place->host[host.len] = '\0';
    return NULL;
}

int http_place_parse(const char *target, struct http_place *ret, tenure_error *err)
{
    struct url url;
    struct http_place place = {.secret_file = NULL};
    enum url_flaw flaw = url_parse(text_of(target), &url);
    const char *rule = NOT_A_PLACE;
    if (flaw == URL_FINE)
        rule = read_place(&url, &place);
    else if (flaw == URL_BAD_BYTE)
        rule = url_flaw_text(flaw);
    if (rule)
        return fail(err, TENURE_INVALID, "%s: %s", target, rule);
    *ret = place;
    return 0;
}
