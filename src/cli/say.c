#include "cli/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum say_level level = SAY_CHANGES;

void say_set_level(enum say_level l)
{
    level = l;
}

static void say(const char *format, va_list args)
{
    static const char prefix[] = "tenure: ";
    char line[1400];
    size_t n = sizeof prefix - 1;
    memcpy(line, prefix, n);
    int m = vsnprintf(line + n, sizeof line - n - 1, format, args);
    if (m < 0)
        return;
    n += (size_t)m < sizeof line - n - 1 ? (size_t)m : sizeof line - n - 2;
    for (size_t i = 0; i < n; i++)
        if (line[i] == '\n')
            line[i] = ' '; /* a line is one line, whatever a name or a reason holds */
    line[n++] = '\n';
    int saved = errno;
    ssize_t written = write(STDERR_FILENO, line, n);
    (void)written; /* nobody is left to tell */
    errno = saved;
}

void say_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

void say_change(const char *format, ...)
{
    if (level < SAY_CHANGES)
        return;
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

void say_detail(const char *format, ...)
{
    if (level < SAY_DETAILS)
        return;
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}
