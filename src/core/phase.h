/* core/phase.h - the life of one claim as its holder sees it.
 *
 * The only legal moves are in the table of phase.c (docs/states.md is generated from it); a move
 * that is not there is a defect and asserts.  No move leads from LOST to anything but LEAVING:
 * what was lost never heals (P4).
 */
#ifndef CORE_PHASE_H
#define CORE_PHASE_H

#include <stdbool.h>

enum phase {
    PHASE_ASKING,  /* the question has not been answered yet */
    PHASE_WAITING, /* the ticket is in the queue */
    PHASE_HELD,    /* granted */
    PHASE_LOST,    /* was held, and is over */
    PHASE_LEAVING, /* given up by the program; the store may not know yet */
};
#define PHASE_COUNT (PHASE_LEAVING + 1)

bool phase_move_is_legal(enum phase from, enum phase to);
void phase_move(enum phase *phase, enum phase to);
const char *phase_text(enum phase phase);

#endif
