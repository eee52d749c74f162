/* tests/unit/permit.c - permits: the rule of an effector, and what it remembers; their text. */
#include "wire/permit.h"

#include "tap.h"
#include "wire/base64url.h"
#include "wire/key.h"
#include "wire/mark.h"

#define T0 1700000000000

static tenure_permit permit;
static tenure_permit_demand demand;
static tenure_permit_mark mark;

/* A permit of epoch 7 for 10 s, shown a second after it was issued; clocks are off by 100 ms. */
static void clear(void)
{
    static const tenure_permit good = {"cl", 7, "node-7", "drain", 70, 1, T0, T0 + 10000, 100};
    permit = good;
    demand = (tenure_permit_demand)TENURE_PERMIT_DEMAND_INIT;
    demand.role = "cl";
    demand.resource = "node-7";
    demand.operation = "drain";
    demand.now_ms = T0 + 1000;
    demand.clock_error_ms = 100;
    memset(&mark, 0, sizeof mark);
}

static tenure_permit_verdict show(uint64_t epoch, uint64_t serial)
{
    permit.epoch = epoch;
    permit.serial = serial;
    return tenure_permit_judge(&permit, &demand, &mark);
}

static void a_permit_is_admitted_once(void)
{
    clear();
    CHECK(show(7, 70) == TENURE_PERMIT_ADMIT && mark.epoch == 7);
    CHECK(show(7, 70) == TENURE_PERMIT_REPLAYED);
    demand.retries = true;
    CHECK(show(7, 70) == TENURE_PERMIT_ADMIT && mark.seen_count == 1);
}

static void what_is_for_something_else_is_refused_with_its_own_verdict(void)
{
    clear();
    demand.role = "other";
    CHECK(show(7, 70) == TENURE_PERMIT_WRONG_ROLE && mark.epoch == 0);
    demand.role = "cl";
    demand.resource = "node-8";
    CHECK(show(7, 70) == TENURE_PERMIT_WRONG_RESOURCE && mark.epoch == 0);
    demand.resource = "node-7";
    demand.operation = "cordon";
    CHECK(show(7, 70) == TENURE_PERMIT_WRONG_OPERATION && mark.seen_count == 0);
    demand.operation = "drain";
    CHECK(show(7, 70) == TENURE_PERMIT_ADMIT);
}

static void an_older_epoch_is_stale_whatever_its_time(void)
{
    clear();
    CHECK(show(8, 80) == TENURE_PERMIT_ADMIT);
    CHECK(show(7, 70) == TENURE_PERMIT_STALE && show(7, 99) == TENURE_PERMIT_STALE);
    demand.clock_error_ms = TENURE_PERMIT_CLOCK_UNKNOWN;
    CHECK(show(7, 70) == TENURE_PERMIT_STALE && mark.epoch == 8);
}

static void an_epoch_is_remembered_also_from_a_permit_that_is_refused(void)
{
    clear();
    demand.now_ms = T0 + 60000;
    CHECK(show(8, 80) == TENURE_PERMIT_EXPIRED && mark.epoch == 8);
    demand.now_ms = T0 + 1000;
    CHECK(show(7, 70) == TENURE_PERMIT_STALE);
    CHECK(show(8, 80) == TENURE_PERMIT_ADMIT); /* it was never admitted */
}

static void both_errors_of_the_clocks_count_against_the_permit(void)
{
    clear();
    demand.now_ms = T0 + 9799;
    CHECK(show(7, 70) == TENURE_PERMIT_ADMIT);
    demand.now_ms = T0 + 9800;
    CHECK(show(7, 71) == TENURE_PERMIT_EXPIRED);
    demand.clock_error_ms = 99;
    CHECK(show(7, 71) == TENURE_PERMIT_ADMIT);
    permit.clock_error_ms = 101;
    CHECK(show(7, 72) == TENURE_PERMIT_EXPIRED);
}

static void a_permit_from_the_future_says_that_some_clock_lies(void)
{
    clear();
    demand.now_ms = T0 - 200;
    CHECK(show(7, 70) == TENURE_PERMIT_ADMIT); /* within both errors */
    demand.now_ms = T0 - 201;
    CHECK(show(7, 71) == TENURE_PERMIT_EARLY);
}

