#include "target/target.h"

#include <inttypes.h>

#include "core/name.h"
#include "os/fail.h"

struct target *target_close(struct target *g)
{
    if (g != NULL)
        g->calls->close(g);
    return NULL;
}

int target_install(struct target *g, const char *name, const char *const *tables,
                   size_t table_count, bool strict, tenure_error *err)
{
    enum name_flaw flaw = name_check(text_of(name), NULL);
    if (flaw != NAME_FINE)
        return fail(err, TENURE_INVALID, "--name %s: %s", name, name_flaw_text(flaw));
    if (!g->calls->takes_tables && table_count > 0)
        return fail(err, TENURE_INVALID,
                    "--table %s: this guard checks requests, and has no tables", tables[0]);
    if (g->calls->takes_tables && (table_count == 0 || table_count > TARGET_TABLES_MAX))
        return fail(err, TENURE_INVALID,
                    "--table: a guard is given 1 to %d tables at a time, not %zu",
                    TARGET_TABLES_MAX, table_count);
    return g->calls->install(g, name, tables, table_count, strict, err);
}

int target_announce(struct target *g, const char *name, uint64_t token, tenure_error *err)
{
    if (token == 0 || token > TARGET_TOKEN_MAX)
        return fail(err, TENURE_INVALID,
                    "--token %" PRIu64 ": a token that a guard can compare is 1 to %" PRId64,
                    token, TARGET_TOKEN_MAX);
    return g->calls->announce(g, name, token, err);
}

int target_check(struct target *g, const char *name, target_finding_fn *fn, void *arg,
                 tenure_error *err)
{
    return g->calls->check(g, name, fn, arg, err);
}

int target_remove(struct target *g, const char *name, tenure_error *err)
{
    return g->calls->remove(g, name, err);
}

const char *target_state_text(enum target_state state)
{
    static const char *const text[] = {"intact", "table gone", "unprotected", "altered", "moved"};
    return state <= TARGET_MOVED ? text[state] : "unknown";
}
