/* What a stranger may say about an HTTP checker, or instead of one: a place that is taken apart is
 * one whose base says the same; a report, an answer and a secret hold what may be shown, or are
 * refused. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/name.h"
#include "http/answer.h"
#include "http/place.h"
#include "http/report.h"
#include "http/secret.h"
#include "line.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void try_place(const char *text)
{
    struct http_place place, again;
    tenure_error err = {.text = ""};
    if (http_place_parse(text, &place, &err) < 0) {
        if (err.code != TENURE_INVALID || err.text[0] == '\0')
            abort();
        return;
    }
    if (place.host[0] == '\0' || http_place_parse(place.base, &again, &err) < 0)
        abort();
    if (strcmp(again.base, place.base) != 0 || strcmp(again.host, place.host) != 0 ||
        again.port != place.port || again.tls != place.tls || again.prefix != place.prefix)
        abort();
    const char *secret = place.secret_file;
    if (again.secret_file || (secret && (secret <= text || secret >= text + strlen(text))))
        abort();
}

static void check_finding(void *arg, const struct target_finding *f)
{
    (void)arg;
    if (name_check(text_of(f->guard), NULL) != NAME_FINE || f->mark > INT64_MAX || f->table)
        abort();
    const char *verdict = f->refusals->count ? f->refusals->verdict : "";
    for (; *verdict; verdict++) {
        if (*verdict != ' ' && (*verdict < 'a' || *verdict > 'z'))
            abort();
    }
}

static void try_report(const char *text)
{
    tenure_error err = {.text = ""};
    if (report_read(text, check_finding, NULL, &err) < 0 && err.code != TENURE_FOREIGN)
        abort();
}

/* In pieces of different lengths, as the network hands it out. */
static void try_answer(const char *text, size_t size)
{
    struct answer a = {.text = NULL};
    for (size_t from = 0, n = 1; from < size; from += n, n = n % 7 + 1) {
        size_t piece = n < size - from ? n : size - from;
        answer_take_header(&a, text + from, size - from);
        if (!answer_take_body(&a, text + from, piece))
            abort();
    }
    int code = answer_code(&a);
    if (code != 0 && code != ANSWER_OF_A_STRANGER && *tenure_error_name(code) == '\0')
        abort();
    if (a.bytes != size || (size > 0 && memcmp(a.text, text, size) != 0) ||
        (size_t)answer_sentence_length(&a) > strlen(a.text ? a.text : ""))
        abort();
    free(a.text);
}

static void check_secret(const struct secret *secret)
{
    char shown[SECRET_BYTES_MAX + 16];
    int len = snprintf(shown, sizeof shown, "Bearer %s", secret->bytes);
    struct text whole = {shown, (size_t)len}, part = {shown, (size_t)len - 1};
    if (!secret_is_shown(secret, whole) || secret_is_shown(secret, part))
        abort();
    shown[len - 1] ^= 1;
    if (secret_is_shown(secret, whole))
        abort();
}

static void try_secret(const char *bytes, size_t size)
{
    struct secret secret;
    tenure_error err = {.text = ""};
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/tenure-fuzz-secret-%d", (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    close(fd);
    int code = secret_read(path, &secret, &err);
    if (code == 0)
        check_secret(&secret);
    else if (code != TENURE_INVALID)
        abort();
    unlink(path);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = line_of(data, size);
    if (!text)
        return 0;
    try_place(text);
    try_report(text);
    try_answer(text, size);
    try_secret(text, size);
    free(text);
    return 0;
}
