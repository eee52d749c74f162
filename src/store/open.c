/* store/open.c - from a URL to an engine. */
#include <string.h>

#include "os/fail.h"
#include "store/engines.h"

static const struct engine {
    const char *scheme;
    store_open_fn *open;
    int (*raise)(const struct url *url, uint64_t above, tenure_error *err); /* NULL: no need */
    int (*init)(const struct url *url, tenure_error *err); /* NULL: to open it is to make it */
} engines[] = {
    {"sqlite", sqlite_store_open, sqlite_store_raise, NULL},
#ifdef TENURE_POSTGRES
    {"postgres", postgres_store_open, postgres_store_raise, postgres_store_init},
    {"postgresql", postgres_store_open, postgres_store_raise, postgres_store_init},
#endif
#ifdef TENURE_ETCD
    {"etcd", etcd_store_open, etcd_store_raise, NULL},
#endif
    {"memory", memory_store_open, NULL, NULL},
};

#ifdef TENURE_POSTGRES
#define KNOWN_POSTGRES ", postgres://HOST/DATABASE"
#else
#define KNOWN_POSTGRES ""
#endif
#ifdef TENURE_ETCD
#define KNOWN_ETCD ", etcd://HOST:PORT,..."
#else
#define KNOWN_ETCD ""
#endif
#define KNOWN "known in this build are sqlite:PATH" KNOWN_POSTGRES KNOWN_ETCD " and memory:NAME"

/* The engine of a URL, or a code. */
static int find(const char *text, struct url *ret_url, const struct engine **ret,
                tenure_error *err)
{
    char shown[120];
    enum url_flaw flaw = url_parse(text_of(text), ret_url);
    url_show(text_of(text), shown, sizeof shown);
    if (flaw == URL_BAD_BYTE) /* not to be printed */
        return fail(err, TENURE_INVALID, "this is no store's URL: %s; " KNOWN,
                    url_flaw_text(flaw));
    size_t len = strlen(text);
    bool path = strchr(text, '/') || (len > 3 && strcmp(text + len - 3, ".db") == 0);
    if (flaw == URL_NO_COLON && path)
        return fail(err, TENURE_INVALID, "\"%s\" is no store's URL: did you mean sqlite:%s?",
                    shown, shown);
    if (flaw != URL_FINE)
        return fail(err, TENURE_INVALID, "\"%s\" is no store's URL: %s; " KNOWN, shown,
                    url_flaw_text(flaw));
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        if (text_equal(ret_url->scheme, text_of(engines[i].scheme))) {
            *ret = &engines[i];
            return 0;
        }
    }
    return fail(err, TENURE_INVALID, "\"%s\": unknown scheme \"%.*s\"; " KNOWN, shown,
                (int)(ret_url->scheme.len > 40 ? 40 : ret_url->scheme.len), ret_url->scheme.at);
}

int store_open(const char *url, const struct store_options *opt, struct store **ret,
               tenure_error *err)
{
    struct url parts;
    const struct engine *engine;
    int code = find(url, &parts, &engine, err);
    return code < 0 ? code : engine->open(&parts, opt, ret, err);
}

int store_raise(const char *url, uint64_t above, tenure_error *err)
{
    struct url parts;
    const struct engine *engine;
    int code = find(url, &parts, &engine, err);
    if (code < 0)
        return code;
    if (!engine->raise)
        return fail(err, TENURE_INVALID, "%s: tokens of such a store cannot be raised",
                    engine->scheme);
    return engine->raise(&parts, above, err);
}

int store_init(const char *url, tenure_error *err)
{
    struct url parts;
    const struct engine *engine;
    int code = find(url, &parts, &engine, err);
    if (code < 0 || !engine->init)
        return code;
    return engine->init(&parts, err);
}
