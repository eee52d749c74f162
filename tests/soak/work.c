/* work.c - the command that the supervised members of the soak run.
 *
 *     soak-work ARENA LOG SLOT NAME x|s MS     marks for MS milliseconds, with a child of its own
 *
 * Under a supervisor no mark is ever late, whatever is done to it, but for what docs/supervisor.md
 * names: when supervisor, guardian and command are killed at one instant, the child goes on. */
#include <string.h>

#include "arena.h"

enum { EVERY_US = 2000 };

int main(int argc, char **argv)
{
    if (argc != 7 || !getenv("TENURE_TOKEN"))
        return 98;
    struct arena *a = arena_open(argv[1]);
    unsigned slot = (unsigned)atoi(argv[3]) % ARENA_SLOTS, name = (unsigned)atoi(argv[4]);
    bool exclusive = strcmp(argv[5], "x") == 0;
    uint64_t token = strtoull(getenv("TENURE_TOKEN"), NULL, 10);
    long marks = atol(argv[6]) * 1000 / EVERY_US;
    arena_log(a, argv[2], name, token);
    pid_t child = fork();
    if (child != 0)
        atomic_store(&a->slot[slot].pid, getpid());
    for (long i = 0; i < marks; i++) {
        if (!arena_mark(a, name, token, exclusive)) {
            arena_late(a, slot, name, token);
            return 97;
        }
        nanosleep(&(struct timespec){0, EVERY_US * 1000}, NULL);
    }
    return 0;
}
