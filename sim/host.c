#include "sim/host.h"

#include <stdio.h>

const struct host *host_current;

void host_init(struct host *h, const char *name, int64_t offset_us, int64_t drift_ppm)
{
    *h = (struct host){.offset_us = offset_us, .drift_ppm = drift_ppm};
    snprintf(h->name, sizeof h->name, "%s", name);
}

int64_t host_clock_us(const struct host *h)
{
    return h->offset_us + world.now_us + world.now_us * h->drift_ppm / 1000000;
}

struct instant host_clock(const struct host *h)
{
    return INSTANT(host_clock_us(h) / 1000);
}

int64_t host_when_us(const struct host *h, struct instant local)
{
    if (local.ms >= INT64_MAX / 4000)
        return INT64_MAX;
    int64_t elapsed = local.ms * 1000 - h->offset_us;
    if (elapsed <= world.now_us + world.now_us * h->drift_ppm / 1000000)
        return world.now_us;
    int64_t when = (int64_t)((double)elapsed * 1e6 / (double)(1000000 + h->drift_ppm)) - 2;
    while (when + when * h->drift_ppm / 1000000 < elapsed)
        when++;
    return when;
}
