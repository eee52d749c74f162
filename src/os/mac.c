#include "os/mac.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

#include "os/library.h"

#define HASH_BYTES 32

static struct gh {
    __typeof__(gnutls_hmac_fast) *gnutls_hmac_fast;
    __typeof__(gnutls_memcmp) *gnutls_memcmp;
} gh;

static bool load(void)
{
    static const struct library_call calls[] = {
        {"gnutls_hmac_fast", offsetof(struct gh, gnutls_hmac_fast)},
        {"gnutls_memcmp", offsetof(struct gh, gnutls_memcmp)},
    };
    static struct library gnutls = {"libgnutls.so.30",
                                    "message codes need GnuTLS (Debian: libgnutls30)", calls,
                                    sizeof calls / sizeof calls[0], &gh, false};
    return library_need(&gnutls, NULL) == 0;
}

bool mac_make(const uint8_t key[MAC_KEY_BYTES], const void *message, size_t len,
              uint8_t ret[MAC_BYTES])
{
    uint8_t hash[HASH_BYTES];
    if (!load() ||
        gh.gnutls_hmac_fast(GNUTLS_MAC_SHA256, key, MAC_KEY_BYTES, message, len, hash) < 0)
        return false;
    memcpy(ret, hash, MAC_BYTES);
    return true;
}

bool mac_is(const uint8_t key[MAC_KEY_BYTES], const void *message, size_t len,
            const uint8_t code[MAC_BYTES])
{
    uint8_t own[MAC_BYTES];
    return mac_make(key, message, len, own) && gh.gnutls_memcmp(own, code, MAC_BYTES) == 0;
}
