/* A file that only the holder replaces: <tenure/guard.h> on a mark that lies beside it.
 *
 * Every writer takes the lock on "FILE.mark", reads the mark, asks the rule, stores the raised
 * mark, and only then puts the new file in the place of the old one, in one step.  Readers see
 * the old file or the new one, never half of one, and never one of somebody who was replaced. */
#define _XOPEN_SOURCE 700 /* pread() and pwrite(), also with -std=c11 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <tenure/guard.h>
#include <tenure/tenure.h>
#include <unistd.h>

/* The mark, in 20 digits so that it is overwritten in its place.  0: it is stored. */
static int mark_store(int fd, uint64_t mark)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%020" PRIu64, mark);
    return pwrite(fd, digits, (size_t)len, 0) == len && fsync(fd) == 0 ? 0 : -1;
}

/* 0, or -1 when it cannot be read or is damaged.  A file that is new has no mark. */
static int mark_load(int fd, uint64_t *ret)
{
    char digits[24] = "", *end;
    ssize_t len = pread(fd, digits, sizeof digits - 1, 0);
    *ret = strtoull(digits, &end, 10);
    return len == 0 || (len == 20 && *end == '\0') ? 0 : -1;
}

/* The new content, on disk under another name, then in the place of the old one. */
static int put_in_place(const char *path, const char *text)
{
    char other[512];
    snprintf(other, sizeof other, "%s.new", path);
    int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    ssize_t len = (ssize_t)strlen(text);
    int failed = write(fd, text, (size_t)len) != len || fsync(fd) != 0;
    failed |= close(fd) != 0;
    if (failed || rename(other, path) != 0)
        return -1;
    int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* where the files are */
    if (directory < 0)
        return -1;
    failed = fsync(directory) != 0;
    return close(directory) != 0 || failed ? -1 : 0;
}

/* Replaces the file under a token; text NULL only announces it.  What the rule said, or -1. */
static int file_replace(const char *path, const char *text, tenure_token token)
{
    char beside[512];
    uint64_t mark;
    snprintf(beside, sizeof beside, "%s.mark", path);
    int fd = open(beside, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    int verdict = -1;
    if (flock(fd, LOCK_EX) == 0 && mark_load(fd, &mark) == 0) {
        verdict = (int)tenure_guard_admit(mark, token, false);
        if (verdict == TENURE_GUARD_RAISE && mark_store(fd, token) != 0)
            verdict = -1;
        bool admitted = verdict == TENURE_GUARD_RAISE || verdict == TENURE_GUARD_ADMIT;
        if (admitted && text != NULL && put_in_place(path, text) != 0)
            verdict = -1;
    }
    close(fd); /* and lets the lock go */
    return verdict;
}

/* One holder after the other; returns the token that it had, or 0. */
static tenure_token hold(tenure *t, const char *text, tenure_error *err)
{
    tenure_claim *claim;
    const tenure_terms terms = TENURE_TERMS_INIT;
    if (tenure_acquire(t, "site/index", &terms, &claim, err) < 0)
        return 0;
    tenure_token token = tenure_claim_token(claim);
    int verdict = file_replace("index.html", NULL, token); /* announced before the work starts */
    if (verdict > 0)
        verdict = file_replace("index.html", text, token);
    printf("%s: %s\n", text, verdict < 0 ? "failed" : tenure_guard_verdict_text(verdict));
    return tenure_release(claim, err) < 0 || verdict != TENURE_GUARD_ADMIT ? 0 : token;
}

int main(void)
{
    tenure *t;
    tenure_error err = {0, "the file was not written"};
    if (tenure_open(NULL, NULL, &t, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    tenure_token first = hold(t, "the first", &err);
    tenure_token second = first ? hold(t, "the second", &err) : 0;
    tenure_close(t);
    if (second == 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    /* The first one wakes up, and does not know that it is over. */
    int verdict = file_replace("index.html", "late", first);
    printf("the first, late: %s\n", verdict < 0 ? "failed" : tenure_guard_verdict_text(verdict));
    return verdict == TENURE_GUARD_STALE ? 0 : 1;
}
