/* sim/twins.h - what the library finds instead of the system's calls.
 *
 * Included before everything else when src/lib is compiled for the simulator: its sources are the
 * product's, byte for byte; only these names lead elsewhere.  Threads are tasks, time is the
 * host's, memory is counted.  os/clock.h and os/waiter.h have their twins in sim/twins.c.
 *
 * TWINS_KEEP_NAMES: only the twins are declared, for who needs the real calls as well.
 */
#ifndef SIM_TWINS_H
#define SIM_TWINS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

void *twin_malloc(size_t n);
void *twin_calloc(size_t n, size_t size);
void *twin_realloc(void *p, size_t n);
void twin_free(void *p);

int twin_mutex_lock(pthread_mutex_t *m);
int twin_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int twin_cond_signal(pthread_cond_t *c);
int twin_thread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int twin_thread_join(pthread_t thread, void **ret);
int twin_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int twin_gettime(clockid_t clock, struct timespec *ret);
ssize_t twin_getrandom(void *buf, size_t n, unsigned flags);

#ifndef TWINS_KEEP_NAMES
#define malloc(n) twin_malloc(n)
#define calloc(n, size) twin_calloc(n, size)
#define realloc(p, n) twin_realloc(p, n)
#define free(p) twin_free(p)
#define pthread_mutex_lock(m) twin_mutex_lock(m)
#define pthread_cond_timedwait(c, m, until) twin_cond_timedwait(c, m, until)
#define pthread_cond_signal(c) twin_cond_signal(c)
#define pthread_create(ret, attr, run, arg) twin_thread_create(ret, attr, run, arg)
#define pthread_join(thread, ret) twin_thread_join(thread, ret)
#define pthread_atfork(prepare, parent, child) twin_atfork(prepare, parent, child)
#define clock_gettime(clock, ret) twin_gettime(clock, ret)
#define getrandom(buf, n, flags) twin_getrandom(buf, n, flags)
#endif

#endif
