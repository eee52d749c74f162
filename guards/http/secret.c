#include "http/secret.h"

#include <stdlib.h>
#include <string.h>

#include "os/fail.h"
#include "os/sheet.h"

static bool is_secret(const char *line, size_t len)
{
    if (len < SECRET_BYTES_MIN || len > SECRET_BYTES_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (line[i] <= ' ' || line[i] > '~')
            return false;
    }
    return true;
}

int secret_read(const char *path, struct secret *ret, tenure_error *err)
{
    char *bytes;
    size_t size;
    int code = sheet_read(path, SHEET_OF_A_GROUP, &bytes, &size, err);
    if (code < 0)
        return code;
    size_t len = strcspn(bytes, "\n");
    if (is_secret(bytes, len)) {
        memset(ret, 0, sizeof *ret);
        memcpy(ret->bytes, bytes, len);
    } else {
        code = fail(err, TENURE_INVALID,
                    "the secret %s: its first line is to be %d to %d printable characters without "
                    "blanks", path, SECRET_BYTES_MIN, SECRET_BYTES_MAX);
    }
    explicit_bzero(bytes, size);
    free(bytes);
    return code;
}

bool secret_is_shown(const struct secret *secret, struct text authorization)
{
    static const char head[] = "Bearer ";
    size_t n = sizeof head - 1, len = strlen(secret->bytes);
    if (authorization.len != n + len || memcmp(authorization.at, head, n) != 0)
        return false;
    unsigned char differs = 0;
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned char)(authorization.at[n + i] ^ secret->bytes[i]);
    return differs == 0;
}
