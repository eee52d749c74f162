/* lib/given.h - structs of terms and options, as the header had them that a program was compiled
 * with.
 *
 * Each begins with its size, so it can grow at its end (behind what was the end, padding included)
 * while programs go on running.  What an older one does not know of is as the initialiser has it;
 * a newer one is served when it leaves at zero what this library does not know of. */
#ifndef LIB_GIVEN_H
#define LIB_GIVEN_H

#include <stddef.h>
#include <tenure/error.h>

/* The size of a struct's first version, which ended with `last`: who gives less made a mistake. */
#define GIVEN_LEAST(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Takes what was given, at least `least` bytes, into *ret, which is as the initialiser `name` has
 * it and has `size` bytes.  0, or TENURE_INVALID with *err filled. */
int given_take(void *ret, size_t size, size_t least, const void *given, const char *name,
               tenure_error *err);

#endif
