#include "cli/permit_verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/say.h"

void permit_set_json(json_t *object, const tenure_permit *p)
{
    char at[OUTPUT_TIME_BYTES], key[17];
    snprintf(key, sizeof key, "%016" PRIx64, p->key);
    output_set_text(object, "role", p->role);
    output_set(object, "epoch", json_integer((json_int_t)p->epoch));
    output_set_text(object, "resource", p->resource);
    output_set_text(object, "operation", p->operation);
    output_set(object, "serial", json_integer((json_int_t)p->serial));
    output_set_text(object, "key", key);
    output_set_text(object, "issued", output_time_utc(p->issued_ms, at));
    output_set_text(object, "not_after", output_time_utc(p->not_after_ms, at));
    output_set_number(object, "clock_error_ms", p->clock_error_ms);
}

/* What is on stdin, up to one byte more than a permit can have.  False: it was said why not. */
static bool read_stdin(char text[TENURE_PERMIT_TEXT_BYTES], size_t *ret_len)
{
    size_t len = 0;
    while (len < TENURE_PERMIT_TEXT_BYTES) {
        ssize_t n = read(STDIN_FILENO, text + len, TENURE_PERMIT_TEXT_BYTES - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            say_error("stdin cannot be read: %s", strerror(errno));
            return false;
        }
        if (n == 0)
            break;
        len += (size_t)n;
    }
    *ret_len = len;
    return true;
}

static int exit_of_verdict(int verdict)
{
    switch ((tenure_permit_verdict)verdict) {
    case TENURE_PERMIT_ADMIT:
        return EXIT_FINE;
    case TENURE_PERMIT_STALE:
    case TENURE_PERMIT_EXPIRED:
    case TENURE_PERMIT_REPLAYED:
        return EXIT_LOST;
    case TENURE_PERMIT_UNKNOWN_CLOCK:
    case TENURE_PERMIT_EARLY:
        return EXIT_DENIED;
    case TENURE_PERMIT_MALFORMED:
    case TENURE_PERMIT_UNKNOWN_KEY:
    case TENURE_PERMIT_ALTERED:
    case TENURE_PERMIT_WRONG_ROLE:
    case TENURE_PERMIT_WRONG_RESOURCE:
    case TENURE_PERMIT_WRONG_OPERATION:
        break;
    }
    return EXIT_REFUSED;
}

/* `p` is empty unless the permit is authentic. */
static void print_verdict(int verdict, const tenure_permit *p, const tenure_error *err)
{
    json_t *o = json_object();
    output_set_text(o, "verdict", tenure_permit_verdict_text((tenure_permit_verdict)verdict));
    output_set_text(o, "reason", verdict == TENURE_PERMIT_ADMIT ? NULL : err->text);
    if (p->serial != 0)
        permit_set_json(o, p);
    output_json(o, false);
}

static int verify(const struct invocation *inv, const tenure_permit_keys *keys)
{
    char text[TENURE_PERMIT_TEXT_BYTES];
    size_t len;
    tenure_error err;
    tenure_permit p = {.serial = 0};
    tenure_permit_demand demand = TENURE_PERMIT_DEMAND_INIT;
    demand.role = option_text(inv, OPT_ROLE, NULL);
    demand.resource = inv->operand[0];
    demand.operation = inv->operand[1];
    demand.clock_error_ms = option_number(inv, OPT_CLOCK_ERROR, TENURE_PERMIT_CLOCK_UNKNOWN);
    demand.retries = option_given(inv, OPT_RETRIES);
    if (!read_stdin(text, &len))
        return EXIT_USAGE;
    int verdict = tenure_permit_verify(keys, option_text(inv, OPT_STATE, NULL), text, len, &demand,
                                       &p, &err);
    if (verdict < 0)
        return client_fail(&err);
    if (option_given(inv, OPT_JSON))
        print_verdict(verdict, &p, &err);
    if (verdict != TENURE_PERMIT_ADMIT)
        say_error("%s %s: %s", inv->operand[1], inv->operand[0], err.text);
    return exit_of_verdict(verdict);
}

int permit_verify(const struct invocation *inv)
{
    tenure_permit_keys *keys;
    tenure_error err;
    if (tenure_permit_keys_load(option_text(inv, OPT_KEYS, NULL), &keys, &err) < 0)
        return client_fail(&err);
    int code = verify(inv, keys);
    tenure_permit_keys_free(keys);
    return output_finish(code);
}
