#include "http/library.h"

#include <stddef.h>

#include "os/library.h"

struct mhd mhd;
struct curl curl;

static const struct library_call mhd_calls[] = {
#define MHD_ENTRY(name) {#name, offsetof(struct mhd, name)},
    MHD_CALLS(MHD_ENTRY)
#undef MHD_ENTRY
};

static const struct library_call curl_calls[] = {
#define CURL_ENTRY(name) {#name, offsetof(struct curl, name)},
    CURL_CALLS(CURL_ENTRY)
#undef CURL_ENTRY
};

int mhd_load(tenure_error *err)
{
    static struct library l = {"libmicrohttpd.so.12",
                               "the HTTP guard needs libmicrohttpd (Debian: libmicrohttpd12)",
                               mhd_calls, sizeof mhd_calls / sizeof mhd_calls[0], &mhd, false};
    return library_need(&l, err);
}

int curl_load(tenure_error *err)
{
    static struct library l = {"libcurl.so.4",
                               "an HTTP guard is asked by libcurl (Debian: libcurl4)",
                               curl_calls, sizeof curl_calls / sizeof curl_calls[0], &curl, false};
    return library_need(&l, err);
}
