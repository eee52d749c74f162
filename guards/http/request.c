#include "http/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/name.h"
#include "http/library.h"
#include "http/report.h"
#include "os/fail.h"
#include "wire/token_header.h"

#define PLAIN "text/plain; charset=utf-8"

/* Longer than the 60 s for which nginx keeps an idle connection: it should be the one that closes
 * it, or it may send a check into a connection that is being closed. */
#define IDLE_S 90u

struct request {
    struct checker *checker;
    struct MHD_Connection *connection;
    const char *path, *method;
};

/* An answer on its way; `text` is freed, or NULL and `line` counts. */
struct reply {
    unsigned status;
    const char *header, *word; /* Tenure-Verdict or Tenure-Result, and what it says; NULL: none */
    const char *challenge;     /* WWW-Authenticate; NULL: none */
    const char *type;
    char *text;
    char line[640];
};

/* ---- sending ------------------------------------------------------------------------------- */

static enum MHD_Result send_reply(struct request *r, const struct reply *reply)
{
    struct MHD_Response *response =
        reply->text ? mhd.MHD_create_response_from_buffer(strlen(reply->text), reply->text,
                                                          MHD_RESPMEM_MUST_FREE)
                    : mhd.MHD_create_response_from_buffer(strlen(reply->line),
                                                          (void *)(uintptr_t)reply->line,
                                                          MHD_RESPMEM_MUST_COPY);
    if (response == NULL) {
        free(reply->text);
        return MHD_NO; /* out of memory: the connection is closed, which no proxy takes for a yes */
    }
    bool whole = mhd.MHD_add_response_header(response, "Content-Type", reply->type) == MHD_YES &&
                 mhd.MHD_add_response_header(response, "Cache-Control", "no-store") == MHD_YES;
    if (reply->header)
        whole &= mhd.MHD_add_response_header(response, reply->header, reply->word) == MHD_YES;
    if (reply->challenge)
        whole &= mhd.MHD_add_response_header(response, "WWW-Authenticate", reply->challenge) ==
                 MHD_YES;
    enum MHD_Result sent =
        whole ? mhd.MHD_queue_response(r->connection, reply->status, response) : MHD_NO;
    mhd.MHD_destroy_response(response);
    return sent;
}

static enum MHD_Result send_text(struct request *r, const char *type, char *text)
{
    struct reply reply = {.status = 200, .type = type, .text = text};
    return text ? send_reply(r, &reply) : MHD_NO;
}

static enum MHD_Result send_nothing_here(struct request *r)
{
    struct reply reply = {.status = 404, .type = PLAIN, .line = "there is nothing here\n"};
    return send_reply(r, &reply);
}

/* The outcome of what an operator asked: 0, or a tenure_code with *err filled. */
static enum MHD_Result send_result(struct request *r, int code, const tenure_error *err)
{
    struct reply reply = {.header = HTTP_RESULT_HEADER, .word = tenure_error_name(code),
                          .type = PLAIN};
    switch (tenure_class(code)) {
    case TENURE_CLASS_NONE:
        reply.status = 200;
        break;
    case TENURE_CLASS_REFUSED:
        reply.status = 409;
        break;
    case TENURE_CLASS_MISUSE:
        reply.status = 400;
        break;
    default:
        reply.status = 503;
        break;
    }
    (void)snprintf(reply.line, sizeof reply.line, "%s\n", code < 0 ? err->text : "done");
    return send_reply(r, &reply);
}

/* ---- headers and arguments ------------------------------------------------------------------ */

struct found {
    const char *name;
    struct text value; /* of the first */
    unsigned count;
};

static enum MHD_Result find_value(void *arg, enum MHD_ValueKind kind, const char *key,
                                  size_t key_bytes, const char *value, size_t value_bytes)
{
    struct found *f = arg;
    (void)kind;
    if (key_bytes != strlen(f->name) || strncasecmp(key, f->name, key_bytes) != 0)
        return MHD_YES;
    if (f->count++ == 0)
        f->value = (struct text){value ? value : "", value ? value_bytes : 0};
    return MHD_YES;
}

static struct found find(struct request *r, enum MHD_ValueKind kind, const char *name)
{
    struct found f = {.name = name};
    (void)mhd.MHD_get_connection_values_n(r->connection, kind, find_value, &f);
    return f;
}

