/* tests/lib/permit.c - permits from the grant in the store to the effector, through the public
 * headers.
 *
 *     permit memory | permit sqlite | permit postgres URL */
#include <fcntl.h>
#include <sys/stat.h>
#include <tenure/config.h>
#include <tenure/issue.h>

#include "lib.h"

#define ERROR_MS 50 /* of every clock here */

static char dir[64];      /* of this run: keys, */
static char state[128];   /* and what the effector of the present case remembers */
static tenure_permit_key *key;
static tenure_permit_keys *keys;
static char text[TENURE_PERMIT_TEXT_BYTES];
static tenure_permit permit;

static const char *in_dir(const char *name)
{
    static char path[4][160];
    static int n;
    n = (n + 1) % 4;
    snprintf(path[n], sizeof path[n], "%s/%s", dir, name);
    return path[n];
}

static void write_file(const char *path, const char *content, mode_t mode)
{
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ssize_t len = (ssize_t)strlen(content);
    if (fd < 0 || write(fd, content, (size_t)len) != len || fchmod(fd, mode) != 0)
        abort();
    close(fd);
}

static void read_file(const char *path, char ret[4096])
{
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, 4095);
    if (n < 0)
        abort();
    ret[n] = '\0';
    close(fd);
}

static void make_keys(void)
{
    snprintf(dir, sizeof dir, "%s/tenure-permit-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(dir) || tenure_permit_key_make(in_dir("key"), NULL, &err) < 0 ||
        tenure_permit_key_load(in_dir("key"), &key, &err) < 0 ||
        tenure_permit_keys_load(in_dir("key.pub"), &keys, &err) < 0) {
        printf("# %s\n", err.text);
        exit(2);
    }
}

static void begin(void)
{
    static int n;
    fresh();
    snprintf(state, sizeof state, "%s/state-%d", dir, ++n);
}

/* ---- both sides ----------------------------------------------------------------------------- */

static tenure_token lead(tenure *t)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    terms.kind = TENURE_ELECTION;
    terms.wait_ms = 20000;
    return tenure_acquire(t, "cl", &terms, &c, &err) < 0 ? 0 : tenure_claim_token(c);
}

static tenure_permit_terms terms_of(tenure_token epoch, int64_t valid_ms)
{
    tenure_permit_terms terms = TENURE_PERMIT_TERMS_INIT;
    terms.role = "cl";
    terms.epoch = epoch;
    terms.resource = "node-7";
    terms.operation = "drain";
    terms.valid_ms = valid_ms;
    terms.clock_error_ms = ERROR_MS;
    return terms;
}

static int issue(tenure *t, tenure_token epoch, int64_t valid_ms)
{
    tenure_permit_terms terms = terms_of(epoch, valid_ms);
    return tenure_permit_issue(t, key, &terms, text, &permit, &err);
}

static tenure_permit_demand demand_now(void)
{
    tenure_permit_demand demand = TENURE_PERMIT_DEMAND_INIT;
    demand.role = "cl";
    demand.resource = "node-7";
    demand.operation = "drain";
    demand.clock_error_ms = ERROR_MS;
    return demand;
}

static int show_with(const tenure_permit_demand *demand)
{
    return tenure_permit_verify(keys, state, text, strlen(text), demand, NULL, &err);
}

static int show(void)
{
    tenure_permit_demand demand = demand_now();
    return show_with(&demand);
}

/* ---- cases ---------------------------------------------------------------------------------- */

static void what_was_issued_is_admitted_once(void)
{
    begin();
    tenure *t = open_as("a", TENURE_PUMP);
    tenure_token epoch = lead(t);
    CHECK(issue(t, epoch, 60000) == 0 && permit.epoch == epoch && permit.serial > epoch);
    CHECK(permit.not_after_ms - permit.issued_ms == 60000 && permit.clock_error_ms == ERROR_MS);
    CHECK(show() == TENURE_PERMIT_ADMIT && show() == TENURE_PERMIT_REPLAYED);
    CHECK(strstr(err.text, "shown before"));
    tenure_close(t);
}

