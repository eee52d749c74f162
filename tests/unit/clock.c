/* os/clock: whose time it is.  A wall clock that is stepped and a clock that stands still in
 * suspend must not decide anything (P11). */
#include "os/clock.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

static int64_t boottime_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool is_boottime(void)
{
    int64_t before = boottime_ms(), now = clock_now().ms;
    return before <= now && now <= boottime_ms();
}

static void the_clock_is_the_time_since_boot(void)
{
    CHECK(is_boottime());
}

/* In a namespace whose CLOCK_BOOTTIME is an hour ahead, as after an hour of suspend: 0 when the
 * clock is ahead too, 1 when it is not, 2 when the kernel does not let us try. */
static int try_suspended(void)
{
    static const char offset[] = "boottime 3600 0\n";
    if (unshare(CLONE_NEWTIME) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0)
        return 2;
    int fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, offset, sizeof offset - 1) != (ssize_t)sizeof offset - 1)
        return 2;
    close(fd);
    pid_t pid = fork(); /* the namespace is that of children */
    if (pid == 0)
        _exit(is_boottime() ? 0 : 1);
    int status;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static void the_clock_goes_on_in_suspend(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(try_suspended());
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        printf("# skipped: no time namespace may be made here\n");
    CHECK(WEXITSTATUS(status) != 1);
}

/* How far the wall clock may be off: unknown unless somebody keeps it synchronised and says so. */
static void an_error_that_nobody_vouches_for_is_unknown(void)
{
    CHECK(clock_judge_bound(TIME_OK, 0, 1500, 200) == 3); /* rounded up, and so is the reading */
    CHECK(clock_judge_bound(TIME_INS, STA_PLL | STA_NANO, 20001, 9) == 22);
    CHECK(clock_judge_bound(TIME_ERROR, 0, 1500, 200) == -1);
    CHECK(clock_judge_bound(TIME_OK, STA_UNSYNC, 1500, 200) == -1);
    CHECK(clock_judge_bound(-1, 0, 1500, 200) == -1); /* adjtimex() failed */
    CHECK(clock_judge_bound(TIME_OK, 0, 16000000, 200) == -1); /* the kernel gave up */
    CHECK(clock_judge_bound(TIME_OK, 0, 0, 0) == -1); /* who disciplines it states no error */
    CHECK(clock_judge_bound(TIME_OK, 0, 1500, 0) == -1);
}

int main(void)
{
    return TAP_RUN(TAP(an_error_that_nobody_vouches_for_is_unknown),
                   TAP(the_clock_is_the_time_since_boot), TAP(the_clock_goes_on_in_suspend));
}
