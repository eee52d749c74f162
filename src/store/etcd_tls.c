#include "store/etcd_tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/fail.h"
#include "os/library.h"

#define PIECE_BYTES 16384 /* what one record holds */

#define GT_CALLS(X)                                                                                \
    X(gnutls_alert_get) X(gnutls_alert_get_name) X(gnutls_alpn_set_protocols)                      \
    X(gnutls_certificate_allocate_credentials) X(gnutls_certificate_free_credentials)              \
    X(gnutls_certificate_set_x509_key_file) X(gnutls_certificate_set_x509_system_trust)            \
    X(gnutls_certificate_set_x509_trust_file) X(gnutls_certificate_verification_status_print)      \
    X(gnutls_credentials_set) X(gnutls_deinit) X(gnutls_error_is_fatal) X(gnutls_free)             \
    X(gnutls_handshake) X(gnutls_init) X(gnutls_record_check_pending) X(gnutls_record_recv)        \
    X(gnutls_record_send) X(gnutls_server_name_set) X(gnutls_session_get_verify_cert_status)       \
    X(gnutls_session_set_verify_cert) X(gnutls_set_default_priority) X(gnutls_strerror)            \
    X(gnutls_transport_set_int2)

static struct gt {
#define GT_MEMBER(name) __typeof__(name) *name;
    GT_CALLS(GT_MEMBER)
#undef GT_MEMBER
} gt;

struct etcd_tls {
    gnutls_session_t session;
    gnutls_certificate_credentials_t trust;
    bool sends; /* the last send waits: it is to be gone on with, and not begun anew */
};

static const struct library_call calls[] = {
#define GT_ENTRY(name) {#name, offsetof(struct gt, name)},
    GT_CALLS(GT_ENTRY)
#undef GT_ENTRY
};

int etcd_tls_load(tenure_error *err)
{
    static struct library gnutls = {"libgnutls.so.30",
                                    "etcd: TLS needs GnuTLS (Debian: libgnutls30)", calls,
                                    sizeof calls / sizeof calls[0], &gt, false};
    return library_need(&gnutls, err);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

struct etcd_tls *etcd_tls_close(struct etcd_tls *t)
{
    if (!t)
        return NULL;
    if (t->session)
        gt.gnutls_deinit(t->session);
    if (t->trust)
        gt.gnutls_certificate_free_credentials(t->trust);
    free(t);
    return NULL;
}

static int read_files(struct etcd_tls *t, const struct etcd_tls_options *opt, tenure_error *err)
{
    int n = opt->ca ? gt.gnutls_certificate_set_x509_trust_file(t->trust, opt->ca,
                                                                GNUTLS_X509_FMT_PEM)
                    : gt.gnutls_certificate_set_x509_system_trust(t->trust);
    if (n <= 0)
        return fail(err, TENURE_DENIED, "TLS: no authority to trust in %s: %s",
                    opt->ca ? opt->ca : "the system's list",
                    n < 0 ? gt.gnutls_strerror(n) : "there is none");
    if (!opt->cert)
        return 0;
    n = gt.gnutls_certificate_set_x509_key_file(t->trust, opt->cert, opt->key,
                                                GNUTLS_X509_FMT_PEM);
    if (n < 0)
        return fail(err, TENURE_DENIED, "TLS: the certificate in %s with the key in %s: %s",
                    opt->cert, opt->key, gt.gnutls_strerror(n));
    return 0;
}

static int set_up(struct etcd_tls *t, int fd, const struct etcd_tls_options *opt)
{
    static const gnutls_datum_t h2 = {(unsigned char *)(uintptr_t)"h2", 2};
    int n = gt.gnutls_init(&t->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
    if (n < 0)
        t->session = NULL;
    if (n >= 0)
        n = gt.gnutls_set_default_priority(t->session);
    if (n >= 0)
        n = gt.gnutls_credentials_set(t->session, GNUTLS_CRD_CERTIFICATE, t->trust);
    if (n >= 0)
        n = gt.gnutls_alpn_set_protocols(t->session, &h2, 1, 0);
    if (n >= 0 && !opt->is_address)
        n = gt.gnutls_server_name_set(t->session, GNUTLS_NAME_DNS, opt->name, strlen(opt->name));
    if (n < 0)
        return n;
    gt.gnutls_session_set_verify_cert(t->session, opt->name, 0); /* the name must stay */
    gt.gnutls_transport_set_int2(t->session, fd, fd);
    return 0;
}

int etcd_tls_start(int fd, const struct etcd_tls_options *opt, struct etcd_tls **ret,
                   tenure_error *err)
{
    struct etcd_tls *t = calloc(1, sizeof *t);
    if (!t)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    int n = gt.gnutls_certificate_allocate_credentials(&t->trust);
    if (n < 0)
        t->trust = NULL;
    int code = n < 0 ? fail(err, TENURE_NO_MEMORY, "TLS: %s", gt.gnutls_strerror(n))
                     : read_files(t, opt, err);
    if (code == 0 && (n = set_up(t, fd, opt)) < 0)
        code = fail(err, TENURE_INTERNAL, "TLS: %s", gt.gnutls_strerror(n));
    if (code < 0) {
        etcd_tls_close(t);
        return code;
    }
    *ret = t;
    return 0;
}

/* ---- use ------------------------------------------------------------------------------------- */

/* What went wrong, with the words of whoever said so. */
static int explain(struct etcd_tls *t, int n, tenure_error *err)
{
    gnutls_datum_t text = {NULL, 0};
    if (n == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR) {
        unsigned status = gt.gnutls_session_get_verify_cert_status(t->session);
        gt.gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0);
        fail(err, TENURE_DENIED, "TLS: %.*s", (int)text.size,
             text.data ? (const char *)text.data : "");
        (*gt.gnutls_free)(text.data);
        return TENURE_DENIED;
    }
    if (n == GNUTLS_E_FATAL_ALERT_RECEIVED)
        return fail(err, TENURE_DENIED, "TLS: the server refuses us: %s",
                    gt.gnutls_alert_get_name(gt.gnutls_alert_get(t->session)));
    return fail(err, TENURE_UNREACHABLE, "TLS: %s", gt.gnutls_strerror(n));
}

int etcd_tls_shake(struct etcd_tls *t, tenure_error *err)
{
    int n = gt.gnutls_handshake(t->session);
    if (n >= 0)
        return 1;
    return gt.gnutls_error_is_fatal(n) ? explain(t, n, err) : 0;
}

static ssize_t result(struct etcd_tls *t, ssize_t n, tenure_error *err)
{
    if (n >= 0)
        return n;
    if (!gt.gnutls_error_is_fatal((int)n)) {
        errno = EAGAIN;
        return -1;
    }
    explain(t, (int)n, err);
    errno = EPROTO;
    return -1;
}

ssize_t etcd_tls_send(struct etcd_tls *t, const void *bytes, size_t len, tenure_error *err)
{
    if (len > PIECE_BYTES)
        len = PIECE_BYTES;
    ssize_t n = t->sends ? gt.gnutls_record_send(t->session, NULL, 0)
                         : gt.gnutls_record_send(t->session, bytes, len);
    t->sends = n < 0;
    return result(t, n, err);
}

ssize_t etcd_tls_recv(struct etcd_tls *t, void *bytes, size_t len, tenure_error *err)
{
    return result(t, gt.gnutls_record_recv(t->session, bytes, len), err);
}

bool etcd_tls_pending(const struct etcd_tls *t)
{
    return gt.gnutls_record_check_pending(t->session) > 0;
}