static void a_clock_of_unknown_error_is_refused(void)
{
    clear();
    demand.clock_error_ms = TENURE_PERMIT_CLOCK_UNKNOWN;
    CHECK(show(7, 70) == TENURE_PERMIT_UNKNOWN_CLOCK && mark.seen_count == 0);
    demand.clock_error_ms = TENURE_PERMIT_CLOCK_ERROR_MAX_MS + 1;
    CHECK(show(7, 70) == TENURE_PERMIT_UNKNOWN_CLOCK);
    demand.now_ms = INT64_MAX; /* and no sum of times overflows */
    demand.clock_error_ms = TENURE_PERMIT_CLOCK_ERROR_MAX_MS;
    CHECK(show(7, 70) == TENURE_PERMIT_EXPIRED);
}

static void permits_may_be_shown_in_any_order(void)
{
    clear();
    CHECK(show(7, 72) == TENURE_PERMIT_ADMIT && show(7, 70) == TENURE_PERMIT_ADMIT);
    CHECK(show(7, 71) == TENURE_PERMIT_ADMIT && permit_mark_check(&mark));
    CHECK(show(7, 70) == TENURE_PERMIT_REPLAYED && show(7, 71) == TENURE_PERMIT_REPLAYED);
}

static void what_was_forgotten_is_refused_and_never_admitted_twice(void)
{
    clear();
    uint64_t last = 100 + 3 * TENURE_PERMIT_SEEN_MAX;
    for (uint64_t serial = 100; serial <= last; serial++)
        CHECK(show(7, serial) == TENURE_PERMIT_ADMIT && permit_mark_check(&mark));
    for (uint64_t serial = 100; serial <= last; serial++)
        CHECK(show(7, serial) == TENURE_PERMIT_REPLAYED);
    CHECK(show(7, 99) == TENURE_PERMIT_REPLAYED); /* it was never shown, but who could tell */
    clear();
    for (uint64_t serial = 100; serial < 100 + TENURE_PERMIT_SEEN_MAX; serial++)
        CHECK(show(7, serial) == TENURE_PERMIT_ADMIT);
    CHECK(show(7, 50) == TENURE_PERMIT_ADMIT && show(7, 50) == TENURE_PERMIT_REPLAYED);
    CHECK(show(7, 100) == TENURE_PERMIT_REPLAYED && permit_mark_check(&mark));
    CHECK(show(8, 101) == TENURE_PERMIT_ADMIT && mark.floor == 0); /* another epoch */
}

/* ---- text ----------------------------------------------------------------------------------- */

static const unsigned char signature[PERMIT_SIGNATURE_BYTES] = {1, 2, 3, [63] = 0xff};

static void encode(char text[TENURE_PERMIT_TEXT_BYTES])
{
    if (permit_encode(&permit, text) > 0)
        permit_append_signature(text, signature);
}

static bool decode(const char *text, tenure_permit *ret)
{
    unsigned char got[PERMIT_SIGNATURE_BYTES];
    struct text body;
    return permit_decode(text_of(text), ret, &body, got) && memcmp(got, signature, 64) == 0 &&
           body.at == text && body.len + 1 + BASE64URL_LEN(64) == strlen(text);
}

static void a_permit_reads_back_as_it_was_written(void)
{
    char text[TENURE_PERMIT_TEXT_BYTES], again[TENURE_PERMIT_TEXT_BYTES];
    tenure_permit read;
    clear();
    encode(text);
    CHECK(strncmp(text, "permit1.", 8) == 0 && decode(text, &read));
    CHECK(strcmp(read.role, "cl") == 0 && strcmp(read.resource, "node-7") == 0);
    CHECK(strcmp(read.operation, "drain") == 0 && read.epoch == 7 && read.serial == 70);
    CHECK(read.not_after_ms == T0 + 10000 && read.clock_error_ms == 100 && read.key == 1);
    permit = read;
    encode(again);
    CHECK(strcmp(text, again) == 0);
}

static void the_longest_permit_fits(void)
{
    char text[TENURE_PERMIT_TEXT_BYTES];
    tenure_permit read;
    clear();
    memset(permit.role, 'r', TENURE_PERMIT_ROLE_MAX);
    memset(permit.resource, 's', TENURE_PERMIT_RESOURCE_MAX);
    memset(permit.operation, 'o', TENURE_PERMIT_OPERATION_MAX);
    permit.key = permit.serial = permit.epoch = UINT64_MAX;
    permit.issued_ms = INT64_MAX - 10000;
    permit.not_after_ms = INT64_MAX;
    encode(text);
    CHECK(decode(text, &read) && strcmp(read.role, permit.role) == 0);
}