static void who_was_replaced_is_granted_nothing_and_admitted_nothing(void)
{
    begin();
    tenure *t = open_as("old", 0), *u = open_as("new", TENURE_PUMP);
    char old_text[TENURE_PERMIT_TEXT_BYTES], number[24];
    tenure_token old = lead(t);
    CHECK(issue(t, old, 60000) == 0);
    uint64_t serial = permit.serial;
    memcpy(old_text, text, sizeof text);
    /* It sleeps: nobody renews for it, and the next one leads. */
    tenure_token new = lead(u);
    CHECK(new > old && issue(t, old, 60000) == TENURE_NOT_OWNED);
    snprintf(number, sizeof number, "%llu", (unsigned long long)new);
    CHECK(strstr(err.text, "new") && strstr(err.text, number));
    /* Its permit outlives it, and keeps the successor from getting one ... */
    CHECK(issue(u, new, 60000) == TENURE_HELD);
    snprintf(number, sizeof number, "permit %llu", (unsigned long long)serial);
    CHECK(strstr(err.text, number));
    /* ... until somebody says that it will not be shown.  It is: the effector knows better. */
    CHECK(tenure_permit_revoke(u, "node-7", "drain", serial, "operator", &err) == 0);
    CHECK(issue(u, new, 60000) == 0 && show() == TENURE_PERMIT_ADMIT);
    memcpy(text, old_text, sizeof text);
    CHECK(show() == TENURE_PERMIT_STALE && strstr(err.text, "replaced"));
    tenure_close(t);
    tenure_close(u);
}

static void a_successor_meets_no_permit_that_was_issued_as_usual(void)
{
    begin();
    tenure *t = open_as("old", 0), *u = open_as("new", TENURE_PUMP);
    CHECK(issue(t, lead(t), 0) == 0);
    CHECK(permit.not_after_ms - permit.issued_ms <= TTL);
    tenure_token new = lead(u); /* the old one is silent */
    int64_t end = now() + 20000;
    int code = issue(u, new, 0);
    while (code == TENURE_HELD && server && now() < end) { /* etcd: it was in doubt, perhaps */
        poll(NULL, 0, 20);
        code = issue(u, new, 0);
    }
    CHECK(code == 0);
    tenure_close(t);
    tenure_close(u);
}

struct left {
    int64_t ms;
};

static bool see_left(void *arg, const tenure_permit_info *i)
{
    ((struct left *)arg)->ms = i->left_ms;
    return false;
}

/* etcd has a clock for each record, and who has just come knows little of any. */
static void who_has_watched_for_long_and_who_just_came_count_the_same(void)
{
    enum { VALID = 5000 };
    begin();
    tenure *t = open_as("leader", TENURE_PUMP);
    tenure_token epoch = lead(t);
    if (server) /* longer than a permit: the role's record grows old */
        CHECK(poll(NULL, 0, VALID + 1000) == 0);
    tenure *u = open_as("other", 0), *v = open_as("third", 0);
    struct left left = {0};
    CHECK(issue(u, epoch, VALID) == 0);
    CHECK(issue(t, epoch, VALID) == TENURE_HELD);
    CHECK(tenure_permit_look(v, "", see_left, &left, &err) == 0);
    CHECK(left.ms > 0 && left.ms <= VALID + VALID / 50);
    tenure_close(t);
    tenure_close(u);
    tenure_close(v);
}

static void an_alteration_of_any_letter_is_refused(void)
{
    begin();
    tenure *t = open_as("a", TENURE_PUMP);
    CHECK(issue(t, lead(t), 60000) == 0);
    tenure_close(t);
    for (size_t i = 0; text[i] != '\0'; i++) {
        char was = text[i];
        text[i] = was == 'A' ? 'B' : 'A';
        tenure_permit p;
        int verdict = tenure_permit_read(keys, text, strlen(text), &p);
        CHECK(verdict == TENURE_PERMIT_MALFORMED || verdict == TENURE_PERMIT_ALTERED ||
              verdict == TENURE_PERMIT_UNKNOWN_KEY);
        text[i] = was;
    }
    CHECK(show() == TENURE_PERMIT_ADMIT);
}

