/* cli/timing.h - --ttl and --grace of any command that has them, checked as one (P13). */
#ifndef CLI_TIMING_H
#define CLI_TIMING_H

struct invocation;
struct timing;

/* 0, or the inequality that fails was said with its numbers, and EXIT_USAGE is returned. */
int timing_settings(const struct invocation *inv, struct timing *ret);

/* Prints the table of `tenure timing`. */
void timing_print(const struct timing *t);

#endif
