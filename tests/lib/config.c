/* tests/lib/config.c - guarded values in the store, through the public header.
 *
 *     config memory | config sqlite | config postgres URL */
#include <tenure/config.h>

#include "lib.h"

struct seen {
    int count;
    bool exists;
    uint64_t version;
    size_t len;
    char value[64], by[64], name[64];
    uint64_t epoch;
    size_t changes;
};

static bool see(void *arg, const tenure_config_entry *e)
{
    struct seen *s = arg;
    s->count++;
    s->exists = e->exists;
    s->version = e->version;
    s->len = e->len;
    snprintf(s->value, sizeof s->value, "%.*s", (int)(e->len < 60 ? e->len : 60),
             e->len ? (const char *)e->value : "");
    snprintf(s->by, sizeof s->by, "%s", e->changes[0].by);
    snprintf(s->name, sizeof s->name, "%s", e->changes[0].name);
    s->epoch = e->changes[0].epoch;
    s->changes = e->change_count;
    return true;
}

static struct seen get(tenure *t, const char *key)
{
    struct seen s = {0};
    if (tenure_config_get(t, key, see, &s, &err) < 0)
        printf("# get: %s\n", err.text);
    return s;
}

static int put(tenure *t, const char *key, const char *value, const tenure_config_terms *terms,
               uint64_t *ret)
{
    return tenure_config_put(t, key, value, strlen(value), terms, ret, &err);
}

static void a_value_is_kept_as_it_was_put(void)
{
    fresh();
    tenure *t = open_as("a", 0), *u = open_as("b", 0);
    uint64_t first, second;
    CHECK(get(t, "k").count == 0);
    CHECK(put(t, "k", "one", NULL, &first) == 0 && put(u, "k", "two", NULL, &second) == 0);
    struct seen s = get(t, "k");
    CHECK(s.exists && s.version == second && second > first && strcmp(s.value, "two") == 0);
    CHECK(strcmp(s.by, "b") == 0 && s.changes == 2 && s.epoch == 0);
    CHECK(tenure_config_put(t, "k", NULL, 0, NULL, NULL, &err) == 0);
    s = get(t, "k");
    CHECK(s.exists && s.len == 0);
    tenure_close(t);
    tenure_close(u);
}

static void of_two_who_saw_the_same_version_one_comes_through(void)
{
    fresh();
    tenure *t = open_as("a", 0), *u = open_as("b", 0);
    tenure_config_terms terms = TENURE_CONFIG_TERMS_INIT;
    uint64_t version, newer;
    terms.version = 0;
    CHECK(put(t, "k", "a", &terms, &version) == 0);
    CHECK(put(u, "k", "b", &terms, &newer) == TENURE_CHANGED);
    terms.version = version;
    CHECK(put(t, "k", "a2", &terms, &newer) == 0);
    CHECK(put(u, "k", "b2", &terms, NULL) == TENURE_CHANGED);
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)newer);
    CHECK(strstr(err.text, text) && strcmp(get(t, "k").value, "a2") == 0);
    tenure_close(t);
    tenure_close(u);
}

static int lead(tenure *t, tenure_claim **ret)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    terms.kind = TENURE_ELECTION;
    terms.wait_ms = 20000;
    return tenure_acquire(t, "cluster/leader", &terms, ret, &err);
}

static void a_leader_that_was_replaced_changes_nothing(void)
{
    fresh();
    tenure *t = open_as("old", 0), *u = open_as("new", 0);
    tenure_claim *mine, *its;
    tenure_config_terms old = TENURE_CONFIG_TERMS_INIT, new = TENURE_CONFIG_TERMS_INIT;
    CHECK(lead(t, &mine) == 0);
    old.name = new.name = "cluster/leader";
    old.epoch = tenure_claim_token(mine);
    CHECK(put(t, "drain", "node-1", &old, NULL) == 0);
    struct seen s = get(u, "drain");
    CHECK(strcmp(s.name, "cluster/leader") == 0 && s.epoch == old.epoch);
    /* It sleeps: nobody renews for it, and the next one leads. */
    CHECK(lead(u, &its) == 0);
    new.epoch = tenure_claim_token(its);
    CHECK(put(t, "drain", "node-2", &old, NULL) == TENURE_NOT_OWNED);
    char epoch[24];
    snprintf(epoch, sizeof epoch, "%llu", (unsigned long long)new.epoch);
    CHECK(strstr(err.text, "new") && strstr(err.text, epoch));
    CHECK(tenure_config_delete(t, "drain", &old, NULL, &err) == TENURE_NOT_OWNED);
    CHECK(put(u, "drain", "node-3", &new, NULL) == 0);
    CHECK(strcmp(get(u, "drain").value, "node-3") == 0);
    tenure_close(t);
    tenure_close(u);
}

static void a_silent_leader_is_refused_before_anybody_replaces_it(void)
{
    fresh();
    tenure *t = open_as("old", 0), *u = open_as("other", 0);
    tenure_claim *mine;
    tenure_config_terms terms = TENURE_CONFIG_TERMS_INIT;
    CHECK(lead(t, &mine) == 0);
    terms.name = "cluster/leader";
    terms.epoch = tenure_claim_token(mine);
    int64_t end = now() + 20000;
    int code = 0;
    while (code == 0 && now() < end) { /* by another handle: calls of its own would renew it */
        code = put(u, "k", "v", &terms, NULL);
        poll(NULL, 0, 20);
    }
    CHECK(code == TENURE_NOT_OWNED && strstr(err.text, "dead"));
    tenure_close(t);
    tenure_close(u);
}

