#include "wire/key.h"

#include <stdio.h>

#include "wire/base64url.h"

#define PUBLIC_HEAD "ed25519"
#define PRIVATE_HEAD "tenure-signing-key-1"
#define KEY_CHARS BASE64URL_LEN(KEY_BYTES_EACH)

uint64_t key_id(const unsigned char public[KEY_BYTES_EACH])
{
    uint64_t id = 0;
    for (int i = 0; i < 8; i++)
        id = id << 8 | public[i];
    return id;
}

bool key_line_next(struct text *text, struct text *ret_line, unsigned *line)
{
    while (text->len > 0) {
        const char *newline = memchr(text->at, '\n', text->len);
        struct text one = {text->at, newline ? (size_t)(newline - text->at) : text->len};
        size_t used = one.len + (newline != NULL);
        text->at += used;
        text->len -= used;
        ++*line;
        if (one.len == 0 || one.at[0] == '#')
            continue;
        *ret_line = one;
        return true;
    }
    return false;
}

static bool head_next(struct text *line, const char *head)
{
    struct text word;
    return text_next_word(line, &word) && text_equal(word, text_of(head));
}

static bool key_next(struct text *line, unsigned char ret[KEY_BYTES_EACH])
{
    struct text word;
    size_t len;
    return text_next_word(line, &word) && base64url_decode(word, ret, KEY_BYTES_EACH, &len) &&
           len == KEY_BYTES_EACH;
}

bool key_parse_public(struct text line, unsigned char ret[KEY_BYTES_EACH])
{
    return text_is_clean(line) && head_next(&line, PUBLIC_HEAD) && key_next(&line, ret);
}

bool key_parse_private(struct text line, struct key_pair *ret)
{
    return head_next(&line, PRIVATE_HEAD) && key_next(&line, ret->seed) &&
           key_next(&line, ret->public) && line.len == 0;
}

void key_format_public(const unsigned char public[KEY_BYTES_EACH], char ret[KEY_LINE_BYTES])
{
    char text[KEY_CHARS];
    base64url_encode(public, KEY_BYTES_EACH, text);
    snprintf(ret, KEY_LINE_BYTES, PUBLIC_HEAD " %.*s\n", (int)sizeof text, text);
}

void key_format_private(const struct key_pair *pair, char ret[KEY_LINE_BYTES])
{
    char seed[KEY_CHARS], public[KEY_CHARS];
    base64url_encode(pair->seed, KEY_BYTES_EACH, seed);
    base64url_encode(pair->public, KEY_BYTES_EACH, public);
    snprintf(ret, KEY_LINE_BYTES, PRIVATE_HEAD " %.*s %.*s\n", (int)sizeof seed, seed,
             (int)sizeof public, public);
    explicit_bzero(seed, sizeof seed);
}
