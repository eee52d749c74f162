#include "os/signature.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

#include "os/fail.h"
#include "os/library.h"

#define GT_CALLS(X)                                                                                \
    X(gnutls_privkey_init) X(gnutls_privkey_deinit) X(gnutls_privkey_generate)                     \
    X(gnutls_privkey_export_ecc_raw) X(gnutls_privkey_import_ecc_raw)                              \
    X(gnutls_privkey_sign_data2) X(gnutls_pubkey_init) X(gnutls_pubkey_deinit)                     \
    X(gnutls_pubkey_import_ecc_raw) X(gnutls_pubkey_verify_data2) X(gnutls_memset)                 \
    X(gnutls_free) X(gnutls_strerror)

static struct gt {
#define GT_MEMBER(name) __typeof__(name) *name;
    GT_CALLS(GT_MEMBER)
#undef GT_MEMBER
} gt;

struct signer {
    gnutls_privkey_t key;
};

struct verifier {
    gnutls_pubkey_t key;
};

static int load(tenure_error *err)
{
    static const struct library_call calls[] = {
#define GT_ENTRY(name) {#name, offsetof(struct gt, name)},
        GT_CALLS(GT_ENTRY)
#undef GT_ENTRY
    };
    static struct library gnutls = {"libgnutls.so.30",
                                    "permits need GnuTLS (Debian: libgnutls30)", calls,
                                    sizeof calls / sizeof calls[0], &gt, false};
    return library_need(&gnutls, err);
}

/* GnuTLS takes what it only reads without a const. */
static gnutls_datum_t datum(const void *bytes, size_t len)
{
    gnutls_datum_t d = {NULL, (unsigned)len};
    memcpy(&d.data, &bytes, sizeof bytes);
    return d;
}

static int broken(int n, tenure_error *err)
{
    return fail(err, n == GNUTLS_E_MEMORY_ERROR ? TENURE_NO_MEMORY : TENURE_INTERNAL, "GnuTLS: %s",
                gt.gnutls_strerror(n));
}

static int not_a_key(int n, tenure_error *err)
{
    return n == GNUTLS_E_MEMORY_ERROR ? broken(n, err)
                                      : fail(err, TENURE_CORRUPT, "it is no key of Ed25519");
}

/* ---- making --------------------------------------------------------------------------------- */

/* Takes a part of a key that GnuTLS has exported, and wipes its copy. */
static bool take(gnutls_datum_t *part, unsigned char ret[SIGNATURE_KEY_BYTES])
{
    bool fits = part->size == SIGNATURE_KEY_BYTES;
    if (fits)
        memcpy(ret, part->data, SIGNATURE_KEY_BYTES);
    if (part->data)
        gt.gnutls_memset(part->data, 0, part->size);
    (*gt.gnutls_free)(part->data);
    return fits;
}

int signature_make_keys(unsigned char ret_seed[SIGNATURE_KEY_BYTES],
                        unsigned char ret_public[SIGNATURE_KEY_BYTES], tenure_error *err)
{
    gnutls_privkey_t key;
    gnutls_datum_t x = {NULL, 0}, k = {NULL, 0};
    int code = load(err);
    if (code < 0)
        return code;
    int n = gt.gnutls_privkey_init(&key);
    if (n < 0)
        return broken(n, err);
    n = gt.gnutls_privkey_generate(key, GNUTLS_PK_EDDSA_ED25519,
                                   GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_ED25519), 0);
    if (n >= 0)
        n = gt.gnutls_privkey_export_ecc_raw(key, NULL, &x, NULL, &k);
    bool both = take(&x, ret_public);
    both = take(&k, ret_seed) && both;
    gt.gnutls_privkey_deinit(key);
    if (n < 0)
        return broken(n, err);
    return both ? 0 : fail(err, TENURE_INTERNAL, "GnuTLS: a key of another length");
}

/* ---- private keys --------------------------------------------------------------------------- */

struct signer *signer_close(struct signer *s)
{
    if (s && s->key)
        gt.gnutls_privkey_deinit(s->key);
    free(s);
    return NULL;
}

