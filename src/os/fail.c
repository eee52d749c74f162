#include "os/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(tenure_error *err, int code, const char *format, va_list args)
{
    err->code = code;
    vsnprintf(err->text, sizeof err->text, format, args);
}

int fail(tenure_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, code, format, args);
        va_end(args);
    }
    return code;
}

int fail_code(int errnum)
{
    switch (errnum) {
    case EACCES:
    case EPERM:
        return TENURE_DENIED;
    case EROFS:
        return TENURE_READ_ONLY;
    case ENOSPC:
    case EDQUOT:
        return TENURE_NO_SPACE;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return TENURE_NO_MEMORY;
    default:
        return TENURE_UNREACHABLE;
    }
}

int fail_errno(tenure_error *err, int errnum, const char *format, ...)
{
    int code = fail_code(errnum);
    if (!err)
        return code;
    va_list args;
    va_start(args, format);
    fill(err, code, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(errnum));
    return code;
}
