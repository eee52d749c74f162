/* os/clock.h - the only readers of clocks. */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include "core/time.h"

/* CLOCK_BOOTTIME, rounded down: it counts suspend and no wall-clock step moves it.  What a
 * holder's deadlines are measured on.  vDSO, about 20 ns. */
struct instant clock_now(void);

/* Nanoseconds since no matter when: for how short something was, never for how long it may be. */
int64_t clock_fine_ns(void);

/* The wall clock in milliseconds since 1970, for people; never for a decision of the store's. */
int64_t clock_wall_ms(void);

/* The wall clock, and by how many milliseconds it may be off at most, as far as the kernel knows:
 * -1 when it does not, or cannot be believed.  For what machines that share no clock agree on. */
int64_t clock_wall_bound(int64_t *ret_error_ms);

/* The verdict on what adjtimex(2) says.  Pure.  Errors in microseconds. */
int64_t clock_judge_bound(int state, int status, long max_error_us, long estimated_error_us);

/* Names the run of the machine and the time namespace that clock_now() counts in: two readings
 * are comparable exactly when their domains are equal.  "boot-id" or "boot-id+offset".  Returns
 * 0, or an errno when the kernel does not tell. */
#define CLOCK_DOMAIN_BYTES 80
int clock_domain(char buf[CLOCK_DOMAIN_BYTES]);

#endif
