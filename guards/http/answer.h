/* http/answer.h - what answers at the place of a checker, which over plain HTTP may be anybody.
 *
 * It is taken piece by piece, as it arrives, and nothing of it is believed: what is shown of it
 * goes to a terminal. */
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

/* Starts as {.text = NULL}; the body is freed by whoever asked. */
struct answer {
    char result[32]; /* of the header; "" without one */
    char *text;      /* the body, which ends with a NUL; NULL when it is empty */
    size_t bytes;
};

enum { ANSWER_OF_A_STRANGER = 1 };

/* One more piece of the body.  False: it is too long, or there is no memory. */
bool answer_take_body(struct answer *a, const char *bytes, size_t more);

/* One line of the headers, with or without its end. */
void answer_take_header(struct answer *a, const char *line, size_t len);

/* 0, a tenure_code that the checker named, or ANSWER_OF_A_STRANGER. */
int answer_code(const struct answer *a);

/* How much of the body may be shown: up to what no terminal should be sent. */
int answer_sentence_length(const struct answer *a);

#endif
