/* wire/etcd_url.h - where an etcd is: etcd://HOST[:PORT][,HOST[:PORT]...][/PREFIX][?OPTION...].
 *
 * A host is a name or an address, an IPv6 one in brackets.  The prefix separates stores in one
 * cluster; "tenure" when there is none.  Options:
 *     tls=on            encrypted; so does any of the next four
 *     ca=FILE           whom to trust, instead of the system's list
 *     cert=FILE key=FILE  who we are
 *     server-name=NAME  whom the server's certificate must name, instead of the host
 *     user=NAME password-file=FILE
 * A password does not go into the URL, which is shown and handed to commands as it is.  Pure. */
#ifndef WIRE_ETCD_URL_H
#define WIRE_ETCD_URL_H

#include "wire/endpoint.h"
#include "wire/url.h"

#define ETCD_ENDPOINTS_MAX 16
#define ETCD_PORT 2379
#define ETCD_PREFIX_BYTES_MAX 200

struct etcd_endpoint {
    struct text host; /* without brackets */
    uint16_t port;
};

struct etcd_url {
    struct etcd_endpoint endpoint[ETCD_ENDPOINTS_MAX]; /* each once */
    int endpoints;
    struct text prefix;
    bool tls;
    struct text ca, cert, key, server_name, user, password_file; /* empty: not given */
};

enum etcd_url_flaw {
    ETCD_URL_FINE = 0,
    ETCD_URL_NO_SLASHES,
    ETCD_URL_NO_HOST,
    ETCD_URL_TOO_MANY,
    ETCD_URL_BAD_HOST,
    ETCD_URL_BAD_PORT,
    ETCD_URL_PASSWORD,
    ETCD_URL_BAD_PREFIX,
    ETCD_URL_BAD_OPTION,
    ETCD_URL_HALF, /* cert without key, or user without password-file, or the reverse */
};

/* Takes a URL apart; *ret borrows from it and is untouched on a flaw.  *ret_at (may be NULL) is
 * the part at fault. */
enum etcd_url_flaw etcd_url_parse(const struct url *url, struct etcd_url *ret,
                                  struct text *ret_at);

/* Which of the endpoints the URL that a member advertises ("http://HOST:PORT") names, letter for
 * letter; -1: none. */
int etcd_url_find(const struct etcd_url *url, struct text member);

/* The rule that was broken, as a clause. */
const char *etcd_url_flaw_text(enum etcd_url_flaw flaw);

#endif
