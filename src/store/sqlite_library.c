#include "store/sqlite_library.h"

#include "os/library.h"

struct sq sq;

static const struct library_call calls[] = {
#define SQ_ENTRY(name) {#name, offsetof(struct sq, name)},
    SQ_CALLS(SQ_ENTRY)
#undef SQ_ENTRY
};

int sqlite_load(tenure_error *err)
{
    static struct library sqlite = {"libsqlite3.so.0",
                                    "sqlite: needs SQLite (Debian: libsqlite3-0)", calls,
                                    sizeof calls / sizeof calls[0], &sq, false};
    return library_need(&sqlite, err);
}
