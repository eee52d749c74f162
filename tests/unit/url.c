#include "wire/url.h"
#include "tap.h"

static bool shows(const char *url, const char *as)
{
    char shown[100];
    url_show(text_of(url), shown, sizeof shown);
    return strcmp(shown, as) == 0;
}

static void a_password_is_not_shown(void)
{
    CHECK(shows("postgres://app:se:cr@t@h:5432/db?x=y", "postgres://app:***@h:5432/db?x=y"));
    CHECK(shows("postgres://h/db?user=a&password=secret", "postgres://h/db?user=a&password=***"));
    CHECK(shows("postgres://h/db?sslpassword=s&x=y", "postgres://h/db?sslpassword=***&x=y"));
    CHECK(shows("etcd://root:pw@h1:1,h2:2/prefix", "etcd://root:***@h1:1,h2:2/prefix"));
}

static void what_is_no_password_is_shown(void)
{
    CHECK(shows("postgres://app@h:5432/db", "postgres://app@h:5432/db"));
    CHECK(shows("etcd://h1:2379,h2:2379", "etcd://h1:2379,h2:2379"));
    CHECK(shows("sqlite:/a:b@c/t.db?fs=any", "sqlite:/a:b@c/t.db?fs=any"));
    CHECK(shows("nothing", "nothing"));
}

static void what_is_too_long_is_cut_off(void)
{
    char shown[8];
    url_show(text_of("postgres://app:secret@h/db"), shown, sizeof shown);
    CHECK(strcmp(shown, "postgre") == 0);
}

int main(void)
{
    return TAP_RUN(TAP(a_password_is_not_shown), TAP(what_is_no_password_is_shown),
                   TAP(what_is_too_long_is_cut_off));
}
