#include "cli/end.h"

#include <stdlib.h>
#include <tenure/tenure.h>

#include "cli/exit.h"

int end_session(const char *session)
{
    tenure_options opt = TENURE_OPTIONS_INIT;
    tenure *t;
    char *end;
    unsigned long long id = strtoull(session, &end, 10);
    if (*end || id == 0)
        return EXIT_USAGE;
    opt.flags = TENURE_EXISTING;
    int code = tenure_open(NULL, &opt, &t, NULL);
    if (code == 0) {
        code = tenure_end_session(t, id, NULL);
        tenure_close(t);
    }
    return code < 0 ? exit_of(code) : EXIT_FINE;
}
