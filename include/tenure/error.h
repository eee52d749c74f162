/* tenure/error.h - every way in which a call can fail, once.
 *
 * A call returns 0 or a positive value when it did what its name says, else one of the
 * negative codes below.  What a caller should do next depends on the *class*, so ask
 * tenure_class() first and look at the code only to explain.
 *
 *   refused      a clear no: somebody else holds it, or this token is not the one that stands
 *   lost         it was yours and is not any more; final, only a new grant counts
 *   unsure       the store did not answer: it may or may not have happened (never a no)
 *   unreachable  it did not happen: the store could not be asked
 *   denied       the store answers but will not serve: permission, space, foreign or restored data
 *   misuse       the program asked for something that can never be right
 *   broken       out of memory, or a defect of tenure itself
 */
#ifndef TENURE_ERROR_H
#define TENURE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, class, sentence) - the only list of errors in the project. */
#define TENURE_ERROR_TABLE(X)                                                                      \
    X(HELD, -1, REFUSED, "somebody else holds it")                                                 \
    X(TIMED_OUT, -2, REFUSED, "not acquired within the time allowed")                              \
    X(NOT_OWNED, -3, REFUSED, "no tenure stands under this token")                                 \
    X(CONFLICT, -4, REFUSED, "the name is in use in another way")                                  \
    X(CROWDED, -5, REFUSED, "too many tickets on this name")                                       \
    X(CHANGED, -6, REFUSED, "the entry is at another version")                                     \
    X(LOST, -20, LOST, "the tenure was lost")                                                      \
    X(EVICTED, -21, LOST, "the tenure was ended by an operator")                                   \
    X(UNSURE, -30, UNSURE, "the store did not answer; the outcome is unknown")                     \
    X(UNREACHABLE, -40, UNREACHABLE, "the store cannot be reached")                                \
    X(BUSY, -41, UNREACHABLE, "the store is busy")                                                 \
    X(ABSENT, -42, UNREACHABLE, "there is no such store")                                          \
    X(DENIED, -50, DENIED, "the store denied access")                                              \
    X(NO_SPACE, -51, DENIED, "no space left in the store")                                         \
    X(READ_ONLY, -52, DENIED, "the store is read-only")                                            \
    X(UNSAFE_PLACE, -53, DENIED, "the store is in a place where locks do not work")                \
    X(FOREIGN, -54, DENIED, "the store was not written by this version of tenure")                 \
    X(WENT_BACK, -55, DENIED, "the store went back in time")                                       \
    X(CORRUPT, -56, DENIED, "the store holds a record that cannot be read")                        \
    X(INVALID, -60, MISUSE, "an argument is invalid")                                              \
    X(FORKED, -61, MISUSE, "the handle belongs to the parent process")                             \
    X(STATE, -62, MISUSE, "the call does not fit the state of the claim")                          \
    X(NO_MEMORY, -80, BROKEN, "out of memory or descriptors")                                      \
    X(INTERNAL, -81, BROKEN, "internal error")

typedef enum tenure_code {
    TENURE_OK = 0,
#define TENURE_X(name, value, class, sentence) TENURE_##name = value,
    TENURE_ERROR_TABLE(TENURE_X)
#undef TENURE_X
} tenure_code;

typedef enum tenure_error_class {
    TENURE_CLASS_NONE = 0,
    TENURE_CLASS_REFUSED,
    TENURE_CLASS_LOST,
    TENURE_CLASS_UNSURE,
    TENURE_CLASS_UNREACHABLE,
    TENURE_CLASS_DENIED,
    TENURE_CLASS_MISUSE,
    TENURE_CLASS_BROKEN,
} tenure_error_class;

/* What went wrong, in words that belong to one result.  Plain data, owned by the caller; a
 * call that fails fills it, a call that succeeds leaves it as it was.  `text` is complete: it
 * names the value and the rule, and needs no prefix but the program's name. */
typedef struct tenure_error {
    int code; /* tenure_code, negative */
    char text[252];
} tenure_error;

/* The class of a code; TENURE_CLASS_NONE for 0 and positive values, TENURE_CLASS_BROKEN for a
 * code that is not in the table.  Any thread. */
tenure_error_class tenure_class(int code);

/* The sentence of the table, and the name without prefix ("HELD").  Static storage, never
 * NULL.  Any thread. */
const char *tenure_error_sentence(int code);
const char *tenure_error_name(int code);

#ifdef __cplusplus
}
#endif
#endif
