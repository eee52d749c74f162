/* sim/task.h - a thread of a simulated program: a coroutine that runs until it waits.
 *
 * A task belongs to a host and to one life of it: when the host is paused it is not resumed
 * before the pause is over, and when the host dies it is never resumed again.
 */
#ifndef SIM_TASK_H
#define SIM_TASK_H

#include "sim/host.h"

#define TASKS_MAX 512

struct task;
typedef void task_fn(void *arg);

struct task *task_start(struct host *host, task_fn *run, void *arg);

/* The running one; NULL outside of all. */
struct task *task_current(void);
struct host *task_host(const struct task *t);
bool task_is_done(const struct task *t); /* it returned, or died with its host */

/* Waits for `what` to be told of, or for `when_us`; may come back for nothing. */
void task_wait(const void *what, int64_t when_us);

/* Tells all who wait for `what`. */
void task_tell(const void *what);

/* Sleeps for so long on the world's clock. */
void task_sleep_us(int64_t us);

/* Whether few more can be started in this run. */
bool tasks_are_scarce(void);

/* Forgets all; between two runs. */
void task_reset(void);

#endif
