/* What a neighbour tells, when it knows the key of the store: a record that is kept as it was told,
 * or nothing (store/postgres_news.c).
 *
 * Input: what stands behind the seal. */
#include <stdlib.h>
#include <string.h>

#include "store/postgres_engine.h"

#define SESSION 7u

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static struct pg_store s;
    unsigned char news[NEIGHBOURS_NEWS_MAX];
    if (size > sizeof news - MAC_BYTES)
        return 0;
    s = (struct pg_store){.session = SESSION, .has_bell_key = true, .greeted = true, .stamp = 3};
    memcpy(news + MAC_BYTES, data, size);
    if (!mac_make(s.bell_key, news + MAC_BYTES, size, news))
        abort();
    news_take(&s, news, MAC_BYTES + size);
    const struct known_record *k = known_record(&s, "job");
    if (k && (!k->told || k->version < 2 || k->head.len == 0 || k->head.len > size))
        abort();
    cache_forget(&s.records);
    cache_forget(&s.sessions);
    fence_set_free(&s.fences);
    return 0;
}
