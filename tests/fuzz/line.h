/* tests/fuzz/line.h - the bytes of an input as a string, exactly as long as it is, so that a
 * sanitizer sees a step beyond its end. */
#ifndef TESTS_FUZZ_LINE_H
#define TESTS_FUZZ_LINE_H

#include <stdlib.h>
#include <string.h>

/* With a NUL behind it; freed by the caller, NULL without memory. */
static inline char *line_of(const unsigned char *data, size_t size)
{
    char *line = malloc(size + 1);
    if (line && size > 0)
        memcpy(line, data, size);
    if (line)
        line[size] = '\0';
    return line;
}

#endif
