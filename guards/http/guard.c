#include "http/guard.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "http/answer.h"
#include "http/library.h"
#include "http/place.h"
#include "http/report.h"
#include "http/request.h"
#include "http/secret.h"
#include "os/fail.h"
#include "wire/token_header.h"

struct http_guard {
    struct target target;
    CURL *handle;
    int64_t patience_ms;
    struct http_place place;
    char authorization[SECRET_BYTES_MAX + 32]; /* empty: no secret was given */
};

static struct http_guard *guard_of_target(struct target *t)
{
    return (struct http_guard *)t; /* its first member */
}

/* ---- asking -------------------------------------------------------------------------------- */

static size_t take_body(char *bytes, size_t one, size_t count, void *arg)
{
    return answer_take_body(arg, bytes, one * count) ? one * count : 0; /* 0 ends the transfer */
}

static size_t take_header(char *line, size_t one, size_t count, void *arg)
{
    answer_take_header(arg, line, one * count);
    return one * count;
}

/* Nothing answered.  What was sent, and changes something, may have been done. */
static int fail_curl(struct http_guard *g, CURLcode result, bool changes, tenure_error *err)
{
    curl_off_t sent_us = 0; /* when the request began to be sent; 0: it never did */
    const char *words = curl.curl_easy_strerror(result);
    if (result == CURLE_URL_MALFORMAT || result == CURLE_UNSUPPORTED_PROTOCOL)
        return fail(err, TENURE_INVALID, "%s: %s", g->place.base, words);
    if (result == CURLE_OUT_OF_MEMORY)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    if (curl.curl_easy_getinfo(g->handle, CURLINFO_PRETRANSFER_TIME_T, &sent_us) != CURLE_OK)
        sent_us = 1;
    if (changes && sent_us > 0)
        return fail(err, TENURE_UNSURE, "the guard at %s did not answer, and may have done it: %s",
                    g->place.base, words);
    return fail(err, TENURE_UNREACHABLE, "cannot ask the guard at %s: %s", g->place.base, words);
}

/* What an answer means. */
static int judge_answer(struct http_guard *g, const struct answer *a, bool changes,
                        tenure_error *err)
{
    int code = answer_code(a);
    long status = 0;
    if (curl.curl_easy_getinfo(g->handle, CURLINFO_RESPONSE_CODE, &status) != CURLE_OK)
        status = 0;
    /* 5xx: a proxy that could not reach it, or lost it meanwhile. */
    if (code == ANSWER_OF_A_STRANGER && status >= 500)
        return fail(err, changes ? TENURE_UNSURE : TENURE_UNREACHABLE,
                    "the guard at %s did not answer: a proxy says %ld", g->place.base, status);
    if (code == ANSWER_OF_A_STRANGER)
        return fail(err, TENURE_FOREIGN, "what answers at %s is not a checker of tenure",
                    g->place.base);
    if (code == TENURE_DENIED && g->authorization[0] == '\0')
        return fail(err, code, "the guard at %s wants its secret: %s?secret=FILE", g->place.base,
                    g->place.base);
    return code < 0 ? fail(err, code, "guard at %s: %.*s", g->place.base,
                           answer_sentence_length(a), a->text)
                    : 0;
}

