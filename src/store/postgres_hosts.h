/* store/postgres_hosts.h - the hosts of a URL, in an order that turns.
 *
 * libpq tries them in the order of the URL, and goes on to the next one when one refuses.  For one
 * that takes the connection and says nothing it would wait for ever, each time anew: a primary that
 * hangs would hide the standby that took its place. */
#ifndef STORE_POSTGRES_HOSTS_H
#define STORE_POSTGRES_HOSTS_H

#include <libpq-fe.h>

struct pg_hosts {
    int count;                     /* 1 also when the URL names none */
    char *host, *address, *port;   /* the lists as they are now; NULL where there is none */
};

/* Takes them from what libpq makes of a URL.  0, or -ENOMEM. */
int pg_hosts_take(struct pg_hosts *h, const PQconninfoOption *options);

/* From now on the next one is the first. */
void pg_hosts_turn(struct pg_hosts *h);

void pg_hosts_free(struct pg_hosts *h);

#endif