static struct found header(struct request *r, const char *name)
{
    return find(r, MHD_HEADER_KIND, name);
}

static bool shows_secret(struct request *r)
{
    struct found f = header(r, "Authorization");
    return f.count == 1 && secret_is_shown(&r->checker->secret, f.value);
}

/* NULL when the request shows one token; else the rule that it broke. */
static const char *read_shown(struct request *r, struct text *ret_name, uint64_t *ret_token)
{
    struct found f = header(r, TOKEN_HEADER);
    if (f.count == 0)
        return "the request has no header " TOKEN_HEADER;
    if (f.count > 1)
        return "the request has the header " TOKEN_HEADER " more than once";
    enum token_header_flaw flaw = token_header_parse(f.value, ret_name, ret_token);
    return flaw == TOKEN_HEADER_FINE ? NULL : token_header_flaw_text(flaw);
}

/* ---- checks -------------------------------------------------------------------------------- */

static enum MHD_Result send_verdict(struct request *r, enum http_verdict v, struct text guard,
                                    uint64_t mark, const char *why)
{
    static const unsigned status[HTTP_VERDICTS] = {
        [HTTP_ADMIT] = 200,   [HTTP_RAISE] = 200,   [HTTP_STALE] = 403,  [HTTP_NEWER] = 403,
        [HTTP_MISSING] = 401, [HTTP_INVALID] = 401, [HTTP_BROKEN] = 503, [HTTP_UNAVAILABLE] = 503,
    };
    struct reply reply = {.status = status[v], .header = "Tenure-Verdict",
                          .word = http_verdict_text(v), .type = PLAIN};
    if (reply.status == 401)
        reply.challenge = "Tenure";
    (void)snprintf(reply.line, sizeof reply.line, "tenure: %s: guard %.*s, mark %" PRIu64 ": %s\n",
                   reply.word, (int)guard.len, guard.at, mark, why);
    return send_reply(r, &reply);
}

static enum MHD_Result refuse(struct request *r, struct text guard, enum http_verdict v,
                              const char *why)
{
    uint64_t mark;
    v = marks_refuse(r->checker->marks, guard, v, &mark);
    return send_verdict(r, v, guard, mark, v == HTTP_BROKEN ? "there is no such guard" : why);
}

static enum MHD_Result judge(struct request *r, struct text guard, uint64_t token)
{
    static const char *const why[HTTP_VERDICTS] = {
        [HTTP_ADMIT] = "it is the mark",
        [HTTP_RAISE] = "the mark was raised to it",
        [HTTP_STALE] = "the writer has been replaced",
        [HTTP_NEWER] = "it was not announced",
        [HTTP_BROKEN] = "there is no such guard",
    };
    uint64_t mark;
    tenure_error err;
    char line[400];
    enum http_verdict v = marks_judge(r->checker->marks, guard, token, &mark, &err);
    (void)snprintf(line, sizeof line, "token %" PRIu64 ": %s", token,
                   v == HTTP_UNAVAILABLE ? err.text : why[v]);
    return send_verdict(r, v, guard, mark, line);
}

/* The name in front of the first empty segment; all of it without one. */
static struct text name_in(const char *path)
{
    const char *end = strstr(path, "//");
    return (struct text){path, end ? (size_t)(end - path) : strlen(path)};
}

static enum MHD_Result check(struct request *r, const char *rest)
{
    struct text guard = name_in(rest), name;
    uint64_t token;
    if (name_check(guard, NULL) != NAME_FINE)
        return send_nothing_here(r);
    const char *flaw = read_shown(r, &name, &token);
    if (flaw)
        return refuse(r, guard, header(r, TOKEN_HEADER).count ? HTTP_INVALID : HTTP_MISSING, flaw);
    if (!text_equal(name, guard))
        return refuse(r, guard, HTTP_MISSING, "the token that was shown is for another guard");
    return judge(r, guard, token);
}

/* ---- operators ----------------------------------------------------------------------------- */

static enum MHD_Result list(struct request *r, struct text name)
{
    size_t found = 0;
    tenure_error err = {.text = ""};
    char *text = report_json(r->checker->marks, name, &found);
    if (text && found == 0 && name.len > 0) {
        free(text);
        (void)snprintf(err.text, sizeof err.text, "there is no guard \"%.*s\" in this checker",
                       (int)(name.len < NAME_BYTES_MAX ? name.len : NAME_BYTES_MAX), name.at);
        return send_result(r, TENURE_INVALID, &err);
    }
    struct reply reply = {.status = 200, .header = HTTP_RESULT_HEADER, .word = "OK",
                          .type = "application/json", .text = text};
    return text ? send_reply(r, &reply) : MHD_NO;
}

