#include "core/phase.h"

#include <assert.h>

#define TO(phase) (1u << PHASE_##phase)

static const unsigned legal[PHASE_COUNT] = {
    [PHASE_ASKING] = TO(WAITING) | TO(HELD) | TO(LEAVING),
    [PHASE_WAITING] = TO(HELD) | TO(LEAVING) | TO(ASKING), /* its session died: ask again */
    [PHASE_HELD] = TO(LOST) | TO(LEAVING),
    [PHASE_LOST] = TO(LEAVING),
    [PHASE_LEAVING] = 0,
};

bool phase_move_is_legal(enum phase from, enum phase to)
{
    return from < PHASE_COUNT && to < PHASE_COUNT && (legal[from] >> to & 1u);
}

void phase_move(enum phase *phase, enum phase to)
{
    assert(phase_move_is_legal(*phase, to));
    *phase = to;
}

const char *phase_text(enum phase phase)
{
    static const char *const text[] = {"asking", "waiting", "held", "lost", "leaving"};
    return phase < PHASE_COUNT ? text[phase] : "unknown";
}
