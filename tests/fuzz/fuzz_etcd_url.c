/* An etcd's URL that is taken apart has hosts, ports and a prefix that are pieces of it and within
 * their limits; what is not has a flaw with words. */
#include <stdlib.h>
#include <string.h>

#include "wire/etcd_url.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct text whole = {(const char *)data, size}, at = {0};
    struct url url;
    struct etcd_url e;
    if (url_parse(whole, &url) != URL_FINE)
        return 0;
    enum etcd_url_flaw flaw = etcd_url_parse(&url, &e, &at);
    if (flaw != ETCD_URL_FINE) {
        if (*etcd_url_flaw_text(flaw) == '\0')
            abort();
        return 0;
    }
    if (e.endpoints < 1 || e.endpoints > ETCD_ENDPOINTS_MAX || e.prefix.len == 0 ||
        e.prefix.len > ETCD_PREFIX_BYTES_MAX)
        abort();
    for (int i = 0; i < e.endpoints; i++) {
        struct text host = e.endpoint[i].host;
        if (host.at < whole.at || host.at + host.len > whole.at + whole.len || host.len == 0 ||
            e.endpoint[i].port == 0)
            abort();
    }
    if ((e.cert.len > 0) != (e.key.len > 0) || (e.user.len > 0) != (e.password_file.len > 0))
        abort();
    return 0;
}
