#include "wire/etcd_url.h"

#include "core/name.h"

static struct text until(struct text t, char sep)
{
    size_t n = 0;
    while (n < t.len && t.at[n] != sep)
        n++;
    return (struct text){t.at, n};
}

static int find(const struct etcd_url *url, const struct etcd_endpoint *e)
{
    for (int i = 0; i < url->endpoints; i++) {
        if (url->endpoint[i].port == e->port && text_equal(url->endpoint[i].host, e->host))
            return i;
    }
    return -1;
}

static enum etcd_url_flaw take_hosts(struct text hosts, struct etcd_url *ret, struct text *at)
{
    while (true) {
        struct text one = until(hosts, ','), rest = one;
        *at = one;
        if (one.len == 0)
            return ETCD_URL_NO_HOST;
        if (ret->endpoints == ETCD_ENDPOINTS_MAX)
            return ETCD_URL_TOO_MANY;
        if (memchr(one.at, '@', one.len))
            return ETCD_URL_PASSWORD;
        struct etcd_endpoint e;
        if (!endpoint_take_host(&rest, &e.host))
            return ETCD_URL_BAD_HOST;
        if (!endpoint_read_port(rest, ETCD_PORT, &e.port) || e.port == 0)
            return ETCD_URL_BAD_PORT;
        if (find(ret, &e) < 0)
            ret->endpoint[ret->endpoints++] = e;
        if (one.len == hosts.len)
            return ETCD_URL_FINE;
        hosts = (struct text){hosts.at + one.len + 1, hosts.len - one.len - 1};
    }
}

static enum etcd_url_flaw take_options(struct text query, struct etcd_url *ret, struct text *at)
{
    struct {
        const char *key;
        struct text *value;
    } options[] = {{"ca", &ret->ca},
                   {"cert", &ret->cert},
                   {"key", &ret->key},
                   {"server-name", &ret->server_name},
                   {"user", &ret->user},
                   {"password-file", &ret->password_file}};
    struct text key, value;
    while (url_option_next(&query, &key, &value)) {
        size_t n = 0, count = sizeof options / sizeof options[0];
        *at = key;
        if (text_equal(key, text_of("tls")) && text_equal(value, text_of("on"))) {
            ret->tls = true;
            continue;
        }
        while (n < count && !text_equal(key, text_of(options[n].key)))
            n++;
        if (n == count || value.len == 0)
            return ETCD_URL_BAD_OPTION;
        *options[n].value = value;
        ret->tls = ret->tls || n < 4;
    }
    *at = query;
    bool halves = (ret->cert.len > 0) != (ret->key.len > 0) ||
                  (ret->user.len > 0) != (ret->password_file.len > 0);
    return halves ? ETCD_URL_HALF : ETCD_URL_FINE;
}

enum etcd_url_flaw etcd_url_parse(const struct url *url, struct etcd_url *ret,
                                  struct text *ret_at)
{
    struct etcd_url found = {.endpoints = 0};
    struct text body = url->body, at = body;
    enum etcd_url_flaw flaw = ETCD_URL_NO_SLASHES;
    if (body.len >= 2 && body.at[0] == '/' && body.at[1] == '/') {
        body = (struct text){body.at + 2, body.len - 2};
        struct text hosts = until(body, '/');
        flaw = take_hosts(hosts, &found, &at);
        found.prefix = text_of("tenure");
        if (body.len > hosts.len + 1)
            found.prefix = (struct text){body.at + hosts.len + 1, body.len - hosts.len - 1};
        if (flaw == ETCD_URL_FINE && (found.prefix.len > ETCD_PREFIX_BYTES_MAX ||
                                      name_check(found.prefix, NULL) != NAME_FINE)) {
            at = found.prefix;
            flaw = ETCD_URL_BAD_PREFIX;
        }
    }
    if (flaw == ETCD_URL_FINE)
        flaw = take_options(url->query, &found, &at);
    if (flaw == ETCD_URL_FINE)
        *ret = found;
    else if (ret_at)
        *ret_at = at;
    return flaw;
}

int etcd_url_find(const struct etcd_url *url, struct text member)
{
    struct text scheme = until(member, ':'), rest;
    struct etcd_endpoint e;
    if (!text_equal(scheme, text_of("http")) && !text_equal(scheme, text_of("https")))
        return -1;
    rest = (struct text){member.at + scheme.len, member.len - scheme.len};
    if (rest.len < 3 || memcmp(rest.at, "://", 3) != 0)
        return -1;
    rest = (struct text){rest.at + 3, rest.len - 3};
    if (!endpoint_take_host(&rest, &e.host) || !endpoint_read_port(rest, ETCD_PORT, &e.port))
        return -1;
    return find(url, &e);
}

const char *etcd_url_flaw_text(enum etcd_url_flaw flaw)
{
    switch (flaw) {
    case ETCD_URL_FINE:
        return "fine";
    case ETCD_URL_NO_SLASHES:
        return "it is etcd://HOST:PORT[,HOST:PORT...][/PREFIX]";
    case ETCD_URL_NO_HOST:
        return "a host is missing";
    case ETCD_URL_TOO_MANY:
        return "there are more than 16 hosts";
    case ETCD_URL_BAD_HOST:
        return "this is no host";
    case ETCD_URL_BAD_PORT:
        return "a port is a number from 1 to 65535";
    case ETCD_URL_PASSWORD:
        return "a password does not go into the URL: use ?user=NAME&password-file=FILE";
    case ETCD_URL_BAD_PREFIX:
        return "the prefix is not a name";
    case ETCD_URL_BAD_OPTION:
        return "known are tls=on, ca, cert, key, server-name, user and password-file, with a value";
    case ETCD_URL_HALF:
        return "cert goes with key, and user with password-file";
    }
    return "unknown flaw";
}