static void keys_change_while_both_are_trusted(void)
{
    begin();
    char both[4096], one[4096];
    tenure_permit_key *next;
    tenure_permit_keys *trusted;
    tenure_permit p;
    tenure *t = open_as("a", TENURE_PUMP);
    CHECK(tenure_permit_key_make(in_dir("next"), NULL, &err) == 0);
    CHECK(tenure_permit_key_load(in_dir("next"), &next, &err) == 0);
    CHECK(tenure_permit_key_id(next) != tenure_permit_key_id(key));
    tenure_permit_terms terms = terms_of(lead(t), 60000);
    CHECK(tenure_permit_issue(t, next, &terms, text, &permit, &err) == 0);
    CHECK(show() == TENURE_PERMIT_UNKNOWN_KEY && strstr(err.text, "unknown key"));
    read_file(in_dir("key.pub"), both);
    read_file(in_dir("next.pub"), one);
    strncat(both, one, sizeof both - strlen(both) - 1);
    CHECK(tenure_permit_keys_read("both", both, strlen(both), &trusted, &err) == 0);
    CHECK(tenure_permit_read(trusted, text, strlen(text), &p) == TENURE_PERMIT_ADMIT);
    tenure_permit_keys_free(trusted);
    tenure_permit_key_free(next);
    tenure_close(t);
}

static void keys_that_others_can_use_are_refused(void)
{
    begin();
    tenure_permit_key *k;
    tenure_permit_keys *ks;
    char private_key[4096], public_key[4096];
    read_file(in_dir("key"), private_key);
    read_file(in_dir("key.pub"), public_key);
    write_file(in_dir("k"), private_key, 0640);
    CHECK(tenure_permit_key_load(in_dir("k"), &k, &err) == TENURE_DENIED);
    CHECK(strstr(err.text, "0640"));
    write_file(in_dir("k"), private_key, 0400);
    CHECK(tenure_permit_key_load(in_dir("k"), &k, &err) == 0);
    tenure_permit_key_free(k);
    write_file(in_dir("ks"), public_key, 0664);
    CHECK(tenure_permit_keys_load(in_dir("ks"), &ks, &err) == TENURE_DENIED);
    CHECK(tenure_permit_keys_load(dir, &ks, &err) == TENURE_DENIED && strstr(err.text, "file"));
    CHECK(tenure_permit_keys_load(in_dir("none"), &ks, &err) == TENURE_UNREACHABLE);
    CHECK(tenure_permit_key_make(in_dir("key"), NULL, &err) == TENURE_CONFLICT);
    read_file(in_dir("key"), public_key);
    CHECK(strcmp(private_key, public_key) == 0);
}

static void what_is_no_key_is_refused_with_its_line(void)
{
    begin();
    tenure_permit_key *k;
    tenure_permit_keys *ks;
    char mixed[4096];
    write_file(in_dir("ks"), "# none\n", 0644);
    CHECK(tenure_permit_keys_load(in_dir("ks"), &ks, &err) == TENURE_CORRUPT);
    write_file(in_dir("ks"), "# one\n\ned25519 abc\n", 0644);
    CHECK(tenure_permit_keys_load(in_dir("ks"), &ks, &err) == TENURE_CORRUPT);
    CHECK(strstr(err.text, "line 3"));
    write_file(in_dir("k"), "ed25519\n", 0600);
    CHECK(tenure_permit_key_load(in_dir("k"), &k, &err) == TENURE_CORRUPT);
    read_file(in_dir("key"), mixed); /* the halves of two keys */
    char *last = strrchr(mixed, ' ') + 1;
    *last = *last == 'A' ? 'B' : 'A';
    write_file(in_dir("k"), mixed, 0600);
    CHECK(tenure_permit_key_load(in_dir("k"), &k, &err) == TENURE_CORRUPT);
}

static void a_state_that_cannot_be_read_admits_nothing_and_stays(void)
{
    begin();
    char content[4096];
    tenure *t = open_as("a", TENURE_PUMP);
    CHECK(issue(t, lead(t), 60000) == 0);
    tenure_close(t);
    write_file(state, "tenure-permit-marks-1\ncl node-7 9", 0600);
    CHECK(show() == TENURE_CORRUPT && strstr(err.text, state));
    read_file(state, content);
    CHECK(strcmp(content, "tenure-permit-marks-1\ncl node-7 9") == 0);
    write_file(state, "tenure-permit-marks-1\n", 0666);
    CHECK(show() == TENURE_DENIED);
    write_file(state, "tenure-permit-marks-1\nother node-7 99 0 1\n", 0600);
    CHECK(show() == TENURE_PERMIT_ADMIT);
    read_file(state, content);
    CHECK(strstr(content, "\nother node-7 99 0 1\n") && strstr(content, "\ncl node-7 "));
}

