/* tests/server.h - a place of its own for each case, on a server that is there already. */
#ifndef TESTS_SERVER_H
#define TESTS_SERVER_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The URL of a store on the server `base` that nobody has used before. */
static inline void server_place(char *to, size_t cap, const char *base, const char *suite, int n)
{
    const char *how = strncmp(base, "etcd:", 5) == 0 ? "/"
                      : strchr(base, '?')            ? "&schema="
                                                     : "?schema=";
    snprintf(to, cap, "%s%s%s_%ld_%d", base, how, suite, (long)getpid(), n);
}

#endif
