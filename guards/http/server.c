#include "http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/library.h"
#include "http/place.h"
#include "http/request.h"
#include "os/fail.h"

/* A thread of libmicrohttpd (0.9.75) that is given 128 events at once, or 256, waits for more
 * before it looks at any: none has so many connections.  They fit into 1024 descriptors. */
#define THREADS 8u
#define CONNECTIONS_MAX (THREADS * 120u)
#define DESCRIPTORS (CONNECTIONS_MAX + 64) /* the marks, their log, what the threads wait on */

/* Until the first request is whole.  libmicrohttpd does not see that a connection was closed in the
 * middle of one, so this is how long a crowd that is gone keeps others out. */
#define FIRST_REQUEST_S 5u

/* Of a request's line and headers; nginx sends at most 32 KiB of its client's. */
#define REQUEST_BYTES_MAX ((size_t)48 * 1024)

struct http_server {
    struct checker checker;
    struct MHD_Daemon *daemon;
    int fd; /* the daemon's, once there is one */
    bool exposed;
    char url[ENDPOINT_HOST_BYTES_MAX + 32];
};

/* ---- the socket ---------------------------------------------------------------------------- */

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)a;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Notes where the socket listens. */
static int note_address(struct http_server *s, tenure_error *err)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    char host[ENDPOINT_HOST_BYTES_MAX + 1], port[8];
    if (getsockname(s->fd, (struct sockaddr *)&a, &len) != 0 ||
        getnameinfo((struct sockaddr *)&a, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return fail(err, TENURE_INTERNAL, "cannot tell where it listens");
    bool v6 = a.ss_family == AF_INET6;
    (void)snprintf(s->url, sizeof s->url, "http://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "",
                   port);
    s->exposed = !is_loopback((struct sockaddr *)&a);
    return 0;
}

static int listen_at(const struct addrinfo *a, int *ret)
{
    int one = 1;
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (fd < 0)
        return errno;
    /* Without it a checker that was just ended keeps its successor from listening. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) {
        *ret = fd;
        return 0;
    }
    int e = errno;
    close(fd);
    return e;
}

static int open_socket(struct http_server *s, const char *target, tenure_error *err)
{
    struct http_place place;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    char port[8];
    int code = http_place_parse(target, &place, err);
    if (code < 0)
        return code;
    if (place.tls || place.prefix || place.secret_file)
        return fail(err, TENURE_INVALID,
                    "%s: a checker serves at http://HOST[:PORT]; TLS and paths are the proxy's",
                    target);
    (void)snprintf(port, sizeof port, "%u", place.port);
    int rc = getaddrinfo(place.host, port, &hints, &found);
    if (rc != 0)
        return fail(err, TENURE_INVALID, "%s: %s", target, gai_strerror(rc));
    int e = listen_at(found, &s->fd);
    freeaddrinfo(found);
    if (e != 0)
        return fail_errno(err, e, "cannot listen on %s", place.base);
    return note_address(s, err);
}

/* ---- the daemon ---------------------------------------------------------------------------- */

/* A path is its own spelling, as a name is: "%" is a byte of it. */
static size_t keep_escapes(void *arg, struct MHD_Connection *connection, char *text)
{
    (void)arg;
    (void)connection;
    return strlen(text);
}

/* A thread that cannot accept for want of a descriptor tries again at once, for ever. */
static int see_to_descriptors(tenure_error *err)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) != 0)
        return fail_errno(err, errno, "the limit of open files");
    if (l.rlim_cur >= DESCRIPTORS)
        return 0;
    if (l.rlim_max < DESCRIPTORS)
        return fail(err, TENURE_NO_MEMORY,
                    "a checker needs %u open files for its connections, and may have %llu "
                    "(ulimit -n)", DESCRIPTORS, (unsigned long long)l.rlim_max);
    l.rlim_cur = DESCRIPTORS;
    return setrlimit(RLIMIT_NOFILE, &l) == 0
               ? 0 : fail_errno(err, errno, "the limit of open files cannot be raised");
}

/* Woken by a descriptor (ITC): a thread that has all the connections that it may have does not look
 * at the socket, and would not hear that it is to end. */
static int start_daemon(struct http_server *s, tenure_error *err)
{
    s->daemon = mhd.MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, request_handle, &s->checker,
        MHD_OPTION_LISTEN_SOCKET, s->fd, MHD_OPTION_THREAD_POOL_SIZE, THREADS,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        FIRST_REQUEST_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_BYTES_MAX, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_escapes, NULL, MHD_OPTION_END);
    return s->daemon ? 0 : fail(err, TENURE_INTERNAL, "cannot start the HTTP server: %s",
                                strerror(errno));
}

int http_server_open(const struct http_server_options *options, struct http_server **ret,
                     tenure_error *err)
{
    int code = mhd_load(err);
    if (code == 0)
        code = see_to_descriptors(err);
    if (code < 0)
        return code;
    struct http_server *s = calloc(1, sizeof *s);
    if (s == NULL)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    s->fd = -1;
    code = secret_read(options->secret_file, &s->checker.secret, err);
    if (code == 0)
        code = open_socket(s, options->target, err);
    if (code == 0)
        code = marks_open(options->marks_file, &s->checker.marks, err);
    if (code == 0)
        marks_watch(s->checker.marks, options->trouble, options->trouble_arg);
    if (code == 0)
        code = start_daemon(s, err);
    if (code < 0)
        http_server_close(s);
    else
        *ret = s;
    return code;
}

struct http_server *http_server_close(struct http_server *s)
{
    if (s == NULL)
        return NULL;
    if (s->daemon)
        mhd.MHD_stop_daemon(s->daemon); /* closes the socket, waits for its threads */
    else if (s->fd >= 0)
        close(s->fd);
    marks_close(s->checker.marks);
    explicit_bzero(&s->checker.secret, sizeof s->checker.secret);
    free(s);
    return NULL;
}

const char *http_server_url(const struct http_server *s)
{
    return s->url;
}

bool http_server_is_exposed(const struct http_server *s)
{
    return s->exposed;
}

static void nothing(void *arg, const struct marks_info *info)
{
    (void)arg;
    (void)info;
}

size_t http_server_guards(struct http_server *s)
{
    return marks_each(s->checker.marks, MARKS_ALL, nothing, NULL);
}
