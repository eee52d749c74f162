/* lib/permit_key.c - the files of keys: made, and read into keys. */
#include "lib/permit_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/handle.h"
#include "os/sheet.h"
#include "wire/key.h"

_Static_assert(SIGNATURE_KEY_BYTES == KEY_BYTES_EACH, "one kind of key");

/* ---- private keys --------------------------------------------------------------------------- */

/* The public half first: a pair without it could be used and never be trusted. */
static int write_pair(const char *path, const struct key_pair *pair, tenure_error *err)
{
    char public_path[4096], line[KEY_LINE_BYTES];
    int n = snprintf(public_path, sizeof public_path, "%s.pub", path);
    if (n < 0 || n >= (int)sizeof public_path)
        return error_set(err, TENURE_INVALID, "the path of the key is too long");
    key_format_public(pair->public, line);
    int code = sheet_make(public_path, 0644, text_of(line), err);
    if (code < 0)
        return code;
    key_format_private(pair, line);
    code = sheet_make(path, 0600, text_of(line), err);
    if (code < 0)
        unlink(public_path);
    explicit_bzero(line, sizeof line);
    return code;
}

EXPORT int tenure_permit_key_make(const char *path, uint64_t *ret_id, tenure_error *err)
{
    struct key_pair pair;
    int code = signature_make_keys(pair.seed, pair.public, err);
    if (code == 0)
        code = write_pair(path, &pair, err);
    explicit_bzero(pair.seed, sizeof pair.seed);
    if (code == 0 && ret_id)
        *ret_id = key_id(pair.public);
    return code;
}

static int key_open(const char *path, struct text file, tenure_permit_key *ret, tenure_error *err)
{
    struct key_pair pair;
    struct text line;
    tenure_error why;
    unsigned n = 0;
    bool one = key_line_next(&file, &line, &n) && key_parse_private(line, &pair) &&
               !key_line_next(&file, &line, &n);
    int code = one ? signer_open(pair.seed, pair.public, &ret->signer, &why)
                   : error_set(&why, TENURE_CORRUPT, "it is no signing key of tenure");
    ret->id = one && code == 0 ? key_id(pair.public) : 0;
    explicit_bzero(&pair, sizeof pair);
    return code < 0 ? error_set(err, code, "%s: %s", path, why.text) : 0;
}

EXPORT int tenure_permit_key_load(const char *path, tenure_permit_key **ret, tenure_error *err)
{
    char *bytes;
    size_t len;
    int code = sheet_read(path, SHEET_NO_READERS, &bytes, &len, err);
    if (code < 0)
        return code;
    tenure_permit_key *key = calloc(1, sizeof *key);
    code = key ? key_open(path, (struct text){bytes, len}, key, err)
               : error_set(err, TENURE_NO_MEMORY, "out of memory");
    explicit_bzero(bytes, len);
    free(bytes);
    if (code < 0)
        free(key);
    else
        *ret = key;
    return code;
}

EXPORT uint64_t tenure_permit_key_id(const tenure_permit_key *key)
{
    return key->id;
}

EXPORT tenure_permit_key *tenure_permit_key_free(tenure_permit_key *key)
{
    if (key)
        signer_close(key->signer);
    free(key);
    return NULL;
}

/* ---- public keys ---------------------------------------------------------------------------- */

EXPORT tenure_permit_keys *tenure_permit_keys_free(tenure_permit_keys *keys)
{
    for (size_t i = 0; keys && i < keys->count; i++)
        verifier_close(keys->key[i].verifier);
    if (keys)
        free(keys->key);
    free(keys);
    return NULL;
}

static int add_key(tenure_permit_keys *keys, struct text line, tenure_error *err)
{
    unsigned char public[KEY_BYTES_EACH];
    struct permit_public_key *more = realloc(keys->key, (keys->count + 1) * sizeof *more);
    if (!more)
        return error_set(err, TENURE_NO_MEMORY, "out of memory");
    keys->key = more;
    if (!key_parse_public(line, public))
        return error_set(err, TENURE_CORRUPT, "it is not \"ed25519 KEY [REMARK]\"");
    int code = verifier_open(public, &more[keys->count].verifier, err);
    if (code == 0)
        more[keys->count++].id = key_id(public);
    return code;
}

EXPORT int tenure_permit_keys_read(const char *name, const char *text, size_t len,
                                   tenure_permit_keys **ret, tenure_error *err)
{
    struct text rest = {text, len}, line;
    tenure_error why;
    unsigned n = 0;
    int code = 0;
    tenure_permit_keys *keys = calloc(1, sizeof *keys);
    if (!keys)
        return error_set(err, TENURE_NO_MEMORY, "out of memory");
    while (code == 0 && key_line_next(&rest, &line, &n))
        code = add_key(keys, line, &why);
    if (code < 0)
        error_set(err, code, "%s, line %u: %s", name, n, why.text);
    else if (keys->count == 0)
        code = error_set(err, TENURE_CORRUPT, "%s: there is no key in it", name);
    if (code < 0) {
        tenure_permit_keys_free(keys);
        return code;
    }
    *ret = keys;
    return 0;
}

EXPORT int tenure_permit_keys_load(const char *path, tenure_permit_keys **ret, tenure_error *err)
{
    char *bytes;
    size_t len;
    int code = sheet_read(path, SHEET_NO_WRITERS, &bytes, &len, err);
    if (code < 0)
        return code;
    code = tenure_permit_keys_read(path, bytes, len, ret, err);
    free(bytes);
    return code;
}
