/* store/etcd_examine.c - what is unsafe about this cluster, for `tenure doctor`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/etcd_engine.h"

typedef void finding_fn(void *arg, bool fine, const char *text);

#define TTL_FLOOR_MS 2000

/* "3.4.23" as 3004. */
static int version_number(const char *text)
{
    char *dot;
    long major = strtol(text, &dot, 10);
    long minor = *dot == '.' ? strtol(dot + 1, NULL, 10) : 0;
    return (int)(major * 1000 + minor);
}

/* Whether a leader of before may revoke leases that a later one keeps alive (etcd issue 15247). */
static bool revokes_late(const char *text)
{
    const char *last = strrchr(text, '.');
    int version = version_number(text);
    long patch = last ? strtol(last + 1, NULL, 10) : 0;
    return version < 3004 || (version == 3004 && patch < 31) ||
           (version == 3005 && patch < 13);
}

void etcd_examine(struct store *store, void (*fn)(void *arg, bool fine, const char *text),
                  void *arg)
{
    struct etcd_store *s = etcd_of(store);
    char text[300];
    if (!s->greeted) {
        fn(arg, false, s->link.trouble.code < 0 ? s->link.trouble.text
                                                : "etcd cannot be reached");
        return;
    }
    bool known = version_number(s->version) >= 3004;
    snprintf(text, sizeof text, "etcd %s%s", s->version,
             known ? "" : ": tenure needs version 3.4 or later");
    fn(arg, known, text);
    bool alone = s->place.endpoints == 1;
    if (!alone && revokes_late(s->version))
        fn(arg, false, "a member that hung while it led may end sessions when it comes back; they "
                       "are told at once, but not before others are let in: 3.4.31 and 3.5.13 "
                       "do not do that");
    snprintf(text, sizeof text, "%d endpoint%s%s", s->place.endpoints, alone ? "" : "s",
             alone ? ": when it is down the store cannot be reached; name every member" : "");
    fn(arg, !alone, text);
    fn(arg, s->place.tls, s->place.tls ? "the connection is encrypted"
                                       : "the connection is not encrypted (?tls=on&ca=FILE)");
    bool known_to_it = s->cert || s->user;
    fn(arg, known_to_it, known_to_it ? "etcd knows who we are"
                                     : "etcd does not ask who we are: whoever reaches it may "
                                       "change the store");
    if (s->alarms[0]) {
        snprintf(text, sizeof text, "etcd reports: %s", s->alarms);
        fn(arg, false, text);
    }
    snprintf(text, sizeof text, "the database has %lld MiB; etcd stops to write at its quota "
                                "(2048 MiB unless --quota-backend-bytes says otherwise)",
             (long long)(s->db_bytes >> 20));
    fn(arg, s->db_bytes < (int64_t)1536 << 20, text);
    snprintf(text, sizeof text, "a session of less than %d s lasts as long as one of %d s: etcd "
                                "lets no lease run out earlier", TTL_FLOOR_MS / 1000,
             TTL_FLOOR_MS / 1000);
    fn(arg, true, text);
    fn(arg, true, "a change of etcd's leader gives every session its whole ttl anew");
    if (s->clock.now.clock == 0)
        fn(arg, false, "the leader's clock cannot be read: leases of others end only for those "
                       "who watch them");
}