static void a_text_that_was_cut_or_changed_in_length_is_no_permit(void)
{
    char text[TENURE_PERMIT_TEXT_BYTES + 4];
    tenure_permit read;
    clear();
    encode(text);
    for (size_t len = strlen(text); len > 0; len--) {
        char cut[TENURE_PERMIT_TEXT_BYTES];
        memcpy(cut, text, len - 1);
        cut[len - 1] = '\0';
        CHECK(!decode(cut, &read));
    }
    size_t len = strlen(text);
    memcpy(text + len, "A", 2);
    CHECK(!decode(text, &read));
    encode(text);
    text[6] = '2'; /* another version */
    CHECK(!decode(text, &read));
}

static void what_no_permit_may_say_is_not_written(void)
{
    char text[TENURE_PERMIT_TEXT_BYTES];
    clear();
    permit.not_after_ms = permit.issued_ms;
    CHECK(permit_encode(&permit, text) == 0);
    permit.not_after_ms = permit.issued_ms + TENURE_PERMIT_VALID_MAX_MS + 1;
    CHECK(permit_encode(&permit, text) == 0);
    clear();
    permit.epoch = 0;
    CHECK(permit_encode(&permit, text) == 0);
    clear();
    memcpy(permit.resource, "a//b", 5);
    CHECK(permit_encode(&permit, text) == 0);
    clear();
    permit.clock_error_ms = -1;
    CHECK(permit_encode(&permit, text) == 0);
}

static void base64url_has_one_spelling(void)
{
    static const struct {
        const char *bytes, *text;
    } known[] = {{"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"foob", "Zm9vYg"},
                 {"\xff\xef\xfe", "_-_-"}};
    char text[16], bytes[16];
    size_t len;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t n = strlen(known[i].bytes), chars = BASE64URL_LEN(n);
        base64url_encode(known[i].bytes, n, text);
        CHECK(chars == strlen(known[i].text) && memcmp(text, known[i].text, chars) == 0);
        CHECK(base64url_decode(text_of(known[i].text), bytes, sizeof bytes, &len) && len == n);
        CHECK(memcmp(bytes, known[i].bytes, n) == 0);
    }
    static const char *const bad[] = {"Z", "Zh", "Zg==", "Zm9v\n", "Zm+v", "Zm/v", "Zm9vY", "Zm 9"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!base64url_decode(text_of(bad[i]), bytes, sizeof bytes, &len));
    CHECK(!base64url_decode(text_of("Zm9vYg"), bytes, 3, &len));
}

/* ---- what an effector remembers ------------------------------------------------------------- */

static bool find(const char *file, const char *resource, tenure_permit_mark *ret, size_t *ret_len)
{
    struct text line;
    bool fine = mark_find(text_of(file), text_of("cl"), text_of(resource), &line, ret);
    *ret_len = fine ? line.len : 0;
    return fine;
}

static void marks_are_found_by_role_and_resource(void)
{
    tenure_permit_mark m;
    size_t len;
    const char *file = "tenure-permit-marks-1\ncl node-7 9 0 12 15\nother node-7 99 0\n"
                       "cl node-8 3 7 8\n";
    CHECK(find(file, "node-7", &m, &len) && m.epoch == 9 && m.seen_count == 2 && m.seen[1] == 15);
    CHECK(len == strlen("cl node-7 9 0 12 15\n"));
    CHECK(find(file, "node-8", &m, &len) && m.floor == 7);
    CHECK(find(file, "node-9", &m, &len) && m.epoch == 0 && len == 0);
    CHECK(find("", "node-7", &m, &len) && m.epoch == 0);
}

static void a_mark_reads_back_as_it_was_written(void)
{
    char line[MARK_LINE_BYTES];
    struct text role, resource;
    tenure_permit_mark m = {UINT64_MAX, 5, TENURE_PERMIT_SEEN_MAX, {0}}, read;
    for (uint32_t i = 0; i < TENURE_PERMIT_SEEN_MAX; i++)
        m.seen[i] = UINT64_MAX - TENURE_PERMIT_SEEN_MAX + i;
    size_t len = mark_format(text_of("a/b"), text_of("c"), &m, line);
    CHECK(len == strlen(line) && line[len - 1] == '\n');
    CHECK(mark_parse((struct text){line, len - 1}, &role, &resource, &read));
    CHECK(memcmp(&m, &read, sizeof m) == 0 && text_equal(resource, text_of("c")));
}

