/* member.c - a member of the soak that uses the library: takes, works, gives back, again and again.
 *
 *     soak-member ARENA LOG SLOT STORE TTL_MS SEED MS NAME x|s    for MS milliseconds
 *
 * It checks before each mark.  A mark that is late all the same is refused by the guard, which is
 * the arena's rule; that may happen to one that was stopped between check and mark, to no other. */
#include <string.h>
#include <tenure/tenure.h>

#include "arena.h"

enum { MARKS = 20, WAIT_MAX_MS = 400 };

struct member {
    struct arena *arena;
    const char *log;
    unsigned slot, name, seed;
    bool exclusive;
    char name_text[32];
    tenure *t;
};

static unsigned draw(struct member *m, unsigned below)
{
    m->seed = m->seed * 1664525u + 1013904223u;
    return (m->seed >> 8) % below;
}

static void work(struct member *m, tenure_claim *c)
{
    uint64_t token = tenure_claim_token(c);
    arena_log(m->arena, m->log, m->name, token);
    unsigned marks = draw(m, MARKS);
    for (unsigned i = 0; i < marks && tenure_check(c) >= 0; i++) {
        if (!arena_mark(m->arena, m->name, token, m->exclusive)) {
            arena_late(m->arena, m->slot, m->name, token);
            return;
        }
        nanosleep(&(struct timespec){0, 500000}, NULL);
    }
}

static int one_turn(struct member *m)
{
    tenure_terms terms = TENURE_TERMS_INIT;
    tenure_claim *c;
    tenure_error err;
    terms.shared = !m->exclusive;
    terms.wait_ms = draw(m, WAIT_MAX_MS); /* often too short: gives up in the queue */
    int code = tenure_acquire(m->t, m->name_text, &terms, &c, &err);
    if (code == 0) {
        work(m, c);
        code = tenure_release(c, &err);
    }
    switch (tenure_class(code)) {
    case TENURE_CLASS_NONE:
    case TENURE_CLASS_REFUSED:
    case TENURE_CLASS_LOST:
    case TENURE_CLASS_UNSURE:
    case TENURE_CLASS_UNREACHABLE:
        return 0;
    default:
        fprintf(stderr, "member: %d %s\n", code, err.text);
        return 96;
    }
}

int main(int argc, char **argv)
{
    if (argc != 10)
        return 98;
    struct member m = {.arena = arena_open(argv[1]), .log = argv[2]};
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure_error err;
    m.slot = (unsigned)atoi(argv[3]) % ARENA_SLOTS;
    m.seed = (unsigned)atoi(argv[6]);
    m.name = (unsigned)atoi(argv[8]);
    m.exclusive = strcmp(argv[9], "x") == 0;
    snprintf(m.name_text, sizeof m.name_text, "soak/%u", m.name);
    opt.ttl_ms = atol(argv[5]);
    opt.flags = TENURE_PUMP;
    if (tenure_open(argv[4], &opt, &m.t, &err) < 0) {
        fprintf(stderr, "member: %s\n", err.text);
        return tenure_class(err.code) == TENURE_CLASS_UNREACHABLE ? 82 : 96;
    }
    atomic_store(&m.arena->slot[m.slot].pid, getpid());
    int64_t end = tenure_now() + atol(argv[7]);
    int code = 0;
    while (code == 0 && tenure_now() < end)
        code = one_turn(&m);
    tenure_close(m.t);
    return code;
}
