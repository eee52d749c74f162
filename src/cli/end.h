/* cli/end.h - the last words of a guardian: a session is over.
 *
 * `tenure __end SESSION`, with TENURE_STORE, is what the guardian of `lock` and `lead` becomes when
 * its supervisor was killed and the tree is gone, in a store that cannot see by itself that a
 * process has died.  It says nothing: who would read it is dead, and without it the session
 * expires. */
#ifndef CLI_END_H
#define CLI_END_H

#define END_WORD "__end"

/* Returns the exit code. */
int end_session(const char *session);

#endif