static bool prepare(struct http_guard *g, const char *method, const char *url,
                    struct curl_slist *headers, struct answer *a)
{
    CURL *h = g->handle;
    return curl.curl_easy_setopt(h, CURLOPT_URL, url) == CURLE_OK &&
           curl.curl_easy_setopt(h, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK &&
           curl.curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
           curl.curl_easy_setopt(h, CURLOPT_WRITEDATA, a) == CURLE_OK &&
           curl.curl_easy_setopt(h, CURLOPT_HEADERDATA, a) == CURLE_OK;
}

static bool add_header(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = line[0] ? curl.curl_slist_append(*list, line) : *list;
    if (line[0] && longer == NULL)
        return false;
    *list = longer;
    return true;
}

/* One request: 0, or a code with *err filled.  On 0 a->text is the caller's.  `token_line` may be
 * empty. */
static int ask(struct http_guard *g, const char *method, const char *path, const char *token_line,
               struct answer *a, tenure_error *err)
{
    char url[HTTP_BASE_BYTES_MAX + NAME_BYTES_MAX + 32];
    struct curl_slist *headers = NULL;
    (void)snprintf(url, sizeof url, "%s%s", g->place.base, path);
    int code = 0;
    if (!add_header(&headers, g->authorization) || !add_header(&headers, token_line) ||
        !prepare(g, method, url, headers, a)) {
        code = fail(err, TENURE_NO_MEMORY, "out of memory");
    } else {
        bool changes = strcmp(method, "GET") != 0;
        CURLcode result = curl.curl_easy_perform(g->handle);
        code = result == CURLE_OK ? judge_answer(g, a, changes, err)
                                  : fail_curl(g, result, changes, err);
    }
    curl.curl_slist_free_all(headers);
    return code;
}

/* One request whose answer is its result alone. */
static int order(struct http_guard *g, const char *method, const char *path,
                 const char *token_line, tenure_error *err)
{
    struct answer a = {.text = NULL};
    int code = ask(g, method, path, token_line, &a, err);
    free(a.text);
    return code;
}

/* ---- the calls of a target ------------------------------------------------------------------ */

static int check_name(const char *name, tenure_error *err)
{
    enum name_flaw flaw = name_check(text_of(name), NULL);
    return flaw == NAME_FINE ? 0
                             : fail(err, TENURE_INVALID, "--name %s: %s", name,
                                    name_flaw_text(flaw));
}

static int install(struct target *t, const char *name, const char *const *tables,
                   size_t table_count, bool strict, tenure_error *err)
{
    char path[NAME_BYTES_MAX + 32];
    (void)tables;
    (void)table_count;
    (void)snprintf(path, sizeof path, "/guards/%s%s", name, strict ? "?strict=1" : "");
    return order(guard_of_target(t), "PUT", path, "", err);
}

static int announce(struct target *t, const char *name, uint64_t token, tenure_error *err)
{
    char line[NAME_BYTES_MAX + 64];
    int code = check_name(name, err);
    (void)snprintf(line, sizeof line, "%s: %s %" PRIu64, TOKEN_HEADER, name, token);
    return code < 0 ? code : order(guard_of_target(t), "POST", "/announce", line, err);
}

static int check(struct target *t, const char *name, target_finding_fn *fn, void *arg,
                 tenure_error *err)
{
    char path[NAME_BYTES_MAX + 32] = "/guards";
    struct answer a = {.text = NULL};
    int code = name ? check_name(name, err) : 0;
    if (code < 0)
        return code;
    if (name)
        (void)snprintf(path, sizeof path, "/guards/%s", name);
    code = ask(guard_of_target(t), "GET", path, "", &a, err);
    if (code == 0)
        code = report_read(a.text ? a.text : "", fn, arg, err);
    free(a.text);
    return code;
}

static int take_out(struct target *t, const char *name, tenure_error *err)
{
    char path[NAME_BYTES_MAX + 32];
    int code = check_name(name, err);
    (void)snprintf(path, sizeof path, "/guards/%s", name);
    return code < 0 ? code : order(guard_of_target(t), "DELETE", path, "", err);
}

/* ---- opening ------------------------------------------------------------------------------- */

static void close_target(struct target *t)
{
    struct http_guard *g = guard_of_target(t);
    if (g->handle)
        curl.curl_easy_cleanup(g->handle);
    explicit_bzero(g->authorization, sizeof g->authorization);
    free(g);
}

static int read_authorization(struct http_guard *g, tenure_error *err)
{
    struct secret secret;
    if (g->place.secret_file == NULL)
        return 0;
    int code = secret_read(g->place.secret_file, &secret, err);
    if (code == 0)
        (void)snprintf(g->authorization, sizeof g->authorization, "Authorization: Bearer %s",
                       secret.bytes);
    explicit_bzero(&secret, sizeof secret);
    return code;
}

/* What holds for every request.  No proxy of the environment comes between a holder and the guard,
 * and no redirection is followed: the secret goes where it was meant to go. */
static bool prepare_handle(struct http_guard *g)
{
    CURL *h = g->handle;
    return curl.curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)g->patience_ms) == CURLE_OK &&
           curl.curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl.curl_easy_setopt(h, CURLOPT_PROXY, "") == CURLE_OK &&
           curl.curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl.curl_easy_setopt(h, CURLOPT_PATH_AS_IS, 1L) == CURLE_OK &&
           curl.curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK &&
           curl.curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, take_header) == CURLE_OK;
}

static CURLcode global;

static void init_global(void)
{
    global = curl.curl_global_init(CURL_GLOBAL_DEFAULT);
}

static int open_handle(struct http_guard *g, tenure_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int code = curl_load(err);
    if (code < 0)
        return code;
    pthread_once(&once, init_global);
    g->handle = global == CURLE_OK ? curl.curl_easy_init() : NULL;
    if (g->handle == NULL || !prepare_handle(g))
        return fail(err, TENURE_NO_MEMORY, "libcurl cannot be used");
    return 0;
}

int http_guard_open(const char *target, int64_t patience_ms, struct target **ret,
                    tenure_error *err)
{
    static const struct target_calls calls = {false, close_target, install, announce, check,
                                              take_out};
    struct http_guard *g = calloc(1, sizeof *g);
    if (g == NULL)
        return fail(err, TENURE_NO_MEMORY, "out of memory");
    g->target.calls = &calls;
    g->patience_ms = patience_ms;
    int code = http_place_parse(target, &g->place, err);
    if (code == 0)
        code = read_authorization(g, err);
    if (code == 0)
        code = open_handle(g, err);
    if (code < 0)
        close_target(&g->target);
    else
        *ret = &g->target;
    return code;
}
