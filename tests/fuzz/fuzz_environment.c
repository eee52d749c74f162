/* An environment made of any words: the innermost tenure that is found in it is one that is there,
 * with a token that is a number or is refused as none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/environment.h"
#include "cli/value.h"
#include "line.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

extern char **environ;

#define ENTRIES_MAX 64

/* The lines of the text become the environment. */
static size_t split(char *text, char **entry)
{
    size_t n = 0;
    for (char *at = text; n < ENTRIES_MAX && *at;) {
        char *end = strchrnul(at, '\n');
        bool last = *end == '\0';
        *end = '\0';
        if (strchr(at, '='))
            entry[n++] = at;
        at = last ? end : end + 1;
    }
    entry[n] = NULL;
    return n;
}

static void check(const char *name)
{
    struct environment_level level;
    uint64_t token = 0;
    if (!environment_find(name, &level))
        return;
    if (!level.name || !level.token || (name && strcmp(name, level.name) != 0))
        abort();
    if (value_parse_token(level.token, &token) && token == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *entry[ENTRIES_MAX + 1], **old = environ;
    char *text = line_of(data, size);
    if (!text)
        return 0;
    split(text, entry);
    environ = entry;
    check(NULL);
    check("job");
    check("");
    environ = old;
    free(text);
    return 0;
}