static int announce(struct request *r, tenure_error *err)
{
    struct text name;
    uint64_t token;
    const char *flaw = read_shown(r, &name, &token);
    if (flaw) {
        (void)snprintf(err->text, sizeof err->text, "%s", flaw);
        return TENURE_INVALID;
    }
    return marks_announce(r->checker->marks, name, token, err);
}

static int install(struct request *r, const char *name, tenure_error *err)
{
    struct found strict = find(r, MHD_GET_ARGUMENT_KIND, "strict");
    if (strict.count > 1 || (strict.count == 1 && !text_equal(strict.value, text_of("1"))))
        return fail(err, TENURE_INVALID, "strict is left out, or is strict=1"); /* never guessed */
    return marks_install(r->checker->marks, text_of(name), strict.count > 0, err);
}

/* What changes something: false when it is not one of these.  The secret comes first, so that
 * who lacks it learns nothing. */
static bool change(struct request *r, const char *guard, enum MHD_Result *ret)
{
    bool announces = strcmp(r->path, "/announce") == 0 && strcmp(r->method, "POST") == 0;
    bool installs = guard && strcmp(r->method, "PUT") == 0;
    bool removes = guard && strcmp(r->method, "DELETE") == 0;
    tenure_error err = {.text = ""};
    int code;
    if (!announces && !installs && !removes)
        return false;
    if (!shows_secret(r)) {
        struct reply reply = {.status = 401, .header = HTTP_RESULT_HEADER,
                              .word = tenure_error_name(TENURE_DENIED), .challenge = "Bearer",
                              .type = PLAIN, .line = "the secret of this checker was not shown\n"};
        *ret = send_reply(r, &reply);
        return true;
    }
    if (announces)
        code = announce(r, &err);
    else if (installs)
        code = install(r, guard, &err);
    else
        code = marks_remove(r->checker->marks, text_of(guard), &err);
    *ret = send_result(r, code, &err);
    return true;
}

static enum MHD_Result health(struct request *r)
{
    struct marks_totals totals;
    struct reply reply = {.status = 200, .type = PLAIN, .line = "ok\n"};
    marks_total(r->checker->marks, &totals);
    if (!totals.durable) {
        reply.status = 503;
        (void)snprintf(reply.line, sizeof reply.line, "the last mark could not be made durable\n");
    }
    return send_reply(r, &reply);
}

static enum MHD_Result route(struct request *r)
{
    static const char checks[] = "/check/", guards[] = "/guards/";
    enum MHD_Result sent;
    bool reads = strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0;
    if (strncmp(r->path, checks, sizeof checks - 1) == 0)
        return check(r, r->path + sizeof checks - 1);
    const char *guard =
        strncmp(r->path, guards, sizeof guards - 1) == 0 ? r->path + sizeof guards - 1 : NULL;
    if (change(r, guard, &sent))
        return sent;
    if (reads && (guard || strcmp(r->path, "/guards") == 0))
        return list(r, text_of(guard));
    if (reads && strcmp(r->path, "/metrics") == 0)
        return send_text(r, "text/plain; version=0.0.4", report_metrics(r->checker->marks));
    if (reads && strcmp(r->path, "/health") == 0)
        return health(r);
    return send_nothing_here(r);
}

/* Who has sent a whole request may be silent for longer. */
static void grant_patience(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *now =
        mhd.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_TIMEOUT);
    if (now == NULL || now->connection_timeout != IDLE_S) /* without it, proxies connect anew */
        (void)mhd.MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, IDLE_S);
}

enum MHD_Result request_handle(void *arg, struct MHD_Connection *connection, const char *path,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_bytes, void **state)
{
    static char seen;
    struct request r = {arg, connection, path, method};
    (void)version;
    (void)upload;
    if (*state == NULL) { /* the headers are there, and a body may follow */
        *state = &seen;
        grant_patience(connection);
        return MHD_YES;
    }
    if (*upload_bytes > 0) { /* nobody asks for it: let it pass, so that the connection stays */
        *upload_bytes = 0;
        return MHD_YES;
    }
    return route(&r);
}
