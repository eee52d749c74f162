#include "cli/exit.h"

#include <tenure/error.h>

int exit_of(int code)
{
    if (code == TENURE_NOT_OWNED)
        return EXIT_LOST; /* it is not ours any more, which a script must not read as "wait" */
    switch (tenure_class(code)) {
    case TENURE_CLASS_NONE:
        return EXIT_FINE;
    case TENURE_CLASS_REFUSED:
        return EXIT_REFUSED;
    case TENURE_CLASS_LOST:
        return EXIT_LOST;
    case TENURE_CLASS_UNSURE:
        return EXIT_UNSURE;
    case TENURE_CLASS_UNREACHABLE:
        return EXIT_UNREACHABLE;
    case TENURE_CLASS_DENIED:
        return EXIT_DENIED;
    case TENURE_CLASS_MISUSE:
        return EXIT_USAGE;
    case TENURE_CLASS_BROKEN:
        break;
    }
    return EXIT_INTERNAL;
}
