/* cli/config.c - tenure config get|put|delete|watch|history: entries of the configuration. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenure/config.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/exit.h"
#include "cli/output.h"
#include "cli/parse.h"
#include "cli/say.h"
#include "cli/value.h"

/* ---- words ---------------------------------------------------------------------------------- */

/* What stays the same while the entry does.  A value that is no UTF-8 text is null. */
static json_t *entry_json(const tenure_config_entry *e)
{
    const tenure_config_change *c = &e->changes[0];
    char at[OUTPUT_TIME_BYTES];
    json_t *o = json_object();
    json_t *value = e->exists ? json_stringn(e->len > 0 ? e->value : "", e->len) : NULL;
    output_set_text(o, "key", e->key);
    output_set(o, "deleted", json_boolean(!e->exists));
    output_set_number(o, "version", (int64_t)c->version);
    output_set_number(o, "bytes", (int64_t)e->len);
    output_set(o, "value", value ? value : json_null());
    output_set_text(o, "by", c->by);
    output_set_text(o, "name", *c->name ? c->name : NULL);
    output_set(o, "epoch", c->epoch ? json_integer((json_int_t)c->epoch) : json_null());
    output_set_text(o, "changed", output_time_utc(c->wall_ms, at));
    return o;
}

static const char *number_text(uint64_t n, char buf[24])
{
    snprintf(buf, 24, "%" PRIu64, n);
    return buf;
}

/* "billing/scheduler 17": the tenure that a change demanded. */
static const char *tenure_text(const tenure_config_change *c, char *buf, size_t cap)
{
    buf[0] = '\0';
    if (*c->name)
        snprintf(buf, cap, "%s %" PRIu64, c->name, c->epoch);
    return buf;
}

/* ---- get ------------------------------------------------------------------------------------ */

struct get {
    bool json, found;
};

static bool get_one(void *arg, const tenure_config_entry *e)
{
    struct get *g = arg;
    g->found = e->exists;
    if (g->found && g->json)
        output_json(entry_json(e), false);
    else if (g->found && e->len > 0)
        fwrite(e->value, 1, e->len, stdout);
    return false;
}

static int get(const struct invocation *inv, tenure *t)
{
    struct get g = {.json = option_given(inv, OPT_JSON)};
    tenure_error err;
    if (tenure_config_get(t, inv->operand[0], get_one, &g, &err) < 0)
        return client_fail(&err);
    if (!g.found)
        say_error("%s: there is no such entry", inv->operand[0]);
    return g.found ? EXIT_FINE : EXIT_REFUSED;
}

struct list {
    bool json;
    struct output_table table;
};

static bool list_one(void *arg, const tenure_config_entry *e)
{
    struct list *l = arg;
    char version[24], bytes[24], at[OUTPUT_TIME_BYTES], under[300];
    if (!e->exists)
        return true;
    if (l->json) {
        output_json(entry_json(e), false);
        return true;
    }
    const char *cells[] = {e->key,
                           number_text(e->version, version),
                           number_text(e->len, bytes),
                           output_time_local(e->changes[0].wall_ms, at),
                           e->changes[0].by,
                           tenure_text(&e->changes[0], under, sizeof under)};
    output_table_row(&l->table, cells);
    return true;
}

static int list(const struct invocation *inv, tenure *t)
{
    static const char *const headings[] = {"KEY", "VERSION", "BYTES", "CHANGED", "WHO", "UNDER"};
    struct list l = {.json = option_given(inv, OPT_JSON)};
    tenure_error err;
    output_table_open(&l.table, 6, headings);
    int code = tenure_config_look(t, "", list_one, &l, &err) < 0 ? client_fail(&err) : EXIT_FINE;
    output_table_close(&l.table);
    return code;
}

/* ---- changes -------------------------------------------------------------------------------- */

/* The demands of the command line; --while alone takes the epoch from the environment. */
static int read_terms(const struct invocation *inv, const char *by, tenure_config_terms *ret)
{
    struct environment_level level;
    *ret = (tenure_config_terms)TENURE_CONFIG_TERMS_INIT;
    ret->by = by;
    ret->name = option_text(inv, OPT_WHILE, NULL);
    if (option_given(inv, OPT_VERSION))
        ret->version = (uint64_t)inv->value[OPT_VERSION].number;
    if (option_given(inv, OPT_EPOCH) && !ret->name)
        return usage_fail(inv, "--epoch says under which epoch, and --while NAME is missing");
    if (option_given(inv, OPT_EPOCH)) {
        ret->epoch = inv->value[OPT_EPOCH].token;
    } else if (ret->name) {
        if (!environment_find(ret->name, &level))
            return usage_fail(inv, "--while %s: this does not run under it (tenure lead), so say "
                                   "--epoch N", ret->name);
        if (!value_parse_token(level.token, &ret->epoch))
            return usage_fail(inv, "TENURE_TOKEN %s: a token is a whole number from 1",
                              level.token);
    }
    return EXIT_FINE;
}

/* All of stdin, up to one byte more than a value may have.  The caller frees it. */
static char *read_stdin(size_t *ret_len)
{
    char *value = output_alloc(TENURE_CONFIG_VALUE_MAX + 1);
    size_t len = 0;
    while (len <= TENURE_CONFIG_VALUE_MAX) {
        ssize_t n = read(STDIN_FILENO, value + len, TENURE_CONFIG_VALUE_MAX + 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            say_error("stdin cannot be read: %s", strerror(errno));
            free(value);
            return NULL;
        }
        if (n == 0)
            break;
        len += (size_t)n;
    }
    *ret_len = len;
    return value;
}

