/* store/etcd_tls.h - TLS on a socket that does not block, by GnuTLS, which is loaded when the first
 * such connection is made.
 *
 * Files are read for each connection: who puts a new certificate in place of the old one needs to
 * tell nobody. */
#ifndef STORE_ETCD_TLS_H
#define STORE_ETCD_TLS_H

#include <stdbool.h>
#include <sys/types.h>
#include <tenure/error.h>

struct etcd_tls;

struct etcd_tls_options {
    const char *ca;   /* whom to trust; NULL: the system's list */
    const char *cert; /* who we are; NULL: nobody */
    const char *key;
    const char *name; /* whom the server's certificate must name */
    bool is_address;  /* `name` is one, and is not sent */
};

/* Loads GnuTLS.  Returns 0, or a code with *err filled.  Any thread. */
int etcd_tls_load(tenure_error *err);

/* On a connected socket.  Returns 0, or a code with *err filled. */
int etcd_tls_start(int fd, const struct etcd_tls_options *opt, struct etcd_tls **ret,
                   tenure_error *err);

/* Goes on with the handshake: 1 when it is done, 0 when it waits for the socket, or a code. */
int etcd_tls_shake(struct etcd_tls *t, tenure_error *err);

/* Like send() and recv(): -1 with EAGAIN when it waits for the socket; with EPROTO, and *err
 * filled, when it is over. */
ssize_t etcd_tls_send(struct etcd_tls *t, const void *bytes, size_t len, tenure_error *err);
ssize_t etcd_tls_recv(struct etcd_tls *t, void *bytes, size_t len, tenure_error *err);

/* Whether recv() has something although the socket may have not. */
bool etcd_tls_pending(const struct etcd_tls *t);

struct etcd_tls *etcd_tls_close(struct etcd_tls *t); /* NULL */

#endif