/* A signature of the one must be one of the other: GnuTLS takes any two. */
static int check_pair(const struct signer *s, const unsigned char public[SIGNATURE_KEY_BYTES],
                      tenure_error *err)
{
    static const char bytes[] = "do they belong together?";
    unsigned char signature[SIGNATURE_BYTES];
    struct verifier *v;
    int code = verifier_open(public, &v, err);
    if (code < 0)
        return code;
    code = signer_sign(s, bytes, sizeof bytes, signature, err);
    if (code == 0) {
        int good = verifier_verify(v, bytes, sizeof bytes, signature);
        code = good == 1 ? 0 : fail(err, TENURE_CORRUPT, "its two halves do not belong together");
    }
    verifier_close(v);
    return code;
}

int signer_open(const unsigned char seed[SIGNATURE_KEY_BYTES],
                const unsigned char public[SIGNATURE_KEY_BYTES], struct signer **ret,
                tenure_error *err)
{
    int code = load(err);
    if (code < 0)
        return code;
    struct signer *s = calloc(1, sizeof *s);
    if (!s)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    const gnutls_datum_t x = datum(public, SIGNATURE_KEY_BYTES),
                         k = datum(seed, SIGNATURE_KEY_BYTES);
    int n = gt.gnutls_privkey_init(&s->key);
    if (n < 0)
        s->key = NULL;
    else
        n = gt.gnutls_privkey_import_ecc_raw(s->key, GNUTLS_ECC_CURVE_ED25519, &x, NULL, &k);
    code = n < 0 ? not_a_key(n, err) : check_pair(s, public, err);
    if (code < 0) {
        signer_close(s);
        return code;
    }
    *ret = s;
    return 0;
}

int signer_sign(const struct signer *s, const void *bytes, size_t len,
                unsigned char ret[SIGNATURE_BYTES], tenure_error *err)
{
    const gnutls_datum_t data = datum(bytes, len);
    gnutls_datum_t signature = {NULL, 0};
    int n = gt.gnutls_privkey_sign_data2(s->key, GNUTLS_SIGN_EDDSA_ED25519, 0, &data, &signature);
    if (n < 0)
        return broken(n, err);
    bool fits = signature.size == SIGNATURE_BYTES;
    if (fits)
        memcpy(ret, signature.data, SIGNATURE_BYTES);
    (*gt.gnutls_free)(signature.data);
    return fits ? 0 : fail(err, TENURE_INTERNAL, "GnuTLS: a signature of another length");
}

/* ---- public keys ---------------------------------------------------------------------------- */

struct verifier *verifier_close(struct verifier *v)
{
    if (v && v->key)
        gt.gnutls_pubkey_deinit(v->key);
    free(v);
    return NULL;
}

int verifier_open(const unsigned char public[SIGNATURE_KEY_BYTES], struct verifier **ret,
                  tenure_error *err)
{
    int code = load(err);
    if (code < 0)
        return code;
    struct verifier *v = calloc(1, sizeof *v);
    if (!v)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    const gnutls_datum_t x = datum(public, SIGNATURE_KEY_BYTES);
    int n = gt.gnutls_pubkey_init(&v->key);
    if (n < 0)
        v->key = NULL;
    else
        n = gt.gnutls_pubkey_import_ecc_raw(v->key, GNUTLS_ECC_CURVE_ED25519, &x, NULL);
    if (n < 0) {
        verifier_close(v);
        return not_a_key(n, err);
    }
    *ret = v;
    return 0;
}

int verifier_verify(const struct verifier *v, const void *bytes, size_t len,
                    const unsigned char signature[SIGNATURE_BYTES])
{
    const gnutls_datum_t data = datum(bytes, len), sig = datum(signature, SIGNATURE_BYTES);
    int n = gt.gnutls_pubkey_verify_data2(v->key, GNUTLS_SIGN_EDDSA_ED25519, 0, &data, &sig);
    if (n >= 0 || n == GNUTLS_E_PK_SIG_VERIFY_FAILED)
        return n >= 0;
    return n == GNUTLS_E_MEMORY_ERROR ? TENURE_NO_MEMORY : TENURE_INTERNAL;
}
