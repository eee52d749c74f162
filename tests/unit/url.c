#include "wire/etcd_url.h"
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

/* An endpoint is the member that advertises it; what is not written alike may be anybody. */
static void a_member_is_found_among_the_endpoints(void)
{
    struct url url;
    struct etcd_url at;
    CHECK(url_parse(text_of("etcd://h1:2380,h2,[::1]:99/prefix"), &url) == URL_FINE);
    CHECK(etcd_url_parse(&url, &at, NULL) == ETCD_URL_FINE);
    CHECK(etcd_url_find(&at, text_of("http://h1:2380")) == 0);
    CHECK(etcd_url_find(&at, text_of("https://h2:2379")) == 1);
    CHECK(etcd_url_find(&at, text_of("http://[::1]:99")) == 2);
    CHECK(etcd_url_find(&at, text_of("http://h1:2379")) == -1);
    CHECK(etcd_url_find(&at, text_of("http://h3:2379")) == -1);
    CHECK(etcd_url_find(&at, text_of("unix://h1:2380")) == -1);
    CHECK(etcd_url_find(&at, text_of("http:h1:2380")) == -1);
    CHECK(etcd_url_find(&at, text_of("http://h1:2380/more")) == -1);
    CHECK(etcd_url_find(&at, text_of("http")) == -1);
    CHECK(etcd_url_find(&at, text_of("")) == -1);
}

static void an_endpoint_that_is_named_twice_is_one(void)
{
    struct url url;
    struct etcd_url at;
    CHECK(url_parse(text_of("etcd://h1,h1:2379,h2,h1:2380/prefix"), &url) == URL_FINE);
    CHECK(etcd_url_parse(&url, &at, NULL) == ETCD_URL_FINE && at.endpoints == 3);
    CHECK(etcd_url_find(&at, text_of("http://h1:2380")) == 2);
}

int main(void)
{
    return TAP_RUN(TAP(a_password_is_not_shown), TAP(what_is_no_password_is_shown),
                   TAP(what_is_too_long_is_cut_off), TAP(a_member_is_found_among_the_endpoints),
                   TAP(an_endpoint_that_is_named_twice_is_one));
}
