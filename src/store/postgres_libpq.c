#include "store/postgres_libpq.h"

#include "os/library.h"

struct pq pq;

static const struct library_call calls[] = {
#define PQ_ENTRY(name) {#name, offsetof(struct pq, name)},
    PQ_CALLS(PQ_ENTRY)
#undef PQ_ENTRY
};

int pq_load(tenure_error *err)
{
    static struct library libpq = {"libpq.so.5", "postgres: needs libpq (Debian: libpq5)", calls,
                                   sizeof calls / sizeof calls[0], &pq, false};
    return library_need(&libpq, err);
}