static void a_state_that_can_grow_no_more_says_so_and_can_still_be_read(void)
{
    enum { BYTES = 8 * 1024 * 1024 }; /* all that is ever read of one */
    begin();
    struct stat st;
    tenure *t = open_as("a", TENURE_PUMP);
    CHECK(issue(t, lead(t), 60000) == 0);
    tenure_close(t);
    char *content = malloc(BYTES + 128);
    CHECK(content);
    int len = snprintf(content, 64, "tenure-permit-marks-1\n");
    for (int i = 0; len < BYTES - 100; i++)
        len += snprintf(content + len, 64, "other node-%d 99 0 1\n", i);
    len += snprintf(content + len, 128, "other %0*d 1 0\n", BYTES - len - 11, 0); /* full */
    write_file(state, content, 0600);
    free(content);
    CHECK(show() == TENURE_NO_SPACE && stat(state, &st) == 0 && st.st_size == BYTES);
    CHECK(show() == TENURE_NO_SPACE); /* and not: cannot be read */
}

static void a_clock_of_unknown_error_is_refused_on_both_sides(void)
{
    begin();
    int64_t now_ms, kernel_ms;
    tenure *t = open_as("a", TENURE_PUMP);
    tenure_permit_terms terms = terms_of(lead(t), 60000);
    tenure_permit_demand demand = demand_now();
    CHECK(tenure_permit_issue(t, key, &terms, text, &permit, &err) == 0);
    tenure_permit_clock(&now_ms, &kernel_ms);
    demand.clock_error_ms = TENURE_PERMIT_CLOCK_UNKNOWN;
    demand.now_ms = now_ms;
    CHECK(show_with(&demand) == TENURE_PERMIT_UNKNOWN_CLOCK);
    demand.now_ms = INT64_MIN;
    CHECK(show_with(&demand) == TENURE_INVALID);
    demand.now_ms = 0; /* as the kernel says */
    terms.operation = "cordon";
    terms.clock_error_ms = TENURE_PERMIT_CLOCK_UNKNOWN;
    int code = tenure_permit_issue(t, key, &terms, text, &permit, &err);
    CHECK(code == (kernel_ms < 0 ? TENURE_DENIED : 0));
    demand.operation = "cordon";
    if (kernel_ms >= 0)
        CHECK(show_with(&demand) == TENURE_PERMIT_ADMIT);
    tenure_close(t);
}

static void what_can_never_be_right_is_refused_and_leaves_nothing(void)
{
    begin();
    tenure *t = open_as("a", TENURE_PUMP);
    tenure_token epoch = lead(t);
    tenure_permit_terms terms = terms_of(epoch, TENURE_PERMIT_VALID_MAX_MS + 1);
    char resource[TENURE_PERMIT_RESOURCE_MAX + 2];
    CHECK(tenure_permit_issue(t, key, &terms, text, NULL, &err) == TENURE_INVALID);
    terms = terms_of(epoch, 2 * ERROR_MS); /* no effector could use it */
    CHECK(tenure_permit_issue(t, key, &terms, text, NULL, &err) == TENURE_INVALID);
    terms = terms_of(0, 60000);
    CHECK(tenure_permit_issue(t, key, &terms, text, NULL, &err) == TENURE_INVALID);
    terms = terms_of(epoch, 60000);
    terms.operation = "a#b";
    CHECK(tenure_permit_issue(t, key, &terms, text, NULL, &err) == TENURE_INVALID);
    memset(resource, 'r', sizeof resource - 1);
    resource[sizeof resource - 1] = '\0';
    terms = terms_of(epoch, 60000);
    terms.resource = resource;
    CHECK(tenure_permit_issue(t, key, &terms, text, NULL, &err) == TENURE_INVALID);
    CHECK(strstr(err.text, "190"));
    terms.size = 1;
    CHECK(tenure_permit_issue(t, key, &terms, text, NULL, &err) == TENURE_INVALID);
    tenure_permit_demand demand = demand_now();
    demand.resource = NULL;
    CHECK(show_with(&demand) == TENURE_INVALID);
    tenure_close(t);
}

