#include "store/postgres_hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int count_of(const char *list)
{
    int n = 1;
    for (const char *at = list; at && (at = strchr(at, ',')) != NULL; at++)
        n++;
    return n;
}

/* Takes a list; one value for all hosts need not turn. */
static int take(char **ret, const char *list)
{
    if (count_of(list) == 1)
        return 0;
    *ret = strdup(list);
    return *ret ? 0 : -ENOMEM;
}

int pg_hosts_take(struct pg_hosts *h, const PQconninfoOption *options)
{
    int rc = 0;
    *h = (struct pg_hosts){.count = 1};
    for (const PQconninfoOption *o = options; o->keyword && rc == 0; o++) {
        if (strcmp(o->keyword, "host") == 0)
            rc = take(&h->host, o->val);
        else if (strcmp(o->keyword, "hostaddr") == 0)
            rc = take(&h->address, o->val);
        else if (strcmp(o->keyword, "port") == 0)
            rc = take(&h->port, o->val);
    }
    h->count = count_of(h->address ? h->address : h->host);
    return rc;
}

static void reverse(char *from, char *to)
{
    for (; from < to; from++) {
        char c = *--to;
        *to = *from;
        *from = c;
    }
}

/* "a,b,c" becomes "b,c,a". */
static void turn(char *list)
{
    char *comma = list ? strchr(list, ',') : NULL;
    if (!comma)
        return;
    char *end = comma + strlen(comma);
    reverse(list, comma);
    reverse(comma + 1, end);
    reverse(list, end);
}

void pg_hosts_turn(struct pg_hosts *h)
{
    turn(h->host);
    turn(h->address);
    turn(h->port);
}

void pg_hosts_free(struct pg_hosts *h)
{
    free(h->host);
    free(h->address);
    free(h->port);
    *h = (struct pg_hosts){.count = 1};
}