static int put(const struct invocation *inv, tenure *t, const tenure_config_terms *terms,
               uint64_t *ret_version)
{
    tenure_error err;
    const char *value = inv->operand[1];
    size_t len = value ? strlen(value) : 0;
    char *read = value ? NULL : read_stdin(&len);
    if (!value && !read)
        return EXIT_USAGE;
    int rc = tenure_config_put(t, inv->operand[0], value ? value : read, len, terms, ret_version,
                               &err);
    free(read);
    return rc < 0 ? client_fail(&err) : EXIT_FINE;
}

static int change(const struct invocation *inv, tenure *t, const tenure_config_terms *terms)
{
    tenure_error err;
    uint64_t version;
    int code = EXIT_FINE;
    if (strcmp(inv->command->verb, "put") == 0)
        code = put(inv, t, terms, &version);
    else if (tenure_config_delete(t, inv->operand[0], terms, &version, &err) < 0)
        code = client_fail(&err);
    if (code == EXIT_FINE)
        printf("%" PRIu64 "\n", version);
    return code;
}

/* ---- watch ---------------------------------------------------------------------------------- */

struct watch {
    const char *prefix;
    json_t *seen; /* { KEY: version of the newest change } */
    bool initial;
};

static bool watch_one(void *arg, const tenure_config_entry *e)
{
    struct watch *w = arg;
    json_int_t version = (json_int_t)e->changes[0].version;
    json_t *before = json_object_get(w->seen, e->key);
    bool known = before && json_integer_value(before) == version;
    if (known)
        return true;
    output_set(w->seen, e->key, json_integer(version));
    if (w->initial && !e->exists)
        return true;
    json_t *o = entry_json(e);
    if (w->initial)
        output_set(o, "initial", json_true());
    output_json(o, true);
    return true;
}

static int watch_look(void *arg, tenure *t, tenure_error *err)
{
    struct watch *w = arg;
    int code = tenure_config_look(t, w->prefix, watch_one, w, err);
    if (code == 0)
        w->initial = false;
    return code;
}

static int watch(const struct invocation *inv, tenure *t, bool new)
{
    struct watch w = {
        .prefix = inv->operand[0] ? inv->operand[0] : "",
        .seen = json_object(),
        .initial = !new,
    };
    int code = client_watch(t, watch_look, &w);
    json_decref(w.seen);
    return code;
}

/* ---- history -------------------------------------------------------------------------------- */

struct history {
    bool json;
    size_t changes;
    struct output_table table;
};

static void show_change(struct history *h, const tenure_config_change *c)
{
    char version[24], bytes[24], at[OUTPUT_TIME_BYTES], under[300];
    if (h->json) {
        json_t *o = json_object();
        output_set_number(o, "version", (int64_t)c->version);
        output_set(o, "deleted", json_boolean(c->deleted));
        output_set_number(o, "bytes", (int64_t)c->bytes);
        output_set_text(o, "by", c->by);
        output_set_text(o, "name", *c->name ? c->name : NULL);
        output_set(o, "epoch", c->epoch ? json_integer((json_int_t)c->epoch) : json_null());
        output_set_text(o, "changed", output_time_utc(c->wall_ms, at));
        output_json(o, false);
        return;
    }
    const char *cells[] = {number_text(c->version, version),
                           output_time_local(c->wall_ms, at),
                           c->deleted ? "deleted" : "put",
                           c->deleted ? "" : number_text(c->bytes, bytes),
                           c->by,
                           tenure_text(c, under, sizeof under)};
    output_table_row(&h->table, cells);
}

static bool history_one(void *arg, const tenure_config_entry *e)
{
    struct history *h = arg;
    h->changes = e->change_count;
    for (size_t i = 0; i < e->change_count; i++)
        show_change(h, &e->changes[i]);
    return false;
}

static int history(const struct invocation *inv, tenure *t)
{
    static const char *const headings[] = {"VERSION", "WHEN", "WHAT", "BYTES", "WHO", "UNDER"};
    struct history h = {.json = option_given(inv, OPT_JSON)};
    tenure_error err;
    output_table_open(&h.table, 6, headings);
    int code = tenure_config_get(t, inv->operand[0], history_one, &h, &err) < 0
                   ? client_fail(&err)
                   : EXIT_FINE;
    output_table_close(&h.table);
    if (code == EXIT_FINE && h.changes == 0)
        say_change("%s: no change is known", inv->operand[0]);
    return code;
}

/* ---- the command ---------------------------------------------------------------------------- */

int command_config(struct invocation *inv)
{
    const char *verb = inv->command->verb;
    const tenure_options opt = TENURE_OPTIONS_INIT;
    bool puts = strcmp(verb, "put") == 0, watches = strcmp(verb, "watch") == 0;
    bool changes = puts || strcmp(verb, "delete") == 0, new = false;
    char actor[CLIENT_ACTOR_BYTES];
    tenure_config_terms terms;
    tenure *t;
    int code = changes ? read_terms(inv, client_actor(inv, actor), &terms) : EXIT_FINE;
    if (code == EXIT_FINE)
        code = watches ? client_open_to_watch(inv, &t, &new)
                       : client_open(inv, puts ? &opt : NULL, &t); /* who puts may be the first */
    if (code != EXIT_FINE)
        return code;
    if (changes)
        code = change(inv, t, &terms);
    else if (watches)
        code = watch(inv, t, new);
    else if (strcmp(verb, "history") == 0)
        code = history(inv, t);
    else
        code = inv->operand[0] ? get(inv, t) : list(inv, t);
    tenure_close(t);
    return output_finish(code);
}