/* ---- looking -------------------------------------------------------------------------------- */

struct seen {
    int live, over, revoked;
    char who[64];
    char first[64];
};

static bool see(void *arg, const tenure_permit_info *i)
{
    struct seen *s = arg;
    if (s->live + s->over + s->revoked == 0)
        snprintf(s->first, sizeof s->first, "%s %s", i->operation, i->resource);
    s->live += i->state == TENURE_PERMIT_LIVE;
    s->over += i->state == TENURE_PERMIT_OVER;
    s->revoked += i->state == TENURE_PERMIT_REVOKED;
    snprintf(s->who, sizeof s->who, "%s", i->by);
    return true;
}

static bool count_names(void *arg, const tenure_name_info *info)
{
    (void)info;
    ++*(int *)arg;
    return true;
}

static bool count_entries(void *arg, const tenure_config_entry *entry)
{
    (void)entry;
    ++*(int *)arg;
    return true;
}

static void permits_are_listed_and_meet_neither_names_nor_entries(void)
{
    begin();
    tenure *t = open_as("a", TENURE_PUMP);
    tenure_permit_terms terms = terms_of(lead(t), 60000);
    int names = 0, entries = 0;
    struct seen s = {0};
    CHECK(tenure_config_put(t, "node-7", "v", 1, NULL, NULL, &err) == 0);
    CHECK(tenure_permit_issue(t, key, &terms, text, &permit, &err) == 0);
    terms.operation = "cordon";
    terms.by = "anna";
    CHECK(tenure_permit_issue(t, key, &terms, text, &permit, &err) == 0);
    terms.resource = "node-70";
    CHECK(tenure_permit_issue(t, key, &terms, text, &permit, &err) == 0);
    CHECK(tenure_permit_revoke(t, "node-70", "cordon", permit.serial, "bea", &err) == 0);
    CHECK(tenure_permit_revoke(t, "node-70", "cordon", permit.serial, "anna", &err) ==
          TENURE_NOT_OWNED);
    CHECK(tenure_permit_look(t, "node-7", see, &s, &err) == 0);
    CHECK(s.live == 2 && s.revoked == 1 && strcmp(s.first, "cordon node-7") == 0);
    s = (struct seen){0};
    CHECK(tenure_permit_look(t, "node-70", see, &s, &err) == 0 && s.live == 0 && s.revoked == 1);
    CHECK(strcmp(s.who, "anna") == 0);
    CHECK(tenure_look(t, "", count_names, &names, &err) == 0 && names == 1);
    CHECK(tenure_config_look(t, "", count_entries, &entries, &err) == 0 && entries == 1);
    tenure_close(t);
}

int main(int argc, char **argv)
{
    is_sqlite = argc > 1 && strcmp(argv[1], "sqlite") == 0;
    server = argc > 2 ? argv[2] : NULL;
    make_keys();
    int failed = TAP_RUN(
        TAP(what_was_issued_is_admitted_once),
        TAP(who_was_replaced_is_granted_nothing_and_admitted_nothing),
        TAP(a_successor_meets_no_permit_that_was_issued_as_usual),
        TAP(who_has_watched_for_long_and_who_just_came_count_the_same),
        TAP(an_alteration_of_any_letter_is_refused), TAP(keys_change_while_both_are_trusted),
        TAP(keys_that_others_can_use_are_refused), TAP(what_is_no_key_is_refused_with_its_line),
        TAP(a_state_that_cannot_be_read_admits_nothing_and_stays),
        TAP(a_state_that_can_grow_no_more_says_so_and_can_still_be_read),
        TAP(a_clock_of_unknown_error_is_refused_on_both_sides),
        TAP(what_can_never_be_right_is_refused_and_leaves_nothing),
        TAP(permits_are_listed_and_meet_neither_names_nor_entries));
    tenure_permit_keys_free(keys);
    tenure_permit_key_free(key);
    return failed;
}
