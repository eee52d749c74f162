/* Any command line is either taken apart or refused with a message; nothing in between. */
#include <stdlib.h>
#include <string.h>

#include "cli/parse.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

#define WORDS_MAX 64

/* The input is words, each ended by NUL or a newline; the first byte chooses a command. */
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *argv[WORDS_MAX + 1], error[PARSE_ERROR_BYTES] = "";
    struct invocation inv;
    int argc = 0;
    if (size < 1)
        return 0;
    size_t commands = 0;
    while (command_table[commands])
        commands++;
    const struct command *command = command_table[data[0] % commands];
    char *line = malloc(size);
    if (!line)
        abort();
    memcpy(line, data + 1, size - 1);
    line[size - 1] = '\0';
    for (char *at = line, *end = line + size - 1; at < end && argc < WORDS_MAX;) {
        argv[argc++] = at;
        char *newline = strchr(at, '\n');
        if (newline)
            *newline = '\0';
        at += strlen(at) + 1;
    }
    argv[argc] = NULL;
    bool taken = parse_invocation(command, argc, argv, &inv, error);
    if (!taken && (error[0] == '\0' || memchr(error, '\0', sizeof error) == NULL))
        abort();
    free(line);
    return 0;
}
