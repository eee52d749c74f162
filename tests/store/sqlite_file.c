/* tests/store/sqlite_file.c - the file: where it is, and whose it is.
 *
 * Cases that need root (mounts, another user) say "# skip" without it. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "os/place.h"
#include "sqlite.h"

static bool is_root(void)
{
    if (geteuid() != 0)
        printf("# skip: needs root\n");
    return geteuid() == 0;
}

/* A mount namespace of our own, so that nothing is left mounted.  In apart() only. */
static bool may_mount(void)
{
    bool fine = unshare(CLONE_NEWNS) == 0 &&
                mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    if (!fine)
        printf("# skip: no mounts here\n");
    return fine;
}

/* Bytes of a file, to see that it was not touched. */
static uint64_t sum_of(const char *name)
{
    FILE *f = fopen(name, "rb");
    uint64_t h = 1;
    if (!f)
        return 0;
    for (int c = getc(f); c != EOF; c = getc(f))
        h = h * 1099511628211u + (unsigned)c;
    fclose(f);
    return h;
}

/* ---- URLs ----------------------------------------------------------------------------------- */

static void a_url_that_names_no_store_is_refused_with_value_and_rule(void)
{
    static const struct {
        const char *url, *words;
    } bad[] = {
        {"sqllite:x", "sqllite"},       {"sqlite", "colon"},
        {"sqlite:", "sqlite:PATH"},     {"", "empty"},
        {":x", "scheme"},               {"SQLite:x", "scheme"},
        {"sqlite:x?fs=all", "fs=all"},  {"sqlite:x?sync=off", "sync=off"},
        {"sqlite:x?", ""},              {"sqlite://host/x", "host"},
        {"sqlite::memory:", "memory:"}, {"memory:x?y", "y"},
        {"sqlite:a\nb", "control"},     {"sqlite:/tmp/", "/tmp"},
        {"mysql://h/d", "mysql"}, {"sqlite:x?fs", "fs"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct store *s;
        const struct store_options opt = {.create = false};
        err.text[0] = '\0';
        int code = store_open(bad[i].url, &opt, &s, &err);
        if (*bad[i].words == '\0') {
            CHECK(code == TENURE_ABSENT); /* an empty query is none */
            continue;
        }
        if (code != TENURE_INVALID || !strstr(err.text, bad[i].words))
            printf("# \"%s\": %d %s\n", bad[i].url, code, err.text);
        CHECK(code == TENURE_INVALID && strstr(err.text, bad[i].words));
    }
}

static void two_spellings_of_a_path_are_one_store(void)
{
    char name[300], link[300], cwd[4096];
    fresh();
    struct store *s = open_store();
    snprintf(name, sizeof name, "%s", s->ops->url(s));
    snprintf(link, sizeof link, "%s.link", path);
    CHECK(symlink(path, link) == 0 && getcwd(cwd, sizeof cwd));
    snprintf(url, sizeof url, "sqlite:%.280s", link);
    struct store *t = open_store();
    CHECK(strcmp(t->ops->url(t), name) == 0);
    shut(t);
    CHECK(chdir(scratch()) == 0);
    snprintf(url, sizeof url, "sqlite:./%s", strrchr(path, '/') + 1);
    t = open_store();
    CHECK(chdir(cwd) == 0);
    CHECK(strcmp(t->ops->url(t), name) == 0);
    CHECK(update(t, "a", add_one, NULL) == 1 && update(s, "a", add_one, NULL) == 2);
    shut(t);
    shut(s);
    snprintf(link, sizeof link, "%s.hard", path);
    snprintf(url, sizeof url, "sqlite:%s", path);
    CHECK(linkat(AT_FDCWD, path, AT_FDCWD, link, 0) == 0);
    CHECK(open_code() == TENURE_UNSAFE_PLACE && strstr(err.text, "hard links"));
}

static void a_missing_directory_is_named_and_none_is_made(void)
{
    fresh();
    snprintf(url, sizeof url, "sqlite:%s.d/x.db", path);
    CHECK(open_code() == TENURE_ABSENT && strstr(err.text, path));
    CHECK(access(companion(".d"), F_OK) != 0);
}

static void a_store_is_not_made_when_it_is_only_looked_for(void)
{
    const struct store_options opt = {.create = false};
    struct store *s;
    fresh();
    CHECK(store_open(url, &opt, &s, &err) == TENURE_ABSENT && strstr(err.text, path));
    CHECK(access(path, F_OK) != 0 && access(companion("-gate"), F_OK) != 0);
}

/* ---- whose it is ---------------------------------------------------------------------------- */

static void what_is_made_is_private_and_later_files_follow_the_database(void)
{
    struct stat st;
    mode_t before = umask(0);
    fresh();
    struct store *s = open_store();
    umask(before);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(stat(companion("-gate"), &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(stat(companion("-live"), &st) == 0 && (st.st_mode & 0777) == 0700);
    shut(s);
    CHECK(chmod(path, 0660) == 0 && unlink(companion("-gate")) == 0);
    CHECK(rmdir(companion("-live")) == 0);
    s = open_store();
    CHECK(stat(companion("-gate"), &st) == 0 && (st.st_mode & 0777) == 0660);
    CHECK(stat(companion("-live"), &st) == 0 && (st.st_mode & 0777) == 0770);
    shut(s);
}

static void the_file_of_another_application_is_refused_and_not_touched(void)
{
    fresh();
    CHECK(meddle("CREATE TABLE ledger(x)") == SQLITE_OK);
    uint64_t sum = sum_of(path);
    CHECK(open_code() == TENURE_FOREIGN && strstr(err.text, path) && sum_of(path) == sum);
    fresh();
    CHECK(meddle("PRAGMA application_id = 77") == SQLITE_OK);
    CHECK(open_code() == TENURE_FOREIGN && strstr(err.text, "0x4d"));
    fresh();
    FILE *f = fopen(path, "w");
    CHECK(f && fprintf(f, "%0999d", 1) > 0 && fclose(f) == 0);
    sum = sum_of(path);
    CHECK(open_code() == TENURE_FOREIGN && sum_of(path) == sum);
}

static void a_newer_schema_is_refused_with_both_versions(void)
{
    fresh();
    shut(open_store());
    CHECK(meddle("PRAGMA user_version = 4") == SQLITE_OK);
    CHECK(open_code() == TENURE_FOREIGN);
    CHECK(strstr(err.text, "version 4") && strstr(err.text, "versions 2 and 3"));
}

static void a_damaged_store_is_refused(void)
{
    fresh();
    shut(open_store());
    CHECK(meddle("DELETE FROM meta") == SQLITE_OK);
    CHECK(open_code() == TENURE_CORRUPT && strstr(err.text, path));
}

static void a_umask_takes_no_rights_of_the_owner(void)
{
    struct stat st;
    fresh();
    mode_t before = umask(0777);
    struct store *s = open_store();
    umask(before);
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    shut(s);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Moves the row of one name to where that of another has to be. */
static bool displace(const char *name, const char *from)
{
    char text[128];
    snprintf(text, sizeof text, "UPDATE item SET id = %lld WHERE key = '%s'",
             -(long long)(store_key_hash(from) >> 2) - 1, name);
    return meddle(text) == SQLITE_OK;
}

static void two_names_with_one_hash_keep_a_record_each(void)
{
    fresh();
    struct store *s = open_store();
    CHECK(update(s, "a", add_one, NULL) == 1 && update(s, "b", add_one, NULL) == 1);
    shut(s);
    CHECK(meddle("UPDATE item SET id = -5 WHERE key = 'a'") == SQLITE_OK && displace("b", "a"));
    s = open_store();
    CHECK(update(s, "a", add_one, NULL) == 2 && update(s, "b", add_one, NULL) == 2);
    shut(s);
    CHECK(displace("b", "new"));
    s = open_store();
    CHECK(update(s, "new", add_one, NULL) == 1 && update(s, "b", add_one, NULL) == 3);
    CHECK(update(s, "new", add_one, NULL) == 2 && update(s, "a", add_one, NULL) == 3);
    shut(s);
}

/* ---- places --------------------------------------------------------------------------------- */

static void the_verdict_on_a_place_follows_from_its_type(void)
{
    static const struct {
        uint64_t magic;
        enum place_kind kind;
    } table[] = {
        {0x6969, PLACE_NETWORK},      {0xff534d42, PLACE_NETWORK}, {0xfe534d42, PLACE_NETWORK},
        {0x01021997, PLACE_NETWORK},  {0x00c36400, PLACE_NETWORK}, {0x0bd00bd0, PLACE_NETWORK},
        {0x65735546, PLACE_FUSE},     {0x794c7630, PLACE_OVERLAY}, {0xef53, PLACE_FINE},
        {0x01021994, PLACE_FINE},     {0x58465342, PLACE_FINE},    {0x9123683e, PLACE_FINE},
        {0x12345678, PLACE_FINE},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        CHECK(place_judge(table[i].magic).kind == table[i].kind);
    CHECK(strcmp(place_judge(0x6969).type, "nfs") == 0);
    /* f_type of statfs() is signed on some architectures. */
    CHECK(place_judge((uint64_t)(int64_t)(int32_t)0xff534d42).kind == PLACE_NETWORK);
}

static void mount_overlay(void)
{
    char option[900];
    if (!may_mount())
        return;
    CHECK(mkdir(path, 0700) == 0 && mount("none", path, "tmpfs", 0, NULL) == 0);
    CHECK(mkdir(companion("/l"), 0700) == 0 && mkdir(companion("/u"), 0700) == 0);
    CHECK(mkdir(companion("/w"), 0700) == 0 && mkdir(companion("/m"), 0700) == 0);
    snprintf(option, sizeof option, "lowerdir=%s/l,upperdir=%s/u,workdir=%s/w", path, path, path);
    if (mount("none", companion("/m"), "overlay", 0, option) != 0) {
        printf("# skip: no overlay here\n");
        return;
    }
    snprintf(url, sizeof url, "sqlite:%s/m/x.db", path);
    CHECK(open_code() == TENURE_UNSAFE_PLACE);
    CHECK(strstr(err.text, "overlay") && strstr(err.text, "?fs=any"));
    snprintf(url, sizeof url, "sqlite:%s/m/x.db?fs=any", path);
    struct store *s = open_store();
    CHECK(update(s, "a", add_one, NULL) == 1 && strstr(s->ops->url(s), "?fs=any"));
    shut(s);
}

static void an_overlay_is_refused_unless_allowed(void)
{
    fresh();
    if (is_root())
        apart(mount_overlay);
}

static void mount_the_file_alone(void)
{
    char inside[256];
    if (!may_mount())
        return;
    snprintf(inside, sizeof inside, "%.200s-inside", path);
    CHECK(mkdir(inside, 0700) == 0);
    snprintf(inside, sizeof inside, "%.200s-inside/x.db", path);
    CHECK(copy(path, inside) && mount(path, inside, NULL, MS_BIND, NULL) == 0);
    snprintf(url, sizeof url, "sqlite:%s", inside);
    CHECK(open_code() == TENURE_UNSAFE_PLACE && strstr(err.text, "mount its directory"));
    snprintf(url, sizeof url, "sqlite:%s", path);
    CHECK(open_code() == 0); /* where it is from */
}

/* As a container is given a file: there would be two gates for one database. */
static void a_file_that_is_mounted_alone_is_refused(void)
{
    fresh();
    shut(open_store());
    if (is_root())
        apart(mount_the_file_alone);
}

/* Fills the file system until nothing more goes in. */
static void fill_up(const char *name)
{
    static char block[4096];
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    memset(block, 'x', sizeof block);
    while (write(fd, block, sizeof block) > 0)
        continue;
    close(fd);
}

static int put_much(void *arg, struct store_view *view)
{
    (void)arg;
    memset(view->out[0].bytes, 'x', 100000);
    view->out[0].len = 100000;
    view->out[0].what = STORE_PUT;
    return 0;
}

static void fill_the_disk(void)
{
    char dir[256];
    if (!may_mount())
        return;
    snprintf(dir, sizeof dir, "%s", path);
    CHECK(mkdir(dir, 0700) == 0 && mount("none", dir, "tmpfs", 0, "size=2m") == 0);
    snprintf(path, sizeof path, "%.200s/x.db", dir);
    snprintf(url, sizeof url, "sqlite:%s", path);
    struct store *s = open_store();
    CHECK(update(s, "a", add_one, NULL) == 1);
    fill_up(companion(".fill"));
    CHECK(update(s, "big", put_much, NULL) == TENURE_NO_SPACE);
    CHECK(strstr(err.text, "no space left"));
    CHECK(update(s, "a", see, NULL) == 1 && update(s, "big", see, NULL) == 0);
    CHECK(unlink(companion(".fill")) == 0);
    CHECK(update(s, "a", add_one, NULL) == 2); /* room again, and all is well */
    shut(s);
    snprintf(path, sizeof path, "%.200s/y.db", dir);
    snprintf(url, sizeof url, "sqlite:%s", path);
    fill_up(companion(".fill"));
    CHECK(open_code() == TENURE_NO_SPACE);
    CHECK(unlink(companion(".fill")) == 0 && open_code() == 0);
}

static void a_full_disk_is_said_and_nothing_happens_until_there_is_room(void)
{
    fresh();
    if (is_root())
        apart(fill_the_disk);
}

static void mount_read_only(void)
{
    char dir[256];
    if (!may_mount())
        return;
    snprintf(dir, sizeof dir, "%s", path);
    CHECK(mkdir(dir, 0700) == 0 && mount("none", dir, "tmpfs", 0, NULL) == 0);
    snprintf(path, sizeof path, "%.200s/x.db", dir);
    snprintf(url, sizeof url, "sqlite:%s", path);
    CHECK(open_code() == 0);
    CHECK(mount("none", dir, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL) == 0);
    CHECK(open_code() == TENURE_READ_ONLY && strstr(err.text, path));
    snprintf(url, sizeof url, "sqlite:%.200s/y.db", dir);
    CHECK(open_code() == TENURE_READ_ONLY);
}

static void a_read_only_file_system_is_said(void)
{
    fresh();
    if (is_root())
        apart(mount_read_only);
}

static void become_nobody(void)
{
    CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    CHECK(open_code() == TENURE_DENIED && strstr(err.text, path));
}

static void become_nobody_who_may_read(void)
{
    CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    CHECK(open_code() == TENURE_READ_ONLY && strstr(err.text, path));
}

static void a_user_without_rights_is_denied(void)
{
    fresh();
    shut(open_store());
    if (!is_root())
        return;
    CHECK(chmod(scratch(), 0755) == 0);
    apart(become_nobody);
    if (tap_failure)
        return;
    CHECK(chmod(path, 0644) == 0 && chmod(companion("-gate"), 0644) == 0);
    apart(become_nobody_who_may_read);
}

int main(int argc, char **argv)
{
    lazy = argc > 1 && strcmp(argv[1], "lazy") == 0;
    int failed = TAP_RUN(
        TAP(a_url_that_names_no_store_is_refused_with_value_and_rule),
        TAP(two_spellings_of_a_path_are_one_store),
        TAP(a_missing_directory_is_named_and_none_is_made),
        TAP(a_store_is_not_made_when_it_is_only_looked_for),
        TAP(what_is_made_is_private_and_later_files_follow_the_database),
        TAP(the_file_of_another_application_is_refused_and_not_touched),
        TAP(a_newer_schema_is_refused_with_both_versions), TAP(a_damaged_store_is_refused),
        TAP(two_names_with_one_hash_keep_a_record_each),
        TAP(a_umask_takes_no_rights_of_the_owner),
        TAP(the_verdict_on_a_place_follows_from_its_type),
        TAP(an_overlay_is_refused_unless_allowed),
        TAP(a_file_that_is_mounted_alone_is_refused),
        TAP(a_full_disk_is_said_and_nothing_happens_until_there_is_room),
        TAP(a_read_only_file_system_is_said), TAP(a_user_without_rights_is_denied));
    scratch_remove();
    return failed;
}
