#include "http/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fail.h"

static int check_rights(int fd, const char *path, tenure_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return fail_errno(err, errno, "cannot look at the secret %s", path);
    if (!S_ISREG(st.st_mode))
        return fail(err, TENURE_INVALID, "the secret %s is not a file", path);
    if (st.st_mode & (S_IRWXO | S_IWGRP))
        return fail(err, TENURE_DENIED,
                    "the secret %s is open to others (mode %03o): chmod 600 or 640", path,
                    (unsigned)st.st_mode & 0777);
    return 0;
}

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

static int read_line(int fd, const char *path, struct secret *ret, tenure_error *err)
{
    char line[SECRET_BYTES_MAX + 2];
    int code = check_rights(fd, path, err);
    if (code < 0)
        return code;
    ssize_t n = read(fd, line, sizeof line);
    if (n < 0)
        return fail_errno(err, errno, "cannot read the secret %s", path);
    const char *end = memchr(line, '\n', (size_t)n);
    size_t len = end ? (size_t)(end - line) : (size_t)n;
    if (!is_secret(line, len))
        return fail(err, TENURE_INVALID,
                    "the secret %s: its first line is to be %d to %d printable characters without "
                    "blanks", path, SECRET_BYTES_MIN, SECRET_BYTES_MAX);
    memset(ret, 0, sizeof *ret);
    memcpy(ret->bytes, line, len);
    return 0;
}

int secret_read(const char *path, struct secret *ret, tenure_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail_errno(err, errno, "cannot open the secret %s", path);
    int code = read_line(fd, path, ret, err);
    close(fd);
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