static void a_damaged_file_of_marks_is_refused_as_a_whole(void)
{
    static const char *const bad[] = {
        "tenure-permit-marks-2\n", "tenure-permit-marks-1", "cl node-7 9 0\n",
        "tenure-permit-marks-1\ncl node-7 9 0", "tenure-permit-marks-1\ncl node-7 9\n",
        "tenure-permit-marks-1\ncl node-7 0 0\n", "tenure-permit-marks-1\ncl node-7 09 0\n",
        "tenure-permit-marks-1\ncl node-7 9 0 \n", "tenure-permit-marks-1\ncl node-7 9 0  1\n",
        "tenure-permit-marks-1\ncl node-7 9 0 2 1\n", "tenure-permit-marks-1\ncl node-7 9 3 3\n",
        "tenure-permit-marks-1\ncl node-7 18446744073709551616 0\n",
        "tenure-permit-marks-1\ncl node-7 -1 0\n", "tenure-permit-marks-1\n\n",
        "tenure-permit-marks-1\ncl node-7 9 0\ncl node-7 8 0\n",
        "tenure-permit-marks-1\ncl no//de 9 0\ncl node-7 8 0\n",
    };
    tenure_permit_mark m;
    size_t len;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!find(bad[i], "node-7", &m, &len));
}

static void keys_are_read_line_by_line_and_strictly(void)
{
    struct key_pair pair, read;
    unsigned char public[KEY_BYTES_EACH];
    char line[KEY_LINE_BYTES];
    memset(pair.seed, 0x11, sizeof pair.seed);
    memset(pair.public, 0xfe, sizeof pair.public);
    key_format_private(&pair, line);
    CHECK(key_parse_private((struct text){line, strlen(line) - 1}, &read));
    CHECK(memcmp(&pair, &read, sizeof pair) == 0 && key_id(read.public) == 0xfefefefefefefefe);
    CHECK(!key_parse_private((struct text){line, strlen(line) - 2}, &read));
    key_format_public(pair.public, line);
    CHECK(key_parse_public((struct text){line, strlen(line) - 1}, public));
    memcpy(line + strlen(line) - 1, " of anna", 9);
    CHECK(key_parse_public(text_of(line), public) && public[31] == 0xfe);
    CHECK(!key_parse_public((struct text){line, 40}, public));
    CHECK(!key_parse_public(text_of("ed25519"), public));
    struct text file = text_of("# remark\n\none\n#\ntwo"), one;
    unsigned n = 0;
    CHECK(key_line_next(&file, &one, &n) && n == 3 && text_equal(one, text_of("one")));
    CHECK(key_line_next(&file, &one, &n) && n == 5 && text_equal(one, text_of("two")));
    CHECK(!key_line_next(&file, &one, &n));
}

int main(void)
{
    return TAP_RUN(TAP(a_permit_is_admitted_once),
                   TAP(what_is_for_something_else_is_refused_with_its_own_verdict),
                   TAP(an_older_epoch_is_stale_whatever_its_time),
                   TAP(an_epoch_is_remembered_also_from_a_permit_that_is_refused),
                   TAP(both_errors_of_the_clocks_count_against_the_permit),
                   TAP(a_permit_from_the_future_says_that_some_clock_lies),
                   TAP(a_clock_of_unknown_error_is_refused),
                   TAP(permits_may_be_shown_in_any_order),
                   TAP(what_was_forgotten_is_refused_and_never_admitted_twice),
                   TAP(a_permit_reads_back_as_it_was_written), TAP(the_longest_permit_fits),
                   TAP(a_text_that_was_cut_or_changed_in_length_is_no_permit),
                   TAP(what_no_permit_may_say_is_not_written), TAP(base64url_has_one_spelling),
                   TAP(marks_are_found_by_role_and_resource),
                   TAP(a_mark_reads_back_as_it_was_written),
                   TAP(a_damaged_file_of_marks_is_refused_as_a_whole),
                   TAP(keys_are_read_line_by_line_and_strictly));
}
