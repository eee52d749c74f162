/* http/server.h - the checker: a small HTTP server that proxies ask (request.h has what it says).
 *
 * A few threads with epoll, connections that stay open, no TLS: that is the proxy's.  The socket is
 * listened on before this returns, and nothing is answered after http_server_close() began. */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <tenure/error.h>

struct http_server;

struct http_server_options {
    const char *target;      /* http://HOST[:PORT]; port 0 is any free one */
    const char *marks_file;
    const char *secret_file;
    void (*trouble)(void *arg, const char *why); /* as marks_watch() (marks.h); NULL: nobody */
    void *trouble_arg;
};

/* 0 and *ret, or a code with *err filled: INVALID (the target), UNREACHABLE (the address is in
 * use), DENIED, and the codes of marks_open() and secret_read(). */
int http_server_open(const struct http_server_options *options, struct http_server **ret,
                     tenure_error *err);

/* Where it listens, as a URL; until it is closed. */
const char *http_server_url(const struct http_server *s);

/* Whether others than programs of this machine can reach it. */
bool http_server_is_exposed(const struct http_server *s);

/* How many guards it has. */
size_t http_server_guards(struct http_server *s);

/* Ends it and closes its file.  NULL is fine.  Returns NULL. */
struct http_server *http_server_close(struct http_server *s);

#endif
