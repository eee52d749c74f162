/* What a PostgreSQL URL is taken apart into: a name of a schema that needs no quotes, and words for
 * libpq, or a reason. */
#include <stdlib.h>
#include <string.h>

#include "store/postgres_engine.h"

/* After as many turns as there are hosts the first is the first again. */
static void check_hosts(struct pg_hosts *h)
{
    const char *list = h->address ? h->address : h->host;
    char *before = list ? strdup(list) : NULL;
    for (int i = 0; i < h->count; i++)
        pg_hosts_turn(h);
    if (before && strcmp(before, list) != 0)
        abort();
    free(before);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_schema(const struct pg_store *s)
{
    size_t n = strlen(s->schema);
    if (n == 0 || n >= sizeof s->schema ||
        strspn(s->schema, "abcdefghijklmnopqrstuvwxyz_0123456789") != n)
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct url url;
    if (url_parse((struct text){(const char *)data, size}, &url) != URL_FINE)
        return 0;
    struct pg_store *s = calloc(1, sizeof *s);
    tenure_error err = {0};
    if (!s)
        return 0;
    int code = pg_parse(&url, s, &err);
    if (code == 0 && (!s->conninfo || !s->url))
        abort();
    if (code < 0 && (err.code != code || err.text[0] == '\0'))
        abort();
    check_schema(s);
    check_hosts(&s->hosts);
    pg_parsed_free(s);
    free(s);
    return 0;
}