static void entries_and_names_do_not_meet(void)
{
    fresh();
    tenure *t = open_as("a", 0);
    tenure_claim *c;
    struct seen s = {0};
    CHECK(acquire(t, "k", 0, &c) == 0 && put(t, "k", "v", NULL, NULL) == 0);
    CHECK(put(t, "k/sub", "v", NULL, NULL) == 0 && put(t, "j", "v", NULL, NULL) == 0);
    CHECK(tenure_check(c) == TENURE_STANDING);
    CHECK(tenure_config_look(t, "", see, &s, &err) == 0 && s.count == 3);
    s.count = 0;
    CHECK(tenure_config_look(t, "k", see, &s, &err) == 0 && s.count == 2);
    CHECK(get(t, "k").count == 1 && get(t, "k/s").count == 0);
    tenure_close(t);
}

static bool count_names(void *arg, const tenure_name_info *info)
{
    (void)info;
    ++*(int *)arg;
    return true;
}

static void who_looks_at_names_sees_no_entries(void)
{
    fresh();
    tenure *t = open_as("a", 0);
    tenure_claim *c;
    int names = 0;
    CHECK(put(t, "a", "v", NULL, NULL) == 0 && acquire(t, "%first", 0, &c) == 0);
    CHECK(tenure_look(t, "", count_names, &names, &err) == 0 && names == 1);
    tenure_close(t);
}

static void what_was_deleted_is_not_there_and_its_history_is(void)
{
    fresh();
    tenure *t = open_as("a", 0);
    uint64_t put_at, deleted_at, again;
    CHECK(tenure_config_delete(t, "k", NULL, NULL, &err) == TENURE_CHANGED);
    CHECK(put(t, "k", "v", NULL, &put_at) == 0);
    CHECK(tenure_config_delete(t, "k", NULL, &deleted_at, &err) == 0 && deleted_at > put_at);
    struct seen s = get(t, "k");
    CHECK(s.count == 1 && !s.exists && s.version == 0 && s.changes == 2);
    tenure_config_terms terms = TENURE_CONFIG_TERMS_INIT;
    terms.version = put_at;
    CHECK(put(t, "k", "w", &terms, NULL) == TENURE_CHANGED);
    terms.version = 0;
    CHECK(put(t, "k", "w", &terms, &again) == 0 && again > deleted_at);
    tenure_close(t);
}

static void the_largest_value_fits_and_a_larger_one_is_refused(void)
{
    fresh();
    tenure *t = open_for("a", 30 * TTL, 0); /* half a megabyte takes its time on a busy machine */
    char *value = malloc(TENURE_CONFIG_VALUE_MAX + 1);
    memset(value, 0xff, TENURE_CONFIG_VALUE_MAX + 1);
    CHECK(tenure_config_put(t, "k", value, TENURE_CONFIG_VALUE_MAX, NULL, NULL, &err) == 0);
    CHECK(get(t, "k").len == TENURE_CONFIG_VALUE_MAX);
    CHECK(tenure_config_put(t, "k", value, TENURE_CONFIG_VALUE_MAX + 1, NULL, NULL, &err) ==
          TENURE_INVALID && strstr(err.text, "524289"));
    free(value);
    tenure_close(t);
}

static void what_makes_no_sense_is_refused_with_value_and_rule(void)
{
    fresh();
    tenure *t = open_as("a", 0);
    tenure_config_terms terms = TENURE_CONFIG_TERMS_INIT;
    char key[257];
    memset(key, 'k', sizeof key - 1);
    key[256] = '\0';
    CHECK(put(t, "a//b", "v", NULL, NULL) == TENURE_INVALID && strstr(err.text, "a//b"));
    key[255] = '\0';
    CHECK(put(t, key, "v", NULL, NULL) == TENURE_INVALID && strstr(err.text, "254"));
    key[254] = '\0';
    CHECK(put(t, key, "v", NULL, NULL) == 0 && get(t, key).count == 1);
    terms.name = "cl";
    CHECK(put(t, "k", "v", &terms, NULL) == TENURE_INVALID && strstr(err.text, "epoch 0"));
    terms.name = NULL;
    terms.epoch = 7;
    CHECK(put(t, "k", "v", &terms, NULL) == TENURE_INVALID && strstr(err.text, "7"));
    terms.size = 1;
    CHECK(put(t, "k", "v", &terms, NULL) == TENURE_INVALID);
    CHECK(tenure_config_put(t, "k", NULL, 3, NULL, NULL, &err) == TENURE_INVALID);
    CHECK(get(t, "k").count == 0);
    tenure_close(t);
}

static void who_watches_hears_of_a_change(void)
{
    fresh();
    tenure *t = open_as("a", 0), *u = open_as("b", 0);
    CHECK(tenure_watch(t, 0, &err) >= 0);
    while (tenure_watch(t, 50, &err) > 0)
        ;
    CHECK(put(u, "k", "v", NULL, NULL) == 0 && tenure_watch(t, 20000, &err) == 1);
    tenure_close(t);
    tenure_close(u);
}

int main(int argc, char **argv)
{
    is_sqlite = argc > 1 && strcmp(argv[1], "sqlite") == 0;
    server = argc > 2 ? argv[2] : NULL;
    return TAP_RUN(TAP(a_value_is_kept_as_it_was_put),
                   TAP(of_two_who_saw_the_same_version_one_comes_through),
                   TAP(a_leader_that_was_replaced_changes_nothing),
                   TAP(a_silent_leader_is_refused_before_anybody_replaces_it),
                   TAP(entries_and_names_do_not_meet), TAP(who_looks_at_names_sees_no_entries),
                   TAP(what_was_deleted_is_not_there_and_its_history_is),
                   TAP(the_largest_value_fits_and_a_larger_one_is_refused),
                   TAP(what_makes_no_sense_is_refused_with_value_and_rule),
                   TAP(who_watches_hears_of_a_change));
}
